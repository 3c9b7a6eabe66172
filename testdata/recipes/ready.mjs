// Print the environment and its readiness. Node 18 or later, no dependencies. Takes BASE from the environment; needs no key.
const { BASE } = process.env;

// get returns the answer to a call, or throws.
async function get(path) {
  const answer = await fetch(BASE + path, { signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

const service = await get("/v1");
console.log(service.environment, service.version);

const { readiness } = await get("/v1/environment");
console.log("ready:", readiness.ready_for_api_calls);
if (!readiness.webhook_destinations_configured) console.error("no events are sent: poll");
