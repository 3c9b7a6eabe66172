// Ask a service what it is, and whether it is ready.
//
// Node 18 or later, no dependencies. Takes BASE from the environment; needs no key.

const { BASE } = process.env;
const TIMEOUT_MS = 30_000;

const about = await fetch(`${BASE}/v1`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
const { environment, version } = await about.json();
console.log(environment, version);

const answer = await fetch(`${BASE}/v1/environment`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
const { readiness } = await answer.json();
console.log("ready:", readiness.ready_for_api_calls);
