/** SHA-256, for telling repeats of a chunk from other bodies, and for comparing keys. */
import { createHash, timingSafeEqual } from "node:crypto";

/** Of a media type and a body, so that the same bytes under another type differ. */
export function chunkDigest(mediaType: string, body: Uint8Array): string {
  return createHash("sha256").update(mediaType).update("\0").update(body).digest("base64");
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
