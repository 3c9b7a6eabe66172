// Have an event sent again.
//
// Node 18 or later, no dependencies. Takes BASE, KEY and EVENT from the environment.

const { BASE, KEY, EVENT } = process.env;
const TIMEOUT_MS = 30_000;

const answer = await fetch(`${BASE}/v1/events/${EVENT}/redeliver`, {
  method: "POST",
  headers: { authorization: `Bearer ${KEY}` },
  signal: AbortSignal.timeout(TIMEOUT_MS),
});
console.log(answer.status); // 202, and 429 if an event was sent again within the last second
