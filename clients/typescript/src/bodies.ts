import type { HoldfastClient } from "./client.js";
import type { Schemas } from "./schemas.js";
import { hexadecimal } from "./transport.js";

/** What came isn't the body that it was said to be. None of it may be used; another try may bring the right one. */
export class UnverifiedBodyError extends Error {
  override readonly name = "UnverifiedBodyError";
  constructor(
    readonly key: string,
    readonly section: string,
    readonly reason: string,
  ) {
    super(`holdfast: the body of section ${section} of "${key}" can't be used: ${reason}`);
  }
}

/** The digest of a body: its SHA-256 in lower-case hexadecimal. */
export async function digestOf(body: Uint8Array): Promise<string> {
  return hexadecimal(new Uint8Array(await crypto.subtle.digest("SHA-256", body as Uint8Array<ArrayBuffer>)));
}

/** Where a section is. */
export interface SectionAddress {
  readonly collection: string;
  readonly key: string;
  readonly section: string;
}

/** A section's body, verified. */
export interface VerifiedBody {
  readonly bytes: Uint8Array;
  readonly digest: string;
}

/**
 * Reads a section's body as it is now, and gives it when its bytes are those of its
 * digest. With a copy that was read before, a body that is still the same isn't sent
 * again, and the copy itself is given.
 *
 * Throws a ProblemError with body_unavailable (503) where it can't be had, which is no
 * reason to give up a copy; section_deleted (410) and section_not_found (404) where there
 * is none any more; an UnverifiedBodyError.
 */
export async function readBody(client: HoldfastClient, at: SectionAddress, copy?: VerifiedBody, signal?: AbortSignal): Promise<VerifiedBody> {
  const { data, response } = await client.GET("/v1/collections/{collection}/records/{key}/sections/{section}/body", {
    params: {
      path: { collection: at.collection, key: at.key, section: at.section },
      header: copy === undefined ? {} : { "If-None-Match": `"${copy.digest}"` },
    },
    parseAs: "arrayBuffer",
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.status === 304 && copy !== undefined) return copy;
  const bytes = new Uint8Array(data ?? new ArrayBuffer(0)); // an empty body is one too
  const digest = taggedDigest(response.headers);
  if (digest === undefined) throw new UnverifiedBodyError(at.key, at.section, "the answer has no digest");
  if ((await digestOf(bytes)) !== digest) throw new UnverifiedBodyError(at.key, at.section, "its bytes are not those of its digest");
  return { bytes, digest };
}

/** The digest that a body's ETag is made of. Something in between may have made the tag a weak one. */
function taggedDigest(headers: Headers): string | undefined {
  return /^(?:W\/)?"([0-9a-f]{64})"$/.exec(headers.get("ETag") ?? "")?.[1];
}

/** A section as the API shows it, in a record or in an export. */
type ShownSection = Pick<Schemas["RecordSection"], "live" | "digest" | "length" | "body">;

/** Decodes a section's body and holds it to its length and its digest. */
export async function verifiedBody(key: string, section: string, shown: ShownSection): Promise<VerifiedBody> {
  if (shown.body === undefined || shown.digest === undefined) throw new UnverifiedBodyError(key, section, "it was left out");
  const bytes = fromBase64(shown.body);
  if (bytes.length !== shown.length) {
    throw new UnverifiedBodyError(key, section, `it has ${bytes.length} bytes and not ${shown.length}`);
  }
  if ((await digestOf(bytes)) !== shown.digest) throw new UnverifiedBodyError(key, section, "its bytes are not those of its digest");
  return { bytes, digest: shown.digest };
}

/** Bytes of base64 (RFC 4648, section 4). */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Bytes in base64 (RFC 4648, section 4), with padding. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}
