import type { HoldfastClient } from "./client.js";
import { isProblem } from "./problem.js";
import type { Schemas } from "./schemas.js";
import { jsonLines, serverEvents } from "./streams.js";
import { randomId } from "./transport.js";
import { backoff, Deadline, wait } from "./waiting.js";

export type JournalEntry = Schemas["JournalEntry"];

export interface AppendOptions {
  /** Of the lease's holder, "<epoch>.<secret>"; nothing while Holdfast itself holds the world. */
  readonly lease?: string | undefined;
  /** The position behind which they must stand. */
  readonly ifPosition?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Appends entries to a world's journal, all or none. An entry without an id gets one, so
 * that entries whose answer is lost are sent again, and are written once.
 */
export async function append(client: HoldfastClient, world: string, entries: readonly Schemas["NewEntry"][], options: AppendOptions = {}): Promise<Schemas["AppendReceipt"]> {
  const { data } = await client.POST("/v1/worlds/{world_id}/journal", {
    params: { path: { world_id: world }, header: options.lease === undefined ? {} : { "Holdfast-Lease": options.lease } },
    body: {
      entries: entries.map((entry) => ({ ...entry, entry_id: entry.entry_id ?? randomId() })),
      ...(options.ifPosition === undefined ? {} : { if_position: options.ifPosition }),
    },
    repeatable: true,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  return data;
}

export interface JournalOptions {
  /** The position behind which to begin; 0, as without it, for the first entry. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What is tried in a row without an entry, before the last failure is thrown. */
const PATIENCE = 8;

/** How many entries are asked for at once. */
const LINES = 10_000;

/** How long a stream may be silent, in milliseconds: it has a comment every 15 s. */
const LONGEST_SILENCE = 45_000;

/**
 * Reads a journal as it stands now, to its end, and goes on by itself where an answer
 * breaks off: every entry once, and in order.
 */
export async function* readJournal(client: HoldfastClient, world: string, options: JournalOptions = {}): AsyncGenerator<JournalEntry, void, undefined> {
  let after = options.after ?? 0;
  for (let failures = 0; ; ) {
    const before = after;
    try {
      for await (const entry of journalLines(client, world, after, options.signal)) {
        after = demandNext(entry, after);
        failures = 0;
        yield entry;
      }
      if (after - before < LINES) return;
    } catch (error) {
      failures = await pauseAfter(error, failures, options.signal);
    }
  }
}

async function* journalLines(client: HoldfastClient, world: string, after: number, signal: AbortSignal | undefined): AsyncGenerator<JournalEntry, void, undefined> {
  const deadline = new Deadline(LONGEST_SILENCE, signal);
  try {
    const { data } = await client.GET("/v1/worlds/{world_id}/journal", {
      params: { path: { world_id: world }, query: { after, limit: LINES } },
      headers: { Accept: "application/x-ndjson" },
      parseAs: "stream",
      signal: deadline.signal,
    });
    if (data === null) return;
    for await (const entry of jsonLines<JournalEntry>(data)) {
      deadline.hold(); // the reader's own time doesn't count
      yield entry;
      deadline.restart();
    }
  } finally {
    deadline.end();
  }
}

/**
 * Follows a journal: every entry behind a position once and in order, and then each as
 * soon as it is committed, until the signal ends it. It connects again by itself. Keep
 * an entry's position with what was made of it, and begin there the next time.
 *
 * What the service refuses is thrown: world_not_found, position_ahead.
 */
export async function* followJournal(client: HoldfastClient, world: string, options: JournalOptions = {}): AsyncGenerator<JournalEntry, never, undefined> {
  let after = options.after ?? 0;
  for (let failures = 0; ; ) {
    try {
      for await (const entry of journalEvents(client, world, after, options.signal)) {
        after = demandNext(entry, after);
        failures = 0;
        yield entry;
      }
      // The service ends a stream after an hour, or when it stops itself.
      options.signal?.throwIfAborted();
      await wait(backoff(1), options.signal);
    } catch (error) {
      failures = await pauseAfter(error, failures, options.signal);
    }
  }
}

async function* journalEvents(client: HoldfastClient, world: string, after: number, signal: AbortSignal | undefined): AsyncGenerator<JournalEntry, void, undefined> {
  const deadline = new Deadline(LONGEST_SILENCE, signal);
  try {
    const { data } = await client.GET("/v1/worlds/{world_id}/journal/stream", {
      params: { path: { world_id: world }, query: { after } },
      headers: { Accept: "text/event-stream" },
      parseAs: "stream",
      signal: deadline.signal,
    });
    if (data === null) return;
    for await (const event of serverEvents(data)) {
      deadline.restart();
      if (event === undefined) continue;
      deadline.hold(); // the reader's own time doesn't count
      yield JSON.parse(event.data) as JournalEntry;
      deadline.restart();
    }
  } finally {
    deadline.end();
  }
}

/** A gap would be an error of something in between, and no reader may overlook it. */
function demandNext(entry: JournalEntry, after: number): number {
  if (entry.position !== after + 1) throw new GapError(after, entry.position);
  return entry.position;
}

/** An entry came that isn't the next one. */
export class GapError extends Error {
  override readonly name = "GapError";
  constructor(
    readonly after: number,
    readonly position: number,
  ) {
    super(`holdfast: position ${position} came behind ${after}`);
  }
}

/** Waits behind a failure that may pass, and counts it; throws any other. */
async function pauseAfter(error: unknown, failures: number, signal: AbortSignal | undefined): Promise<number> {
  if (signal?.aborted) throw signal.reason;
  const passing = isProblem(error) ? error.retryAfter !== undefined || error.status >= 502 : !(error instanceof GapError);
  if (!passing || failures + 1 >= PATIENCE) throw error;
  await wait(backoff(failures + 1), signal);
  return failures + 1;
}
