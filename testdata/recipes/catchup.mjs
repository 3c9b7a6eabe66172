// List the events behind a cursor. Takes BASE, KEY and CURSOR from the environment; CURSOR is empty the first time.

import { Client } from "provider-checkout";

const { BASE, KEY, CURSOR } = process.env;
const client = new Client(BASE, KEY);

let cursor = CURSOR;
for (;;) {
  const page = await client.listEvents({ after: cursor });
  // Take each event as your receiver does, once: event.body is the text that is sent.
  for (const event of page.events) console.log(event.event_id, event.status);
  cursor = page.next;
  if (page.events.length === 0) break;
}
console.log("next", cursor); // keep it
