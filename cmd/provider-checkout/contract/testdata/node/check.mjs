// Judge the OpenAPI document that the service serves by tools that others use, and walk the whole flow with a client that is
// generated from it. Takes BASE, KEY, PROVIDER and COURSE from the environment.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

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
  writeFileSync(file, await answer.text());
}

await save("/v1/openapi.json", "openapi.json");
run("spectral", "lint", "--fail-severity=hint", "openapi.json");
run("redocly", "lint", "--extends=recommended-strict", "--max-problems=1000", "openapi.json");

run("openapi-typescript", "openapi.json", "--output", "schema.d.ts");
run("tsc", "--project", "tsconfig.json");
const { flow } = await import("./out/flow.js");
held += await flow();
console.log(`${held} assertions hold`);
