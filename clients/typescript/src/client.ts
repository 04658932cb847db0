import createFetchClient, { type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";
import type { paths } from "./schema.gen.js";
import { BoughtTokens, type Fetch, GivenTokens } from "./tokens.js";
import { transport } from "./transport.js";

type HttpMethod = "get" | "put" | "post" | "delete" | "patch";

/** The paths that know a method. */
export type PathsWith<Method extends HttpMethod> = {
  [Path in keyof paths]: paths[Path] extends { [M in Method]: object } ? Path : never;
}[keyof paths];

/** The options of a call; left out where an operation needs none. */
type InitParam<Init> = undefined extends Init ? [init?: Init & Extra] : [init: Init & Extra];

/** What may stand beside an operation's own parameters. */
interface Extra {
  /** Sending this request again can't do a thing twice: an append of entries with ids, say. */
  repeatable?: boolean;
}

/** A success. What isn't one is thrown. */
export interface Success<Data> {
  readonly data: Data;
  readonly response: Response;
}

/** What an operation answers. */
export type Answer<Operation extends Record<string | number, unknown>, Init = unknown> = Extract<
  FetchResponse<Operation, Init, "application/json">,
  { data: unknown }
>["data"];

type OperationAt<Path extends keyof paths, Method extends HttpMethod> = Extract<paths[Path][Method], Record<string | number, unknown>>;

/** Calls an operation by its path. */
type Call<Method extends HttpMethod> = <Path extends PathsWith<Method>, Init extends MaybeOptionalInit<paths[Path], Method>>(
  path: Path,
  ...init: InitParam<Init>
) => Promise<Success<Answer<OperationAt<Path, Method>, Init>>>;

/**
 * Calls the API's operations, typed by their paths. An answer that isn't a success is
 * thrown as a ProblemError, so `data` is what the operation says. Nothing else in this
 * package has a state of its own: all other functions take a client.
 */
export interface HoldfastClient {
  GET: Call<"get">;
  PUT: Call<"put">;
  POST: Call<"post">;
  DELETE: Call<"delete">;
  PATCH: Call<"patch">;
}

export interface ClientOptions {
  /** Where the API is: "https://holdfast.example". */
  readonly baseUrl: string;
  /** An API key, which buys the tokens. It belongs on a server, and never into a browser. */
  readonly apiKey?: string | undefined;
  /** Instead of an API key, gives a token for each request, or the promise of one. */
  readonly token?: (() => string | Promise<string>) | undefined;
  /** Asks for tokens with fewer scopes than the key's principal has. */
  readonly scopes?: readonly string[] | undefined;
  /** How often a request is tried, at least once; 4 times without it. */
  readonly attempts?: number | undefined;
  /** How long a try may go without an answer, in milliseconds; 130 s without it, which is longer than the service takes for anything. */
  readonly timeout?: number | undefined;
  /** Sends requests, instead of the platform's own fetch. */
  readonly fetch?: Fetch | undefined;
}

/** Makes a client. It sends nothing yet. */
export function createClient(options: ClientOptions): HoldfastClient {
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const fetch: Fetch = options.fetch ?? ((request) => globalThis.fetch(request));
  const client = createFetchClient<paths, "application/json">({ baseUrl });
  client.use(
    transport({
      tokens: tokensOf(options, baseUrl, fetch),
      fetch,
      attempts: Math.max(options.attempts ?? 4, 1),
      timeout: options.timeout ?? 130_000,
    }),
  );
  return client as unknown as HoldfastClient; // the transport throws what isn't a success
}

function tokensOf(options: ClientOptions, baseUrl: string, fetch: Fetch) {
  if ((options.apiKey === undefined) === (options.token === undefined)) {
    throw new TypeError("holdfast: a client takes either an apiKey or a token");
  }
  return options.token === undefined
    ? new BoughtTokens(baseUrl, options.apiKey ?? "", options.scopes, fetch)
    : new GivenTokens(options.token);
}
