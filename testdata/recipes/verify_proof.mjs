// Check the proof of an agreement, written from docs/proof.md alone. Node 18 or later, no dependencies.
//
//   node verify_proof.mjs agreement.proof.json 'NAME+HASH+KEY' agreement.pdf    (the PDF is optional)
//
// With a single argument it judges the vectors of a file: node verify_proof.mjs ../evidence_proofs.json

import { readFileSync } from "node:fs";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";

const FORMAT = "provider-checkout evidence proof v1";
const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();

// Refused carries the step at which a proof is refused.
class Refused extends Error {}

function require(holds, step) {
  if (!holds) throw new Refused(step);
}

// base64 decodes the one encoding of some bytes; another text of the same bytes is refused.
function base64(text, step) {
  const bytes = Buffer.from(text, "base64");
  require(bytes.toString("base64") === text, step);
  return bytes;
}

// object parses a JSON object whose names are unique at every depth. A position is compared with its digits later.
function object(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused("format");
  }
  require(value !== null && typeof value === "object" && !Array.isArray(value), "format");
  // JSON.parse keeps the last of two members of one name: the text then has more names than the value.
  let names = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)) names += colon ? 1 : 0;
  require(names === count(value), "format");
  return value;
}

// count returns how many members the objects in a value have.
function count(value) {
  if (value === null || typeof value !== "object") return 0;
  const inside = Object.values(value).reduce((sum, member) => sum + count(member), 0);
  return Array.isArray(value) ? inside : inside + Object.keys(value).length;
}

function readKey(line) {
  const [name, hash, ...rest] = line.split("+");
  const bytes = base64(rest.join("+"), "key");
  require(name && bytes.length === 33 && bytes[0] === 1, "key");
  require(sha256(Buffer.from(`${name}\n`), bytes).subarray(0, 4).toString("hex") === hash, "key");
  const key = createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x: bytes.subarray(1).toString("base64url") } });
  return { name, hash, key };
}

function readCheckpoint(note, keys) {
  const step = "checkpoint";
  const end = note.lastIndexOf("\n\n");
  require(end >= 0 && note.endsWith("\n") && !/[\x00-\x09\x0b-\x1f]/.test(note), step);
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2, -1).split("\n");
  require(lines.length <= 100, step);
  const [signers, checked] = [new Set(), new Set()];
  for (const line of lines) {
    const parts = /^\u2014 ([^\s+]+) ([^ ]+)$/u.exec(line);
    require(parts, step);
    const bytes = base64(parts[2], step);
    require(bytes.length >= 5, step);
    const key = keys.find((k) => k.name === parts[1] && k.hash === bytes.subarray(0, 4).toString("hex"));
    if (!key || checked.has(key)) continue; // another signer's, or a second line of the key
    checked.add(key);
    require(verifySignature(null, Buffer.from(text), key.key, bytes.subarray(4)), step);
    signers.add(key.name);
  }
  const form = /^([^\n]+)\n(0|[1-9]\d*)\n([^\n]+)\ntime \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\ncomplete (0|[1-9]\d*)\n(?:[^\n]+\n)*$/;
  const said = form.exec(text);
  require(said && signers.has(said[1]) && Number(said[4]) <= Number(said[2]), step);
  const root = base64(said[3], step);
  require(root.length === 32, step);
  return { size: Number(said[2]), root };
}

// verify returns null for a proof (bytes) that holds under one of the keys, or the step at which it is refused.
export function verify(file, keyLines, pdf) {
  try {
    const keys = keyLines.map(readKey);
    const text = file.toString("utf8");
    require(file.length <= 65536 && Buffer.from(text).equals(file), "format"); // valid UTF-8
    const proof = object(text);
    const { format, record, position, path, checkpoint } = proof;
    require(Object.keys(proof).length === 5 && format === FORMAT && typeof record === "string" && typeof checkpoint === "string", "format");
    require(Number.isInteger(position) && position >= 0 && position < 1e15 && Array.isArray(path) && path.every((hash) => typeof hash === "string"), "format");
    // The position stands in the text as its digits; a record quotes its names with backslashes, so it holds no such text.
    require(new RegExp(`"position"\\s*:\\s*${position}\\s*[,}]`).test(text), "format");
    const nodes = path.map((hash) => base64(hash, "format"));
    require(nodes.every((hash) => hash.length === 32), "format");
    const { document_sha256: document } = object(record);

    const { size, root } = readCheckpoint(checkpoint, keys);
    require(position < size, "position");

    let hash = sha256(Buffer.of(0), Buffer.from(record));
    let at = BigInt(position);
    let last = BigInt(size) - 1n;
    for (const node of nodes) {
      require(last !== 0n, "tree");
      if (at & 1n || at === last) {
        hash = sha256(Buffer.of(1), node, hash);
        while (!(at & 1n) && at !== 0n) [at, last] = [at >> 1n, last >> 1n];
      } else {
        hash = sha256(Buffer.of(1), hash, node);
      }
      [at, last] = [at >> 1n, last >> 1n];
    }
    require(last === 0n && hash.equals(root), "tree");
    require(!pdf || sha256(pdf).toString("hex") === document, "pdf");
    return null;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

function judge(path) {
  const { cases } = JSON.parse(readFileSync(path, "utf8"));
  let wrong = 0;
  for (const c of cases) {
    const got = verify(Buffer.from(c.proof, c.base64 ? "base64" : "utf8"), c.keys, c.pdf === undefined ? null : Buffer.from(c.pdf)) ?? "";
    if (got === c.refused) continue;
    wrong++;
    console.error(`${c.name}: refused at ${JSON.stringify(got)}, want ${JSON.stringify(c.refused)}`);
  }
  console.log(`${cases.length} vectors, ${wrong} wrong`);
  return wrong || !cases.length ? 1 : 0;
}

function main([proof, keys, pdf]) {
  if (keys === undefined) return judge(proof);
  const refused = verify(readFileSync(proof), keys.split(","), pdf && readFileSync(pdf));
  console.log(refused ? `refused at ${refused}` : "proven");
  return refused ? 1 : 0;
}

if (argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main(argv.slice(2));
