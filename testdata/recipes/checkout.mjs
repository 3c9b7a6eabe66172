// Enrol a student: create, wait for the payer, confirm. Node 18 or later, no dependencies.
// Takes BASE, KEY, PROVIDER, ORDER, COURSE and FIRST_PAYMENT (YYYY-MM-DD) from the environment. A backend stores ORDER before the
// create, and polls in a job: the payer may take days. Of an amount in an answer, Math.round(100 * amount) is the exact cents.
import { setTimeout as sleep } from "node:timers/promises";

const { BASE, KEY, PROVIDER, ORDER, COURSE, FIRST_PAYMENT } = process.env;
const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };

// call sends a request, and the same again while the answer is lost, 429 or 5xx.
async function call(method, path, content) {
  const body = content && JSON.stringify(content);
  let fault;
  for (let wait of [1, 2, 4, 8, 16]) {
    try {
      const answer = await fetch(BASE + path, { method, headers, body, signal: AbortSignal.timeout(30_000) });
      if (answer.status < 500 && answer.status !== 429) return await answer.json();
      fault = new Error(`${method} ${path}: ${answer.status}`);
      wait = Number(answer.headers.get("retry-after") ?? wait);
    } catch (lost) {
      fault = lost;
    }
    await sleep(1000 * wait);
  }
  throw fault;
}

// taken returns the answer to a call, or throws its refusal.
function taken(answer) {
  if (!answer.success) throw new Error(`${answer.error.code}: ${answer.error.message}`);
  return answer;
}

const provider = { provider_code: PROVIDER, provider_order_id: ORDER };
const created = taken(await call("POST", "/v1/provider-checkouts", {
  provider,
  student: { first_name: "Aroha", last_name: "Ngata", email: "aroha@students.example.ac.nz" },
  course: { course_code: COURSE },
  plan: { payment_frequency: "Weekly", first_payment_date: FIRST_PAYMENT },
}));
console.log(created.direct_debit.setup_url ?? ""); // redirect the payer's browser there

const { checkout_id } = created.checkout;
for (let polled = created; polled.direct_debit.next_poll_after; ) {
  await sleep(1000 * polled.direct_debit.next_poll_after);
  polled = taken(await call("GET", `/v1/provider-checkouts/${checkout_id}`));
}

const { opportunity_id, dda_id } = created.records;
const confirmed = taken(await call("POST", `/v1/provider-checkouts/${checkout_id}/confirm`, {
  provider,
  checkout: { checkout_id, checkout_token: created.direct_debit.token ?? "confirmed", opportunity_id, dda_id },
  payment: { payment_method: "service_payment_plan", first_payment_date: FIRST_PAYMENT, deposit_confirmed: true },
  // The student accepts these on your page: never send true by default.
  declarations: { payment_plan_accepted: true, information_confirmed: true, privacy_consent_accepted: true },
}));
console.log("agreement", confirmed.agreement.number); // the same one on a repeat
