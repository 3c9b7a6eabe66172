// Have an event sent again. Takes BASE, KEY and EVENT from the environment.

import { Client } from "provider-checkout";

const { BASE, KEY, EVENT } = process.env;
const client = new Client(BASE, KEY);

const resent = await client.redeliverEvent(EVENT);
console.log("sent again:", resent.event_id);
