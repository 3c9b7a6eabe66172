// Enrol a student: create, have the payer set up the direct debit, poll, confirm.
//
// Node 18 or later, no dependencies. Takes BASE, KEY, PROVIDER, ORDER, COURSE and FIRST_PAYMENT
// (YYYY-MM-DD) from the environment. A backend keeps the order id and the checkout id with its
// enrolment, and polls from a job: the payer may take days.

import { setTimeout as sleep } from "node:timers/promises";

const { BASE, KEY, PROVIDER, ORDER, COURSE, FIRST_PAYMENT } = process.env;
const ATTEMPTS = 5;
const POLL_MS = 2000;

// call sends one request until it is answered; the same bytes each time, which is safe here.
// A lost answer, 429 and 5xx are tried again; any other refusal ends the program.
async function call(path, body) {
  const request = {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  };
  for (let attempt = 1; ; attempt++) {
    let wait = 500 * 2 ** attempt; // 1, 2, 4 and 8 s
    let fault;
    try {
      const answer = await fetch(`${BASE}/v1/provider-checkouts${path}`, {
        ...request, signal: AbortSignal.timeout(30_000),
      });
      const text = await answer.text();
      if (answer.ok) return JSON.parse(text);
      fault = new Error(`${answer.status} ${text}`);
      // Sending the same again would be refused again.
      fault.final = answer.status !== 429 && answer.status < 500;
      const after = answer.headers.get("Retry-After") ?? "";
      if (/^[0-9]+$/.test(after)) wait = 1000 * Number(after);
    } catch (lost) {
      fault = lost;
    }
    if (fault.final || attempt === ATTEMPTS) throw fault;
    console.error("trying again:", fault.message);
    await sleep(wait);
  }
}

// The order id is made once for an enrolment, so that a create that is sent again opens no second checkout.
const provider = { provider_code: PROVIDER, provider_order_id: ORDER };
const created = await call("", {
  provider,
  student: { first_name: "Aroha", last_name: "Ngata", email: "aroha@students.example.ac.nz" },
  course: { course_code: COURSE },
  plan: { payment_frequency: "Weekly", first_payment_date: FIRST_PAYMENT },
});
console.log(created.direct_debit.setup_url ?? ''); // send the payer's browser there

const { checkout_id } = created.checkout;
while (!(await call(`/${checkout_id}`)).direct_debit.setup_complete) await sleep(POLL_MS);

const confirmed = await call(`/${checkout_id}/confirm`, {
  provider,
  checkout: {
    checkout_id,
    checkout_token: created.direct_debit.token ?? 'confirmed',
    opportunity_id: created.records.opportunity_id,
    dda_id: created.direct_debit.dda_id,
  },
  payment: { payment_method: "service_payment_plan", first_payment_date: FIRST_PAYMENT, deposit_confirmed: true },
  // What the payer has ticked: ask, never assume.
  declarations: { payment_plan_accepted: true, information_confirmed: true, privacy_consent_accepted: true },
});
// After a lost answer this is already_confirmed, with the same agreement.
console.log("agreement", confirmed.agreement.number);
