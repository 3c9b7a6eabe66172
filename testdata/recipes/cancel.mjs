// Cancel a checkout before its confirm. Node 18 or later, no dependencies.
// Takes BASE, KEY and CHECKOUT from the environment.
import { setTimeout as sleep } from "node:timers/promises";

const { BASE, KEY, CHECKOUT } = process.env;
const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };

// call sends a request, and the same again while the answer is lost, 429 or 5xx.
async function call(method, path, content) {
  const body = content && JSON.stringify(content);
  let fault;
  for (let wait of [1, 2, 4, 8, 16]) {
    try {
      const answer = await fetch(BASE + path, { method, headers, body, signal: AbortSignal.timeout(30_000) });
      if (answer.status < 500 && answer.status !== 429) return await answer.json();
      fault = new Error(`${method} ${path}: ${answer.status}`);
      wait = Number(answer.headers.get("retry-after") ?? wait);
    } catch (lost) {
      fault = lost;
    }
    await sleep(1000 * wait);
  }
  throw fault;
}

const answer = await call("POST", `/v1/provider-checkouts/${CHECKOUT}/cancel`, { reason: "The student chose another course." });
console.log(answer.success ? answer.checkout.status : answer.error.code); // cancelled, or CONFLICT: it is confirmed
