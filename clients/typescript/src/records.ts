import { digestOf, toBase64, verifiedBody, type VerifiedBody } from "./bodies.js";
import type { HoldfastClient } from "./client.js";
import type { Schemas } from "./schemas.js";
import { randomId } from "./transport.js";

/** Up to how many bytes of bodies go along in JSON. Larger ones go as they are, which takes a third less. */
const BASE64_UP_TO = 32 << 10;

/** What says which record is to be changed: exactly one of these. */
export type Expectation =
  /** The revision that the change was made from. */
  | { readonly revision: number }
  /** There is no live section. */
  | { readonly absent: true }
  /** What sections have now, by their digests; null for one that isn't live. */
  | { readonly digests: Readonly<Record<string, string | null>> }
  /** Nothing newer has been published under its key. */
  | { readonly fence: Schemas["NewFence"] };

/** What a publication changes. It names at least one section, and leaves out those that stay as they are. */
export interface RecordChange {
  readonly collection: string;
  readonly key: string;
  readonly expect: Expectation;
  /** Bodies to write, by section: text, or exact bytes. 2 MiB each, and 8 MiB a record. */
  readonly sections?: Readonly<Record<string, string | Uint8Array>>;
  readonly tombstones?: readonly string[] | undefined;
  /**
   * The caller's name for this change, by which it is made once; a random one without
   * it. A program that may crash meanwhile keeps the id before, and publishes the same
   * under it again afterwards, within 7 days.
   */
  readonly operationId?: string | undefined;
  /** Who publishes; the principal's name without it. */
  readonly producer?: string | undefined;
  /** Of the world that the collection is bound to, if a node holds it. */
  readonly lease?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Changes a record by compare-and-swap, and gives the receipt when that is durable. The
 * same is sent under one operation id until there is an answer, as often as the client
 * tries, so it is made once.
 *
 * Where the record isn't as expected it throws a ProblemError that isRecordConflict tells,
 * with the record as it stands. Where it throws none, nobody can know the outcome: publish
 * the same under the same operationId again.
 */
export async function publish(client: HoldfastClient, change: RecordChange): Promise<Schemas["Receipt"]> {
  const bodies = Object.entries(change.sections ?? {}).map(([name, body]) => [name, toBytes(body)] as const);
  const publication: Schemas["PublicationPart"] = {
    operation_id: change.operationId ?? randomId(),
    ...(change.producer === undefined ? {} : { producer: change.producer }),
    ...(change.tombstones === undefined ? {} : { tombstones: [...change.tombstones] }),
    ...("digests" in change.expect ? { expect: { ...change.expect.digests } } : {}),
    ...("fence" in change.expect ? { fence: change.expect.fence } : {}),
  };
  const { data } = await client.PUT("/v1/collections/{collection}/records/{key}", {
    params: { path: { collection: change.collection, key: change.key }, header: preconditions(change) },
    body: publication,
    bodySerializer: () => serialize(publication, bodies),
    ...(change.signal === undefined ? {} : { signal: change.signal }),
  });
  await confirm(data, bodies);
  return data;
}

type Bodies = readonly (readonly [name: string, body: Uint8Array])[];

const toBytes = (body: string | Uint8Array) => (typeof body === "string" ? new TextEncoder().encode(body) : body);

function preconditions(change: RecordChange): Record<string, string> {
  return {
    ...("revision" in change.expect ? { "If-Match": `"${change.expect.revision}"` } : {}),
    ...("absent" in change.expect ? { "If-None-Match": "*" } : {}),
    ...(change.lease === undefined ? {} : { "Holdfast-Lease": change.lease }),
  };
}

function serialize(publication: Schemas["PublicationPart"], bodies: Bodies): string | FormData {
  if (bodies.reduce((sum, [, body]) => sum + body.length, 0) <= BASE64_UP_TO) {
    const sections = Object.fromEntries(bodies.map(([name, body]) => [name, { body: toBase64(body) }]));
    return JSON.stringify(bodies.length === 0 ? publication : { ...publication, sections });
  }
  const form = new FormData();
  form.set("publication", new Blob([JSON.stringify(publication)], { type: "application/json" }));
  for (const [name, body] of bodies) form.set(name, new Blob([body as Uint8Array<ArrayBuffer>]));
  return form;
}

/** Holds a receipt to what was sent: the service has the bytes that the caller has. */
async function confirm(receipt: Schemas["Receipt"], bodies: Bodies): Promise<void> {
  if (receipt.outcome === "superseded") return;
  for (const [name, body] of bodies) {
    const change = receipt.changes.find(({ section }) => section === name);
    if (change !== undefined && change.digest !== (await digestOf(body))) {
      throw new Error(`holdfast: the receipt is of another body of section ${name} than was sent`);
    }
  }
}

/** A record with the bodies of its live sections, all of one revision and verified. */
export interface VerifiedRecord {
  readonly record: Schemas["Record"];
  readonly bodies: Readonly<Record<string, VerifiedBody>>;
}

/** Reads a record with its bodies. Throws an UnverifiedBodyError where one isn't what its metadata says. */
export async function readRecord(client: HoldfastClient, collection: string, key: string, signal?: AbortSignal): Promise<VerifiedRecord> {
  const { data: record } = await client.GET("/v1/collections/{collection}/records/{key}", {
    params: { path: { collection, key }, query: { include: "bodies" } },
    ...(signal === undefined ? {} : { signal }),
  });
  const bodies: Record<string, VerifiedBody> = {};
  for (const [name, section] of Object.entries(record.sections)) {
    if (section.live) bodies[name] = await verifiedBody(key, name, section);
  }
  return { record, bodies };
}
