// List the events behind a cursor.
//
// Node 18 or later, no dependencies. Takes BASE, KEY and CURSOR from the environment; CURSOR is empty the first time.

const { BASE, KEY, CURSOR = "" } = process.env;
const TIMEOUT_MS = 30_000;

let cursor = CURSOR;
for (;;) {
  const answer = await fetch(`${BASE}/v1/events?after=${cursor}`, {
    headers: { authorization: `Bearer ${KEY}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  const page = await answer.json();
  // Take each event as your receiver does, once: event.body is the text that is sent.
  for (const event of page.events) console.log(event.event_id, event.status);
  cursor = page.next;
  if (page.events.length === 0) break;
}
console.log("next", cursor); // keep it
