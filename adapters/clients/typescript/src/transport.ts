import type { ErrorCode } from "./wire.js";

/** The fault of one field, such as student.email. */
export interface Detail {
  field: string;
  message: string;
}

/** The service's refusal of a call. */
export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    readonly status: number,
    /** Empty in an answer that is not the service's own, such as a proxy's. */
    readonly code: ErrorCode | "",
    message: string,
    readonly details: Detail[],
    /** The id to quote when you ask the operator. */
    readonly requestId: string,
    /** In seconds, where the answer says so. */
    readonly retryAfter?: number,
  ) {
    const parts = [`${status} ${code || "without a code"}: ${message}`, ...details.map((d) => `${d.field} ${d.message}`)];
    super(parts.join("; ") + (requestId && ` (${requestId})`));
  }
}

export interface Options {
  /** Milliseconds for one attempt: 30,000 unless given. */
  timeout?: number;
  /** Of a call, at most: 5 unless given. */
  attempts?: number;
}

type Texts = Record<string, string | number | undefined>;

interface Call {
  query?: Texts;
  header?: Texts;
  body?: object;
}

const longestWait = 60; // seconds: a longer Retry-After is left to the caller

/** Sends calls until they are answered: the part of the client that is written by hand. */
export abstract class Transport {
  /** The names of the fields that hold amounts. */
  protected abstract readonly amounts: ReadonlySet<string>;

  readonly #base: string;
  readonly #key: string;
  readonly #timeout: number;
  readonly #attempts: number;

  /** Takes a base address, such as https://pay.example.nz, and an API key of that environment. */
  constructor(base: string, key: string, { timeout = 30_000, attempts = 5 }: Options = {}) {
    new URL(base); // throws for a wrong address
    this.#base = base.replace(/\/+$/, "");
    this.#key = key;
    this.#timeout = timeout;
    this.#attempts = attempts;
  }

  /**
   * Sends a call again, with the same bytes and headers, after a lost answer, a time-out, 429 or 5xx: after the seconds
   * of Retry-After, or else after 1, 2, 4 and 8 seconds, and up to a quarter longer.
   */
  protected async call<T>(method: string, path: string, { query = {}, header = {}, body }: Call = {}): Promise<T> {
    const search = new URLSearchParams(given(query)).toString();
    const url = this.#base + path + (search && "?" + search);
    const request: RequestInit = {
      method,
      headers: new Headers({ ...given(header), Authorization: `Bearer ${this.#key}`, "Content-Type": "application/json" }),
      redirect: "manual", // the API never redirects, and the key is for it alone
    };
    if (body) request.body = encode(body, this.amounts);
    for (let attempt = 1; ; attempt++) {
      try {
        return decode(await once(url, request, this.#timeout), this.amounts) as T;
      } catch (fault) {
        const wait = pause(attempt, fault, Math.random());
        if (attempt >= this.#attempts || wait === undefined) throw fault;
        await new Promise((done) => setTimeout(done, 1000 * wait));
      }
    }
  }
}

/** Sends a request once. Any error but an ApiError is a lost answer. */
async function once(url: string, request: RequestInit, timeout: number): Promise<string> {
  const clock = new AbortController();
  const alarm = setTimeout(() => clock.abort(new Error(`no answer within ${timeout} ms`)), timeout);
  try {
    const answer = await fetch(url, { ...request, signal: clock.signal });
    const text = await answer.text();
    if (answer.ok) return text;
    throw refusal(answer, text);
  } finally {
    clearTimeout(alarm);
  }
}

function refusal(answer: Response, text: string): ApiError {
  const after = answer.headers.get("Retry-After") ?? "";
  const { code, message, details } = fault(text);
  return new ApiError(answer.status, code ?? "", message ?? answer.statusText, details ?? [],
    answer.headers.get("X-Request-Id") ?? "", /^[0-9]+$/.test(after) ? Number(after) : undefined);
}

function fault(text: string): { code?: ErrorCode; message?: string; details?: Detail[] } {
  try {
    return JSON.parse(text).error ?? {};
  } catch {
    return {};
  }
}

/** Returns the seconds to wait after an attempt, or undefined if the call must not be sent again. */
function pause(attempt: number, fault: unknown, random: number): number | undefined {
  let wait = 2 ** (attempt - 1);
  if (fault instanceof ApiError) {
    const { status, retryAfter } = fault;
    if ((status !== 429 && status < 500) || (retryAfter ?? 0) > longestWait) return undefined;
    wait = retryAfter || wait;
  }
  return wait * (1 + random / 4);
}

function given(texts: Texts): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(texts)) if (value !== undefined) all[name] = String(value);
  return all;
}

const number = "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?";
// A name and its number, or any other text in quotation marks.
const plain = new RegExp(`("(?:[^"\\\\]|\\\\.)*")(?:\\s*:\\s*(${number})(?=[\\s,}\\]]))?`, "g");
const quoted = new RegExp(`("(?:[^"\\\\]|\\\\.)*")(?::"(${number})")?`, "g");

/** Reads JSON with amounts as the texts of their numbers, which a number of JavaScript might round. */
export function decode(json: string, amounts: ReadonlySet<string>): unknown {
  return JSON.parse(json.replace(plain, (all, name: string, value?: string) =>
    value && amounts.has(JSON.parse(name)) ? `${name}:"${value}"` : all));
}

/** Writes JSON with amounts as numbers. A text that is no number stays a text, which the service refuses. */
export function encode(value: object, amounts: ReadonlySet<string>): string {
  return JSON.stringify(value).replace(quoted, (all, name: string, value?: string) =>
    value && amounts.has(JSON.parse(name)) ? `${name}:${value}` : all);
}
