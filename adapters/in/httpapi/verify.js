// Checks the proof of an agreement in the reader's browser: see docs/proof.md for the format and for each step. The script fetches
// nothing, sends nothing and stores nothing. Of the browser it needs SHA-256 and Ed25519 (Web Cryptography).
"use strict";

// Fault is the reason why something is not proven: a code for programs, and a sentence for the reader.
class Fault extends Error {
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

const proofFormat = "provider-checkout evidence proof v1";
const maxProof = 64 * 1024; // bytes

const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
const equal = (a, b) => hex(a) === hex(b);

// decoded returns the text of bytes in UTF-8, or null.
function decoded(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

// base64 returns the bytes of a text in base64, or null. Only the one text of these bytes is read.
function base64(text) {
  try {
    const binary = atob(text);
    return btoa(binary) === text ? Uint8Array.from(binary, (c) => c.charCodeAt(0)) : null;
  } catch {
    return null;
  }
}

const ed25519 = (key) => crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
const signedBy = ({ key }, signature, text) => crypto.subtle.verify({ name: "Ed25519" }, key, signature, utf8(text));

async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(parts.flatMap((part) => Array.from(part)))));
}

// parseObject reads a JSON object. Unlike JSON.parse it refuses a name that is given twice, of which a person may read the one
// value and a program the other, and a number that is not a whole one in digits.
function parseObject(text) {
  const damaged = new Fault("format", "This is not a proof, or it was changed: it cannot be read.");
  try {
    JSON.parse(text);
  } catch {
    throw damaged;
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g); // of a text that is valid
  let at = 0;
  const value = () => {
    const token = tokens[at++];
    if (token === "{") {
      const members = Object.create(null);
      for (; tokens[at] !== "}"; at += tokens[at] === "," ? 1 : 0) {
        const name = JSON.parse(tokens[at]);
        at += 2; // the name and its colon
        if (name in members) throw new Fault("format", `This proof was changed: it gives “${name}” twice.`);
        members[name] = value();
      }
      at++;
      return members;
    }
    if (token === "[") {
      const list = [];
      for (; tokens[at] !== "]"; at += tokens[at] === "," ? 1 : 0) list.push(value());
      at++;
      return list;
    }
    if (/^[-\d]/.test(token) && !/^(0|[1-9]\d{0,14})$/.test(token)) throw damaged;
    return JSON.parse(token);
  };
  if (tokens[0] !== "{") throw damaged;
  return value();
}

// parseProof reads the text of a proof: its five members, and nothing else.
function parseProof(text) {
  const fault = new Fault("format", "This is not the proof of an agreement. Its file ends in “.proof.json”.");
  if (text === null) throw fault;
  const proof = parseObject(text);
  const { format, record, position, path, checkpoint } = proof;
  const texts = [format, record, checkpoint].every((member) => typeof member === "string");
  if (Object.keys(proof).length !== 5 || !texts || typeof position !== "number" || !Array.isArray(path)) throw fault;
  if (format !== proofFormat) throw new Fault("format", "This is not a proof, or one that this page is too old to know.");
  const hashes = path.map((hash) => (typeof hash === "string" ? base64(hash) : null));
  if (hashes.some((hash) => hash?.length !== 32)) throw new Fault("format", "This proof was changed: a hash in it cannot be read.");
  return { leaf: utf8(record), record: parseObject(record), text: record, position, path: hashes, checkpoint };
}

// parseKeys reads public keys, each as name+hash+key, with commas or white space between.
async function parseKeys(text) {
  const keys = [];
  for (const line of text.split(/[\s,]+/).filter(Boolean)) {
    const fault = new Fault("key", `“${line}” is not the operator’s public key: a name, eight letters or digits, and the key, with a plus sign between.`);
    const [, name, hash, encoded] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(line) ?? [];
    const key = encoded && base64(encoded);
    if (!key || key.length !== 33 || key[0] !== 1) throw fault;
    if (hex((await sha256(utf8(`${name}\n`), key)).slice(0, 4)) !== hash) throw fault;
    keys.push({ name, hash, key: await ed25519(key.slice(1)).catch(() => Promise.reject(fault)) });
  }
  if (keys.length === 0) throw new Fault("key", "There is no public key to check the signature with.");
  return keys;
}

// openNote returns the text of a signed note and the first of the keys that signed it. Lines of other signers are not checked.
async function openNote(note, keys, what) {
  const fault = new Fault("checkpoint", `The ${what} cannot be read: it was changed.`);
  const split = note.lastIndexOf("\n\n");
  const [text, block] = [note.slice(0, split + 1), note.slice(split + 2)];
  if (split < 0 || /[\0-\x09\x0b-\x1f]/.test(note) || !block.endsWith("\n")) throw fault;
  const lines = block.split("\n").slice(0, -1);
  const checked = new Set();
  let first = null;
  let named = "";
  for (const line of lines) {
    const [, name, encoded] = /^— ([^\p{White_Space}+]+) (.+)$/u.exec(line) ?? [];
    const signature = encoded && base64(encoded);
    if (!signature || signature.length < 5 || lines.length > 100) throw fault;
    const hash = hex(signature.slice(0, 4));
    named ||= `${name}+${hash}`;
    const known = keys.find((key) => key.name === name && key.hash === hash);
    if (!known || checked.has(known)) continue;
    checked.add(known);
    if (!(await signedBy(known, signature.slice(4), text))) {
      throw new Fault("checkpoint", `The signature of the ${what} does not fit: it was changed after it was signed.`);
    }
    first ??= known;
  }
  if (!first) throw new Fault("checkpoint", `The ${what} was not signed with this public key. It names the key ${named}.`);
  return { text, signer: first.name };
}

// openCheckpoint returns what a signed checkpoint says of a log: its name, size and root, when that was, and for which size it is
// complete. Later versions may add lines, which a page that somebody kept does not know.
async function openCheckpoint(note, keys, what) {
  const { text, signer } = await openNote(note, keys, what);
  const form = /^(.+)\n(0|[1-9]\d{0,14})\n(.+)\ntime (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\ncomplete (0|[1-9]\d{0,14})\n(?:.+\n)*$/;
  const [, origin, size, encoded, at, complete] = form.exec(text) ?? [];
  const root = encoded && base64(encoded);
  if (origin !== signer || root?.length !== 32 || Number.isNaN(Date.parse(at)) || Number(complete) > Number(size)) {
    throw new Fault("checkpoint", `The ${what} is signed, and it is no checkpoint of an evidence log.`);
  }
  return { origin, size: Number(size), root, at, complete: Number(complete) };
}

// rootOf returns the root of a tree of that size which has the leaf at the position, as the path says (RFC 9162, section 2.1.3.2);
// null if the path is too long or too short.
async function rootOf({ leaf, position, path }, size) {
  let hash = await sha256([0], leaf);
  let [at, last] = [position, size - 1];
  for (const node of path) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      hash = await sha256([1], node, hash);
      for (; at % 2 === 0 && at > 0; last = Math.floor(last / 2)) at /= 2;
    } else {
      hash = await sha256([1], hash, node);
    }
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? hash : null;
}

// verifyProof checks a proof (bytes), and the PDF, the receipt (a text) and the kept checkpoint where there are any, with public keys.
// It returns what it found: {findings: [{code, ok, text}], proof, checkpoint}, where ok is null for a file that says nothing about this record, and proof
// is missing if nothing is proven.
async function verifyProof({ proof: file, keys: keyText, pdf, receipt, kept }) {
  const result = { findings: [] };
  const find = (code, ok, text) => result.findings.push({ code, ok, text });
  try {
    const keys = await parseKeys(keyText);
    const proof = file.length > maxProof ? parseProof(null) : parseProof(decoded(file));
    const checkpoint = await openCheckpoint(proof.checkpoint, keys, "checkpoint in the proof");
    find("checkpoint", true, `The signature is good: the log “${checkpoint.origin}” had ${checkpoint.size} records on ${instant(checkpoint.at)}.`);
    if (proof.position >= checkpoint.size) throw new Fault("position", "The proof was changed: the log has no record at its position.");
    const root = await rootOf(proof, checkpoint.size);
    if (!root || !equal(root, checkpoint.root)) throw new Fault("tree", "The record is not in the log that was signed: it was changed, or the proof was.");
    find("tree", true, `This record is in that log, at place ${proof.position + 1}, exactly as it is here.`);
    Object.assign(result, { proof, checkpoint });
    if (pdf) await checkPDF(proof.record, pdf, find);
    if (receipt) await checkReceipt(receipt, proof, keys, find);
    if (kept) await checkKept(decoded(kept) ?? "", checkpoint, proof, keys, find);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    find(fault.code, false, fault.message);
  }
  return result;
}

// checkPDF compares a PDF with the record.
async function checkPDF(record, pdf, find) {
  const hash = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", pdf)));
  if (record.document_sha256 === hash) {
    find("pdf", true, "The PDF is the document of this agreement, byte for byte.");
  } else {
    throw new Fault("pdf", record.document_sha256
      ? "The PDF is not the document of this agreement, or it was changed. Only the PDF as it came from us fits, not a print or a copy that was saved again."
      : "The record has no PDF: none was made when the agreement was concluded.");
  }
}

// checkReceipt compares a receipt with the record. It is one line: a mark, the agreement's number, the hash of the leaf, when it was
// recorded, by when it is to be in the log, the key, and the signature of all that. A message may have broken it at its spaces.
async function checkReceipt(text, { leaf, record }, keys, find) {
  const [, said, number, hash, at, until, name, keyHash, encoded] =
    /^(provider-checkout-receipt-v1 (\S+) (\S+) (\S+) (\S+) ([^ +]+)\+([0-9a-f]{8})) (\S+)$/.exec(text.trim().split(/\s+/).join(" ")) ?? [];
  const refuse = (reason) => { throw new Fault("receipt", reason); };
  if (!said) refuse("This is not a receipt, or a part of it is missing.");
  const known = keys.find((key) => key.name === name && key.hash === keyHash);
  if (!known) refuse(`The receipt was not signed with this public key. It names the key ${name}+${keyHash}.`);
  const signature = base64(encoded);
  if (!signature || !(await signedBy(known, signature, said))) refuse("The receipt was changed after it was signed.");
  const expected = base64(hash);
  if (!expected || !equal(expected, await sha256([0], leaf))) {
    refuse(number !== record.agreement_number ? `The receipt is of another agreement, ${number}.`
      : "The receipt is of another record of this agreement, and both are signed. Keep the receipt and the proof: they show it.");
  }
  find("receipt", true, `The receipt of ${instant(at)} is of this record. It promised that the record is in the log by ${instant(until)}.`);
}

// checkKept compares a checkpoint that the reader kept with the one in the proof, and with the size of the log that the record had seen.
async function checkKept(note, checkpoint, { record, position }, keys, find) {
  const kept = await openCheckpoint(note, keys, "checkpoint that you kept");
  if (kept.origin === checkpoint.origin && position >= kept.size && record.log_size < kept.complete) {
    throw new Fault("kept", "The checkpoint that you kept does not have this record, and has every record that is as old as this one says it is. " +
      "It was put into the log later. Keep both files: they show it.");
  }
  if (kept.size !== checkpoint.size || kept.origin !== checkpoint.origin) {
    find("kept", null, `The checkpoint that you kept is genuine, of ${kept.size} records on ${instant(kept.at)}. Whether the log still begins ` +
      "with them cannot be seen from these files: the operator’s command “agreements verify --checkpoint” shows it.");
  } else if (equal(kept.root, checkpoint.root)) {
    find("kept", true, "The checkpoint that you kept is of the same log: this record cannot have been changed since.");
  } else {
    throw new Fault("kept", "The checkpoint that you kept and the one in the proof are of different logs, and both are signed. One of them was " +
      "forged with the operator’s own key. Keep both files: they show it.");
  }
}

const inNewZealand = { timeZone: "Pacific/Auckland", dateStyle: "full", timeStyle: "medium" };
const instant = (text) => new Date(text).toLocaleString("en-NZ", inNewZealand);
const day = (text) => new Date(`${text}T00:00:00Z`).toLocaleDateString("en-NZ", { timeZone: "UTC", dateStyle: "full" });
const dollars = (cents) => (cents / 100).toLocaleString("en-NZ", { style: "currency", currency: "NZD", currencyDisplay: "narrowSymbol" });

// contents returns what the record of an agreement says, as labels and values.
function contents(record) {
  if (record.kind !== "agreement") return [["Kind of record", String(record.kind)]];
  const regular = record.number_of_instalments - 1;
  const plan = regular === 0
    ? `1 instalment of ${dollars(record.final_instalment_cents)}`
    : `${record.number_of_instalments} instalments, ${String(record.payment_frequency).toLowerCase()}: ${regular} of ` +
      `${dollars(record.instalment_cents)}, and the last of ${dollars(record.final_instalment_cents)}`;
  return [
    ["Agreement", record.agreement_number],
    ["Concluded", instant(record.accepted_at)],
    ["Education provider", `${record.provider_name} (order ${record.provider_order_id})`],
    ["Course", record.course_name],
    ["Price", dollars(record.course_price_cents)],
    ["Initial payment", dollars(record.upfront_payment_cents)],
    ["Plan", plan],
    ["First payment", `agreed for ${day(record.first_payment_date)}; none before ${day(record.not_before)}`],
    ["Can be cancelled", record.cancel_until ? `until the end of ${day(record.cancel_until)}` : "the record does not say"],
    ["SHA-256 of the PDF", record.document_sha256 || "there was no PDF"],
    ["Environment", record.environment === "sandbox" ? "sandbox: a test, no money moves" : record.environment],
  ].map(([label, value]) => [label, String(value)]);
}

// node returns an element with children, which are elements or texts.
function node(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

// verdict returns the elements that say what was found.
function verdict({ findings, proof }, hasPDF) {
  const failed = findings.filter((finding) => finding.ok === false);
  const mark = { true: "Yes: ", false: "No: ", null: "Not known: " };
  const title = failed.length === 0 ? "This is proven" : proof ? "Something does not fit" : "Nothing is proven";
  const shown = [node("div", { class: failed.length === 0 ? "success" : "notice failure" }, node("h2", {}, title),
    node("ul", {}, ...findings.map(({ ok, text }) => node("li", {}, node("strong", {}, mark[ok]), text))))];
  if (!proof) return shown;
  const rows = contents(proof.record).map(([label, value]) => node("div", {}, node("dt", {}, label), node("dd", {}, node("bdi", {}, value))));
  shown.push(node("h2", {}, "What the operator recorded"), node("dl", { class: "check" }, ...rows),
    node("details", {}, node("summary", {}, "The whole record, as it was signed"), node("pre", { tabindex: "0" }, proof.text)),
    node("h2", {}, "What this does not prove"), node("ul", {},
      node("li", {}, "Whose agreement it is. Names, email address, account and network address are in the record as commitments: numbers from which nobody can read them. ",
        hasPDF ? "The PDF has the names." : "The PDF has the names: check it too."),
      node("li", {}, "What happened later: payments, a withdrawal, or an end of the direct debit."),
      node("li", {}, "That the key is the operator’s. Compare it with a key from elsewhere, such as one that your education provider kept."),
      node("li", {}, "That the operator shows everybody the same log. A checkpoint that somebody else kept shows that.")));
  return shown;
}

// start has the page's form check the files that are chosen.
async function start() {
  const element = (id) => document.getElementById(id);
  const [form, shown, unable] = ["form", "verdict", "unable"].map(element);
  const basePoint = new Uint8Array(32).fill(0x66);
  basePoint[0] = 0x58;
  const able = Boolean(globalThis.crypto?.subtle) && await ed25519(basePoint).then(() => true, () => false);
  unable.hidden = able;
  element("keep").hidden = location.protocol === "file:";
  form.addEventListener("input", () => shown.replaceChildren());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!able) return unable.focus();
    const chosen = ["proof", "pdf", "kept"].map((id) => element(id).files[0]?.arrayBuffer());
    try {
      const [proof, pdf, kept] = (await Promise.all(chosen)).map((file) => file && new Uint8Array(file));
      const [keys, receipt] = ["key", "receipt"].map((id) => element(id).value.trim());
      shown.replaceChildren(...verdict(await verifyProof({ proof, keys, pdf, receipt, kept }), pdf));
    } catch (error) {
      shown.replaceChildren(node("p", { class: "notice failure" }, `Nothing was checked: ${error.message}`)); // a file is gone
    }
    shown.focus();
  });
}

if (typeof document !== "undefined") start();
