// List the enrolments that changed behind a cursor. Takes BASE, KEY and CURSOR from the environment.

import { Client } from "provider-checkout";

const { BASE, KEY, CURSOR } = process.env;
const client = new Client(BASE, KEY);

const page = await client.listEnrolments({ after: CURSOR });
for (const enrolment of page.enrolments) console.log(enrolment.provider_order_id, enrolment.status);
console.log("next", page.next);
