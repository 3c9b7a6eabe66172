// Judge the descriptions that the service serves by tools that others use, and walk the whole flow with a client that is
// generated from them. Takes BASE, KEY, PROVIDER and COURSE from the environment.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { BASE } = process.env;
let held = 0;

function run(name, ...args) {
  try {
    const said = execFileSync(`node_modules/.bin/${name}`, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, REDOCLY_TELEMETRY: "off", NO_UPDATE_NOTIFIER: "1" } });
    held++;
    return said;
  } catch (failed) {
    console.error(`${name} finds:\n${failed.stdout}${failed.stderr}`);
    process.exit(1);
  }
}

async function save(path, file) {
  const answer = await fetch(BASE + path);
  const text = await answer.text();
  writeFileSync(file, text);
  return text;
}

await save("/v1/openapi.json", "openapi.json");
run("spectral", "lint", "--fail-severity=hint", "openapi.json");
run("redocly", "lint", "--extends=recommended-strict", "--max-problems=1000", "openapi.json");

const { document, diagnostics } = await new Parser().parse(await save("/v1/asyncapi.json", "asyncapi.json"));
// The parser would have every document be of its newest minor version; 3.0 is what most tools take.
const found = diagnostics.filter((d) => d.code !== "asyncapi-latest-version");
if (found.length > 0 || document?.messages().length !== 6) {
  console.error("the AsyncAPI parser finds:", JSON.stringify(found, null, 1), document?.messages().length);
  process.exit(1);
}
held++;

run("openapi-typescript", "openapi.json", "--output", "schema.d.ts");
run("tsc", "--project", "tsconfig.json");
const { flow } = await import("./out/flow.js");
held += await flow();
console.log(`${held} assertions hold`);
