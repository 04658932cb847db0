import { verifiedBody, type VerifiedBody } from "./bodies.js";
import type { HoldfastClient } from "./client.js";
import type { Schemas } from "./schemas.js";
import { wait } from "./waiting.js";

export interface ExportOptions {
  /** The sequence that was kept, behind which to begin; 0, as without it, for the first change. */
  readonly after?: number | undefined;
  /** Only this section. */
  readonly section?: string | undefined;
  /** With bodies, verified. */
  readonly bodies?: boolean | undefined;
  /** Ends at the end, instead of following. */
  readonly untilCaughtUp?: boolean | undefined;
  /** How long the end is left alone, in milliseconds; a second without it. */
  readonly pause?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A section at its last change. */
export interface ChangedSection {
  readonly section: Schemas["ExportedSection"];
  /** Of a live section, where bodies were asked for. */
  readonly body?: VerifiedBody;
}

/** What has changed, in the order in which changes were committed. */
export interface ExportPage {
  readonly changes: readonly ChangedSection[];
  /** Keep it with what was made of the page, and begin behind it the next time. */
  readonly next: number;
  /** Whether others stand behind these already. */
  readonly more: boolean;
}

/**
 * Follows what changes in a collection, page by page, until the signal ends it. A reader
 * that keeps `next` with what it made of a page misses nothing and sees nothing twice. A
 * section that changed several times stands at its last change only.
 */
export async function* followExport(client: HoldfastClient, collection: string, options: ExportOptions = {}): AsyncGenerator<ExportPage, void, undefined> {
  let after = options.after ?? 0;
  for (;;) {
    const { data } = await client.GET("/v1/collections/{collection}/export", {
      params: {
        path: { collection },
        query: {
          after,
          ...(options.section === undefined ? {} : { section: options.section }),
          ...(options.bodies ? { include: "bodies" as const } : {}),
        },
      },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const changes = await verify(data.records, after, options.bodies === true);
    after = data.next;
    if (changes.length > 0) yield { changes, next: data.next, more: data.more };
    if (data.more) continue;
    if (options.untilCaughtUp) return;
    await wait(options.pause ?? 1000, options.signal);
  }
}

/** Holds a page to its order, and its bodies to their digests. */
async function verify(records: readonly Schemas["ExportedSection"][], after: number, withBodies: boolean): Promise<ChangedSection[]> {
  const changes: ChangedSection[] = [];
  for (const section of records) {
    if (section.export_sequence <= after) throw new Error(`holdfast: sequence ${section.export_sequence} came behind ${after}`);
    after = section.export_sequence;
    const body = withBodies && section.live ? { body: await verifiedBody(section.key, section.section, section) } : {};
    changes.push({ section, ...body });
  }
  return changes;
}
