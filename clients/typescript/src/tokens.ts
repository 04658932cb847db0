import { ProblemError } from "./problem.js";
import { Deadline, orAborted } from "./waiting.js";

/** What a token is given up before its end, in milliseconds: longer than a request is under way. */
const RENEW_EARLY = 30_000;

/** How long a purchase may take, in milliseconds. */
const LONGEST_PURCHASE = 30_000;

export interface Token {
  readonly text: string;
  /** By performance.now(), which no change of the clock moves. */
  readonly expires: number;
}

/** Where tokens come from. */
export interface Tokens {
  /** Gives a token that is good for a request sent now. */
  get(signal: AbortSignal): Promise<Token>;
  /** Drops a token that the service refused, unless another has taken its place. */
  forget(token: Token): void;
}

export type Fetch = (request: Request) => Promise<Response>;

/** An API key is hf_<id>_<secret>. */
const KEY_FORM = /^(hf_[0-9a-f]+)_[A-Za-z0-9_-]+$/;

/**
 * Buys tokens with an API key (RFC 6749, section 4.4) and keeps the last one until
 * shortly before it expires. Requests that find none wait for the one purchase that is
 * under way.
 */
export class BoughtTokens implements Tokens {
  readonly #request: () => Request;
  readonly #fetch: Fetch;
  #token: Token | undefined;
  #purchase: Promise<Token> | undefined;

  constructor(baseUrl: string, apiKey: string, scopes: readonly string[] | undefined, fetch: Fetch) {
    const id = KEY_FORM.exec(apiKey)?.[1];
    if (id === undefined) {
      throw new TypeError("holdfast: the API key is not of the form hf_<id>_<secret>"); // the key itself is never shown
    }
    const form = new URLSearchParams({ grant_type: "client_credentials" });
    if (scopes !== undefined) form.set("scope", scopes.join(" "));
    this.#fetch = fetch;
    this.#request = () =>
      new Request(`${baseUrl}/v1/oauth/token`, {
        method: "POST",
        headers: { Authorization: `Basic ${btoa(`${id}:${apiKey}`)}` },
        body: form,
      });
  }

  get(signal: AbortSignal): Promise<Token> {
    if (this.#token !== undefined && this.#token.expires - performance.now() > RENEW_EARLY) {
      return Promise.resolve(this.#token);
    }
    this.#purchase ??= this.#buy().finally(() => {
      this.#purchase = undefined;
    });
    return orAborted(this.#purchase, signal); // who gives up doesn't end it for the others
  }

  forget(token: Token): void {
    if (this.#token === token) this.#token = undefined;
  }

  async #buy(): Promise<Token> {
    const asked = performance.now();
    const deadline = new Deadline(LONGEST_PURCHASE);
    try {
      const response = await this.#fetch(new Request(this.#request(), { signal: deadline.signal }));
      if (!response.ok) throw await ProblemError.from(response);
      const bought = (await response.json()) as { access_token: string; expires_in: number };
      this.#token = { text: bought.access_token, expires: asked + bought.expires_in * 1000 };
      return this.#token;
    } finally {
      deadline.end();
    }
  }
}

/** Tokens that the program gets by itself: a browser's, which must never hold an API key. */
export class GivenTokens implements Tokens {
  readonly #give: () => string | Promise<string>;

  constructor(give: () => string | Promise<string>) {
    this.#give = give;
  }

  async get(signal: AbortSignal): Promise<Token> {
    return { text: await orAborted(Promise.resolve(this.#give()), signal), expires: Infinity };
  }

  forget(): void {
    // It asks each time.
  }
}
