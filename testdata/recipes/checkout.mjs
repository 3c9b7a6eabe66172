// Enrol a student: create, have the payer set up the direct debit, poll, confirm.
//
// Takes BASE, KEY, PROVIDER, ORDER, COURSE and FIRST_PAYMENT (YYYY-MM-DD) from the environment.
// A backend keeps the order id and the checkout id with its enrolment, and polls from a job: the
// payer may take days.

import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "provider-checkout";

const { BASE, KEY, PROVIDER, ORDER, COURSE, FIRST_PAYMENT } = process.env;
const client = new Client(BASE, KEY);

// The order id is made once for an enrolment, so that a create that is sent again opens no second checkout.
const provider = { provider_code: PROVIDER, provider_order_id: ORDER };
const created = await client.createCheckout({
  provider,
  student: { first_name: "Aroha", last_name: "Ngata", email: "aroha@students.example.ac.nz" },
  course: { course_code: COURSE },
  plan: { payment_frequency: "Weekly", first_payment_date: FIRST_PAYMENT },
});
console.log(created.direct_debit.setup_url ?? ""); // send the payer's browser there

const { checkout_id } = created.checkout;
await sleep(1000 * (created.direct_debit.next_poll_after ?? 0));
let polled = await client.getCheckout(checkout_id);
while (polled.direct_debit.next_poll_after) {
  await sleep(1000 * polled.direct_debit.next_poll_after);
  polled = await client.getCheckout(checkout_id);
}

if (polled.checkout.status === "cancelled") throw new Error("the checkout is cancelled");
const confirmed = await client.confirmCheckout(checkout_id, {
  provider,
  checkout: {
    checkout_id,
    checkout_token: created.direct_debit.token ?? "confirmed",
    opportunity_id: created.records.opportunity_id,
    dda_id: created.direct_debit.dda_id,
  },
  payment: { payment_method: "service_payment_plan", first_payment_date: FIRST_PAYMENT, deposit_confirmed: true },
  // What the payer has ticked: ask, never assume.
  declarations: { payment_plan_accepted: true, information_confirmed: true, privacy_consent_accepted: true },
});
// After a lost answer this is already_confirmed, with the same agreement.
console.log("agreement", confirmed.agreement.number);
