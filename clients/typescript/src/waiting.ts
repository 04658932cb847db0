const FIRST_PAUSE = 100; // doubles with each try that got no answer
const LONGEST_PAUSE = 30_000;

/** The pause behind the n-th failure in a row, from 1: between a half and all of what doubles. In milliseconds. */
export function backoff(n: number): number {
  const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(n - 1, 16), LONGEST_PAUSE);
  return pause / 2 + (Math.random() * pause) / 2;
}

/** Waits, or rejects with the signal's reason. */
export function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const ended = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", ended, { once: true });
  });
}

/** What the promise comes to, unless the signal ends the waiting for it. The work itself goes on. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const ended = () => reject(signal.reason);
    signal.addEventListener("abort", ended, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", ended));
  });
}

/** A signal that ends with another, or when nothing came for so long. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #outer: AbortSignal | undefined;
  readonly #ended = () => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(milliseconds: number, outer?: AbortSignal) {
    this.#milliseconds = milliseconds;
    this.#outer = outer;
    if (outer?.aborted) this.#ended();
    outer?.addEventListener("abort", this.#ended, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something came: the time begins again. */
  restart(): void {
    this.hold();
    this.#timer = setTimeout(() => {
      this.#controller.abort(new DOMException(`nothing came for ${this.#milliseconds} ms`, "TimeoutError"));
    }, this.#milliseconds);
  }

  /** No time runs any more. The outer signal still counts. */
  hold(): void {
    clearTimeout(this.#timer);
  }

  /** Nothing counts any more. */
  end(): void {
    this.hold();
    this.#outer?.removeEventListener("abort", this.#ended);
  }
}
