// Receive events. Node 18 or later; needs verify_event.mjs beside it.
// Takes SECRET, the signing secret, and LISTEN (HOST:PORT) from the environment. A backend stores the event_id in its database, in
// one transaction with the work that the event causes.
import { createServer } from "node:http";
import { verify } from "./verify_event.mjs";

const { SECRET, LISTEN } = process.env;
const [host, port] = LISTEN.split(":");
const taken = new Set(); // event ids

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks); // as it came, before any parser
  if (verify(SECRET, request.headers["x-service-signature"] ?? "", body, Date.now() / 1000)) {
    response.writeHead(401).end();
    return;
  }
  const { event_id, event, data } = JSON.parse(body);
  if (!taken.has(event_id)) {
    taken.add(event_id);
    if (event === "checkout.confirmed") console.log("confirmed", data.provider_order_id);
    if (event === "agreement.generated") console.log("agreement", data.payment_plan_agreement_number);
  }
  response.writeHead(204).end(); // also for an event that it has already, or does not know
}).listen(Number(port), host);
