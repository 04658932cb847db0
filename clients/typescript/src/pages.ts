import type { Answer, HoldfastClient, PathsWith } from "./client.js";
import { lists } from "./operations.gen.js";
import type { paths } from "./schema.gen.js";
import { wait } from "./waiting.js";

type Lists = typeof lists;

/** The lists that go on by a cursor, by their paths. */
export type ListPath = keyof Lists & PathsWith<"get">;

/** A page of a list. */
export type Page<Path extends ListPath> = Answer<Extract<paths[Path]["get"], Record<string | number, unknown>>>;

/** An item of a list. */
export type Item<Path extends ListPath> = Page<Path> extends { [Name in Lists[Path]["items"]]: readonly (infer T)[] } ? T : never;

/** A list's own parameters, and how to stop. */
export type ListInit<Path extends ListPath> = { signal?: AbortSignal } & (paths[Path]["get"] extends { parameters: infer Parameters }
  ? { [Name in keyof Pick<Parameters, keyof Parameters & "path"> as Parameters[Name] extends object ? "params" : never]: Given<Parameters> } & {
      params?: Given<Parameters>;
    }
  : unknown);

/** The parameters that a caller gives. */
type Given<Parameters> = {
  [Name in keyof Parameters as Name extends "path" | "query" ? (Parameters[Name] extends undefined ? never : Name) : never]: Parameters[Name];
};

/** The page that a list's own call gives, whatever the path. */
interface AnyPage {
  readonly next_cursor?: string | undefined;
  readonly more?: boolean;
  readonly [name: string]: unknown;
}

/**
 * Walks a list page by page, to its end. A page's next_cursor, kept, goes back as the
 * query's cursor to go on behind it later. A feed has no end: what stands there now is
 * walked, and its last page tells where it goes on.
 */
export async function* pages<Path extends ListPath>(client: HoldfastClient, path: Path, init: ListInit<Path>): AsyncGenerator<Page<Path>, void, undefined> {
  const get = client.GET as unknown as (path: string, init: object) => Promise<{ data: AnyPage }>;
  const { params, ...rest } = init as { params?: { query?: { cursor?: string } } };
  let cursor = params?.query?.cursor;
  for (;;) {
    const query = { ...params?.query, ...(cursor === undefined ? {} : { cursor }) };
    const { data } = await get(path, { ...rest, params: { ...params, query } });
    yield data as Page<Path>;
    if (data.next_cursor === undefined || (lists[path].feed && data.more !== true)) return;
    cursor = data.next_cursor;
  }
}

/** Walks a list item by item, to its end. */
export async function* items<Path extends ListPath>(client: HoldfastClient, path: Path, init: ListInit<Path>): AsyncGenerator<Item<Path>, void, undefined> {
  for await (const page of pages(client, path, init)) {
    yield* (page as AnyPage)[lists[path].items] as Item<Path>[];
  }
}

export interface FollowEventsOptions {
  /** The cursor that was kept, behind which to begin; without it, with the first event that is kept. */
  readonly cursor?: string | undefined;
  /** How long the end is left alone, in milliseconds; a second without it. */
  readonly pause?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Follows what happens in the directory, page by page, until the signal ends it. Keep a
 * page's next_cursor with what was made of the page, and begin there the next time: so
 * no event is missed, and none comes twice.
 */
export async function* followEvents(client: HoldfastClient, options: FollowEventsOptions = {}): AsyncGenerator<Page<"/v1/identity/events">, never, undefined> {
  let cursor = options.cursor;
  for (;;) {
    const { data } = await client.GET("/v1/identity/events", {
      params: { query: cursor === undefined ? {} : { cursor } },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    if (data.events.length > 0) yield data;
    cursor = data.next_cursor;
    if (!data.more) await wait(options.pause ?? 1000, options.signal);
  }
}
