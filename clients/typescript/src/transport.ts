import type { Middleware } from "openapi-fetch";
import { operations } from "./operations.gen.js";
import { isProblem, ProblemError } from "./problem.js";
import type { Fetch, Tokens } from "./tokens.js";
import { backoff, Deadline, orAborted, wait } from "./waiting.js";

/** A longer Retry-After, in seconds, is the caller's to wait for. */
const LONGEST_RETRY_AFTER = 30;

export interface TransportOptions {
  readonly tokens: Tokens;
  readonly fetch: Fetch;
  /** How often a request is tried. */
  readonly attempts: number;
  /** How long a try may go without an answer, in milliseconds. */
  readonly timeout: number;
}

/** A request, in what can be sent again. */
interface Call {
  readonly request: Request;
  readonly headers: Headers;
  readonly body: ArrayBuffer | undefined;
  /** Sending it again can't do a thing twice. */
  readonly repeatable: boolean;
  /** Its answer is handed on as it comes. */
  readonly streamed: boolean;
}

/** A failure before the request itself was sent. */
class Unsent {
  constructor(readonly error: unknown) {}
}

/**
 * Sends requests with a token, as often as is safe and useful, and throws what isn't a
 * success.
 *
 * It tries again when the service invites it by Retry-After, which the service does
 * only where a repetition can't do a thing twice; and, when there was no answer or only
 * a gateway's, what may be repeated: what reads or is put, what creates under an
 * Idempotency-Key (which it gets unless it has one), what names itself by an operation
 * id, what was never sent.
 */
export function transport(options: TransportOptions): Middleware {
  return {
    async onRequest({ request, schemaPath, options: { parseAs } }) {
      const facts = operations[`${request.method} ${schemaPath}`] ?? {};
      const headers = new Headers(request.headers);
      if (facts.key && !headers.has("Idempotency-Key")) headers.set("Idempotency-Key", randomId());
      if (facts.media !== undefined && headers.get("Content-Type") === "application/json") headers.set("Content-Type", facts.media);
      const call: Call = {
        request,
        headers,
        body: request.body === null ? undefined : await request.arrayBuffer(),
        repeatable: facts.repeatable === true || facts.key === true || (request as { repeatable?: unknown }).repeatable === true,
        streamed: parseAs === "stream",
      };
      return send(options, call);
    },
  };
}

async function send(options: TransportOptions, call: Call): Promise<Response> {
  const { signal } = call.request;
  for (let attempt = 1; ; attempt++) {
    try {
      return await authorized(options, call);
    } catch (thrown) {
      const error = thrown instanceof Unsent ? thrown.error : thrown;
      if (signal.aborted) throw signal.reason;
      const pause = retryDelay(call, thrown, attempt);
      if (pause === undefined || attempt >= options.attempts) throw error;
      await wait(pause, signal);
    }
  }
}

/** Sends once; twice when the token was refused, which may have been revoked where the key was not. */
async function authorized(options: TransportOptions, call: Call): Promise<Response> {
  for (let refused = false; ; refused = true) {
    const token = await options.tokens.get(call.request.signal).catch((error: unknown) => {
      throw new Unsent(error);
    });
    try {
      return await once(options, call, token.text);
    } catch (error) {
      if (refused || !isProblem(error) || error.status !== 401) throw error;
      options.tokens.forget(token);
    }
  }
}

async function once(options: TransportOptions, call: Call, token: string): Promise<Response> {
  const deadline = new Deadline(options.timeout, call.request.signal);
  try {
    const headers = new Headers(call.headers);
    headers.set("Authorization", `Bearer ${token}`);
    const { method, url, redirect, credentials, cache, mode, referrerPolicy } = call.request;
    const attempt = new Request(url, {
      method, headers, redirect, credentials, cache, mode, referrerPolicy,
      signal: deadline.signal,
      ...(call.body === undefined ? {} : { body: call.body }),
    });
    const response = await options.fetch(attempt);
    if (response.status >= 400) throw await ProblemError.from(response);
    if (call.streamed || response.body === null) {
      deadline.hold();
      return response;
    }
    // Read to its end here, so that an answer that breaks off is tried again too.
    const body = await orAborted(response.arrayBuffer(), deadline.signal);
    deadline.end();
    return new Response(isBodiless(response.status) ? null : body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  } catch (error) {
    deadline.end();
    throw error;
  }
}

const isBodiless = (status: number) => status === 204 || status === 205 || status === 304;

/** When the call may be tried again after what was thrown, in milliseconds; undefined for never. */
function retryDelay(call: Call, thrown: unknown, attempt: number): number | undefined {
  if (thrown instanceof Unsent) {
    return isProblem(thrown.error) ? answeredDelay(thrown.error, true, attempt) : backoff(attempt);
  }
  if (isProblem(thrown)) return answeredDelay(thrown, call.repeatable, attempt);
  return call.repeatable ? backoff(attempt) : undefined;
}

function answeredDelay(problem: ProblemError, repeatable: boolean, attempt: number): number | undefined {
  const spoken = problem.code !== ""; // by the service, and not by a gateway before it
  if (problem.retryAfter !== undefined && problem.retryAfter > 0) {
    if (problem.retryAfter > LONGEST_RETRY_AFTER || !(spoken || repeatable)) return undefined;
    return problem.retryAfter * 1000 + Math.random() * backoff(attempt); // so that those who were sent away don't come back together
  }
  return repeatable && !spoken && problem.status >= 502 && problem.status <= 504 ? backoff(attempt) : undefined;
}

/** 128 random bits in hexadecimal. */
export function randomId(): string {
  return hexadecimal(crypto.getRandomValues(new Uint8Array(16)));
}

/** Bytes in lower-case hexadecimal. */
export function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
