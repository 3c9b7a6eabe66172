// Verify the signature of an event. Node 18 or later, no dependencies.
//
// In a receiver, hand verify() the bytes of the body as they came, before anything parses them:
//
//   const chunks = [];
//   for await (const chunk of request) chunks.push(chunk);
//   const reason = verify(SECRET, request.headers["x-service-signature"] ?? "", Buffer.concat(chunks), Date.now() / 1000);
//   if (reason) answer(401);
//
// then take each event_id once, and answer 2xx to a repeated one too.
//
// Run as a program it judges the vectors of a file: node verify_event.mjs ../signatures.json

import { readFileSync } from "node:fs";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { createHmac, timingSafeEqual } from "node:crypto";

const TOLERANCE = 300; // seconds, on either side of the receiver's clock
const HEADER = /^t=(0|[1-9][0-9]{0,18}),v1=([0-9a-f]{64})$/;

// verify returns null for a genuine event, or the reason to refuse it.
export function verify(secret, header, body, now) {
  const parts = HEADER.exec(header);
  if (!parts) return "malformed";
  const [, timestamp, signature] = parts;
  // An empty secret is refused: anyone could compute an HMAC with it.
  if (secret === "") return "mismatch";
  const want = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest();
  // timingSafeEqual takes the same time wherever two texts differ.
  if (!timingSafeEqual(Buffer.from(signature, "hex"), want)) return "mismatch";
  if (Math.abs(now - Number(timestamp)) > TOLERANCE) return "too_old";
  return null;
}

function main(path) {
  const vectors = JSON.parse(readFileSync(path, "utf8"));
  const cases = [
    ...vectors.accepted.map((v) => [v, v.timestamp, null]),
    ...vectors.refused.map((v) => [v, v.now, v.reason]),
  ];
  let wrong = 0;
  for (const [v, now, want] of cases) {
    const got = verify(v.secret, v.header, Buffer.from(v.body), now);
    if (got !== want) {
      wrong++;
      console.error(`${v.name}: ${got}, want ${want}`);
    }
  }
  console.log(`${cases.length} vectors, ${wrong} wrong`);
  return wrong || !cases.length ? 1 : 0;
}

if (argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main(argv[2]);
