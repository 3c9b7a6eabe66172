export { ApiError, type Detail, type Options } from "./transport.js";
export { parseEvent, SignatureError, signatureHeader, verify, verifyEvent } from "./events.js";
export * from "./wire.js";
