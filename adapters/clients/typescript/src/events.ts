import { Event } from "./wire.js";

/** The header of an event that verifyEvent takes. */
export const signatureHeader = "X-Service-Signature";

const tolerance = 300; // seconds, on either side of the receiver's clock
const form = /^t=(0|[1-9][0-9]{0,18})((?:,v1=[0-9a-f]{64})+)$/;

/** Why an event is not believed. */
export class SignatureError extends Error {
  override name = "SignatureError";

  constructor(readonly reason: "malformed" | "mismatch" | "too_old") {
    super(`the signature of the event is refused: ${reason}`);
  }
}

/**
 * Checks the signature of an event over the bytes of its body, as they came, and returns the event; it throws a
 * SignatureError. now is the receiver's clock in seconds. A receiver takes each event_id once, and answers 2xx to an
 * event that it has seen before, or does not know.
 */
export async function verifyEvent(secret: string, signature: string, body: Uint8Array, now = Date.now() / 1000): Promise<Event> {
  await verify(secret, signature, body, now);
  return parseEvent(new TextDecoder().decode(body));
}

/** Reads the body of an event that is believed already, such as that of a list of events. */
export function parseEvent(body: string): Event {
  return JSON.parse(body);
}

/** Checks a signature alone. An empty secret matches nothing. */
export async function verify(secret: string, signature: string, body: Uint8Array, now: number): Promise<void> {
  const parts = form.exec(signature);
  if (!parts) throw new SignatureError("malformed");
  const [, timestamp = "", signatures = ""] = parts;
  if (secret === "") throw new SignatureError("mismatch");
  const text = new TextEncoder();
  const before = text.encode(`${timestamp}.`);
  const signed = new Uint8Array(before.length + body.length);
  signed.set(before);
  signed.set(body, before.length);
  const { subtle } = globalThis.crypto ?? (await node()).webcrypto;
  const key = await subtle.importKey("raw", text.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  // More than one signature comes while a secret is replaced: one match is enough.
  const found = await Promise.all(signatures.split(",v1=").slice(1).map((hex) => subtle.verify("HMAC", key, bytes(hex), signed)));
  if (!found.includes(true)) throw new SignatureError("mismatch");
  if (Math.abs(now - Number(timestamp)) > tolerance) throw new SignatureError("too_old");
}

function bytes(hex: string) {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** Node 18 has its cryptography in a module only, whose types the compiler need not know. */
function node(): Promise<{ webcrypto: Crypto }> {
  const name = "node:crypto";
  return import(name);
}
