// Take events. Takes SECRET, the signing secret, and LISTEN (HOST:PORT) from the environment, and prints
// each event once. A backend keeps the ids in its database, with the work that it does about the event.

import { createServer } from "node:http";
import { SignatureError, verifyEvent } from "provider-checkout";

const { SECRET, LISTEN } = process.env;
const [host, port] = LISTEN.split(":");
const taken = new Set(); // ids of events

createServer(async (request, response) => {
  const chunks = []; // the body as it came, before any parser
  for await (const chunk of request) chunks.push(chunk);
  let event;
  try {
    event = await verifyEvent(SECRET, request.headers["x-service-signature"] ?? "", Buffer.concat(chunks));
  } catch (fault) {
    response.writeHead(fault instanceof SignatureError ? 401 : 500).end();
    return;
  }
  if (!taken.has(event.event_id)) {
    taken.add(event.event_id);
    if (event.event === "checkout.confirmed") console.log("confirmed", event.data.provider_order_id);
    if (event.event === "agreement.generated") console.log("agreement", event.data.payment_plan_agreement_number);
  }
  response.writeHead(204).end(); // also for an event that it has taken before, or does not know
}).listen(Number(port), host);
