// Read the events after a cursor. Node 18 or later, no dependencies.
// Takes BASE, KEY and CURSOR from the environment; CURSOR is empty the first time. A backend stores the cursor after each page.
import { setTimeout as sleep } from "node:timers/promises";

const { BASE, KEY } = process.env;

// page returns the events after a cursor. It asks again while the answer is lost, 429 or 5xx.
async function page(after) {
  let fault;
  for (let wait of [1, 2, 4, 8, 16]) {
    try {
      const answer = await fetch(`${BASE}/v1/events?after=${after}`,
        { headers: { Authorization: `Bearer ${KEY}` }, signal: AbortSignal.timeout(30_000) });
      if (answer.status < 500 && answer.status !== 429) return await answer.json();
      fault = new Error(`status ${answer.status}`);
      wait = Number(answer.headers.get("retry-after") ?? wait);
    } catch (lost) {
      fault = lost;
    }
    await sleep(1000 * wait);
  }
  throw fault;
}

let cursor = process.env.CURSOR ?? "";
for (;;) {
  const { success, events, next, error } = await page(cursor);
  if (!success) throw new Error(`${error.code}: ${error.message}`);
  cursor = next;
  if (events.length === 0) break;
  // Take each event once, as your receiver does: event.body is the text that is signed and sent.
  for (const event of events) console.log(event.event_id, event.status);
}
console.log("next", cursor);
