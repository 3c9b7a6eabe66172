// Cancel a checkout before its confirm. Takes BASE, KEY and CHECKOUT from the environment.

import { ApiError, Client } from "provider-checkout";

const { BASE, KEY, CHECKOUT } = process.env;
const client = new Client(BASE, KEY);

try {
  const { checkout } = await client.cancelCheckout(CHECKOUT, { reason: "The student chose another course." });
  console.log(checkout.status);
} catch (fault) {
  if (!(fault instanceof ApiError)) throw fault;
  console.log(fault.code); // CONFLICT: it is confirmed
}
