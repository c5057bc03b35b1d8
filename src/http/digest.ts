/** SHA-256, for telling repeats of a chunk from other bodies, and for comparing keys. */
import { createHash, hash, timingSafeEqual } from "node:crypto";
import { CHUNK_TYPES, type ChunkType } from "./chunk_codec.ts";

/** Bodies up to this size are hashed in one call, together with their type. */
const SMALL_BYTES = 64 << 10;
const scratch = new Uint8Array(SMALL_BYTES + 256);
const heads = new Map<ChunkType, Uint8Array>(
  CHUNK_TYPES.map((type) => [type, new TextEncoder().encode(`${type}\0`)]),
);

/** Of a media type and a body, so that the same bytes under another type differ. */
export function chunkDigest(mediaType: ChunkType, body: Uint8Array): string {
  const head = heads.get(mediaType)!;
  if (body.length > SMALL_BYTES) {
    return createHash("sha256").update(head).update(body).digest("base64");
  }
  scratch.set(head);
  scratch.set(body, head.length);
  return hash("sha256", scratch.subarray(0, head.length + body.length), "base64");
}

/**
 * Finds a key among those that are taken. All are compared, each in constant time. The result names
 * the owner without being the key.
 */
export function keyFinder(keys: readonly string[]): (given: string) => string | null {
  const taken = keys.map((key) => ({ digest: sha256(key), owner: `key:${sha256Text(key)}` }));
  return (given) => {
    const digest = sha256(given);
    let found: string | null = null;
    for (const each of taken) {
      if (timingSafeEqual(each.digest, digest)) found = each.owner;
    }
    return found;
  };
}

function sha256(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

function sha256Text(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
