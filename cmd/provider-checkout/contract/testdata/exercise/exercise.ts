// Has the client for TypeScript judge the vectors of signatures, send amounts, and call a server that misbehaves. It
// prints what comes of it, as do the other exercises.

import { ApiError, Client, SignatureError, verify, type LegacyCreateRequest } from "provider-checkout";

declare const process: { argv: string[]; env: Record<string, string> };

const { BASE = "" } = process.env;
const names = process.argv.slice(2);
const client = new Client(BASE, "pck_1", { attempts: 3, timeout: 10_000 });

interface Vector {
  secret: string;
  header: string;
  body: string;
  reason?: string;
  timestamp?: number;
  now?: number;
}

const vectors: { accepted: Vector[]; refused: Vector[] } = await (await fetch(`${BASE}/vectors`)).json();
let wrong = 0;
for (const v of [...vectors.accepted, ...vectors.refused]) {
  let reason: string | undefined;
  try {
    await verify(v.secret, v.header, new TextEncoder().encode(v.body), v.now ?? v.timestamp ?? 0);
  } catch (fault) {
    if (!(fault instanceof SignatureError)) throw fault;
    reason = fault.reason;
  }
  if (reason !== v.reason) wrong++;
}
console.log("vectors:", wrong, "wrong");

const request: LegacyCreateRequest = {
  provider: { provider_code: "A", provider_order_id: "1" },
  student: { first_name: "Aroha", last_name: "Ngata", email: "aroha@students.example.ac.nz" },
  course: { course_name: 'Numbers such as "course_price": 1' },
  pricing: { course_price: "1000.10", amount_to_finance: "1000.00", upfront_payment: "0.10" },
  plan: {
    payment_type: "interest_free_payment_plan",
    payment_frequency: "Weekly",
    number_of_instalments: 3,
    instalment_amount: "333.33",
    first_payment_date: "2027-02-01",
  },
};
const { pricing, plan } = await client.createCheckout(request, { idempotency_key: "mine" });
console.log("created:", pricing.course_price, plan.number_of_instalments, "<nil>");

const outcomes = await Promise.all(names.map(async (name) => {
  try {
    await client.getCheckout(name);
    return "answered";
  } catch (fault) {
    if (!(fault instanceof ApiError)) return "lost";
    return [fault.status, fault.code, ...fault.details.map((d) => d.field)].join(" ");
  }
}));
names.forEach((name, i) => console.log(`${name}: ${outcomes[i]}`));
