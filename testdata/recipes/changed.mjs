// List the enrolments that changed behind a cursor.
//
// Node 18 or later, no dependencies. Takes BASE, KEY and CURSOR from the environment.

const { BASE, KEY, CURSOR = "" } = process.env;
const TIMEOUT_MS = 30_000;

const answer = await fetch(`${BASE}/v1/enrolments?after=${CURSOR}`, {
  headers: { authorization: `Bearer ${KEY}` },
  signal: AbortSignal.timeout(TIMEOUT_MS),
});
if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
const page = await answer.json();
for (const e of page.enrolments) console.log(e.provider_order_id, e.status);
console.log("next", page.next);
