/**
 * The digest of a chunk: checkpoints hold it, and a repeat after a restart is known by it. It must stay what
 * it was.
 */
import { createHash } from "node:crypto";
import { expect, test } from "bun:test";
import { CHUNK_TYPES } from "../../src/http/chunk_codec.ts";
import { chunkDigest } from "../../src/http/digest.ts";

const SIZES = [0, 1, 4, 2560, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 200_000];

test.each(CHUNK_TYPES.map((type) => [type]))("of %s is SHA-256 of type, 0 and body", (type) => {
  for (const size of SIZES) {
    const body = Uint8Array.from({ length: size }, (_, i) => (i * 31 + size) % 251);
    const expected = createHash("sha256").update(`${type}\0`).update(body).digest("base64");
    expect(chunkDigest(type, body)).toBe(expected);
  }
});
