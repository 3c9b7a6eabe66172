// The assertions of a check.mjs, which counts them.
import assert from 'node:assert/strict';

let assertions = 0;

export function equal(got, want, what) {
  assertions++;
  assert.deepEqual(got, want, what);
}

export function ok(value, what) {
  assertions++;
  assert.ok(value, what);
}

// fails expects an error by the name of its class or by its own.
export async function fails(call, name, what, check = () => {}) {
  assertions++;
  try {
    await call();
  } catch (error) {
    assert.ok([error.constructor.name, error.name].includes(name), `${what}: ${error}`);
    check(error);
    return;
  }
  assert.fail(`${what}: no error`);
}

export function end(least) {
  ok(assertions >= least, `at least ${least} assertions`);
  console.log(`${assertions} assertions hold`);
}
