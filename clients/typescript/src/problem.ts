import type { Schemas } from "./schemas.js";

type Problem = Schemas["Problem"];

/** One part of a request that is at fault. */
export interface FieldError {
  /** A JSON pointer into the body, or a parameter's or a header's name. */
  readonly pointer: string;
  /** Stable, for programs. */
  readonly code: string;
}

/**
 * An answer that isn't a success. From something between client and service that
 * doesn't speak for it, only `status` says anything, and `code` is "".
 */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly status: number;
  /** Stable, for programs: "handle_taken", say. */
  readonly code: string;
  /** What is wrong and what to do, in words. */
  readonly detail: string;
  /** The parts of the request at fault. */
  readonly errors: readonly FieldError[];
  /** Names the request in the service's logs. */
  readonly requestId: string;
  /** When a retry may succeed, in seconds; undefined where the service doesn't invite one. */
  readonly retryAfter: number | undefined;
  /** The whole answer, where it is the service's: `record`, `position` and others stand where an operation says so. */
  readonly problem: Readonly<Partial<Problem>>;

  constructor(status: number, headers: Headers, body: unknown) {
    const problem = readProblem(body);
    const said = problem.code === undefined ? `HTTP status ${status}` : `${problem.code} (${status}): ${problem.detail}`;
    const requestId = problem.request_id ?? headers.get("X-Request-Id") ?? "";
    super(requestId === "" ? said : `${said} [request ${requestId}]`);
    this.status = status;
    this.code = problem.code ?? "";
    this.detail = problem.detail ?? "";
    this.errors = problem.errors ?? [];
    this.requestId = requestId;
    this.retryAfter = retryAfter(headers);
    this.problem = problem;
  }

  /** Reads an answer to its end. */
  static async from(response: Response): Promise<ProblemError> {
    let body: unknown;
    try {
      body = await response.json();
    } catch {
      body = undefined; // not the service's, or cut off
    }
    return new ProblemError(response.status, response.headers, body);
  }
}

/** Tells whether an error is an answer that isn't a success, and with one of these codes, if any are given. */
export function isProblem(error: unknown, ...codes: string[]): error is ProblemError {
  return error instanceof ProblemError && (codes.length === 0 || codes.includes(error.code));
}

/** A record that isn't as a publication expected it. */
export interface RecordConflict extends ProblemError {
  readonly problem: Readonly<Partial<Problem>> & { readonly record: Schemas["Record"] };
}

/** Tells whether an error says that a record isn't as expected, and shows it as it stands in `problem.record`. */
export function isRecordConflict(error: unknown): error is RecordConflict {
  return isProblem(error) && error.problem.record !== undefined;
}

/** Reads a problem, or what an operation under /v1/oauth/ refuses with (RFC 6749, section 5.2). */
function readProblem(body: unknown): Partial<Problem> {
  if (typeof body !== "object" || body === null) return {};
  if ("code" in body && typeof body.code === "string") return body as Problem;
  if ("error" in body && typeof body.error === "string") {
    const words = "error_description" in body && typeof body.error_description === "string" ? body.error_description : "";
    return { code: body.error, detail: words };
  }
  return {};
}

/** The header's seconds. The service sends no dates. */
function retryAfter(headers: Headers): number | undefined {
  const value = headers.get("Retry-After") ?? "";
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
