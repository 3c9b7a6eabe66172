// Cancel a checkout before its confirm.
//
// Node 18 or later, no dependencies. Takes BASE, KEY and CHECKOUT from the environment.

const { BASE, KEY, CHECKOUT } = process.env;
const TIMEOUT_MS = 30_000;

const answer = await fetch(`${BASE}/v1/provider-checkouts/${CHECKOUT}/cancel`, {
  method: "POST",
  headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
  body: JSON.stringify({ reason: "The student chose another course." }),
  signal: AbortSignal.timeout(TIMEOUT_MS),
});
const { checkout, error } = await answer.json();
// CONFLICT: it is confirmed. Sending it again is safe.
console.log(error?.code ?? checkout.status);
