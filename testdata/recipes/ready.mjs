// Ask a service what it is, and whether it is ready. Takes BASE from the environment; needs no key.

import { Client } from "provider-checkout";

const client = new Client(process.env.BASE, "");

const service = await client.getService();
console.log(service.environment, service.version);

const { readiness } = await client.getEnvironment();
console.log("ready:", readiness.ready_for_api_calls);
