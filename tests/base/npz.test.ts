import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { crc32 as crc32OfZlib } from "node:zlib";
import { parseNpy } from "../../src/base/npy.ts";
import { crc32, writeNpz } from "../../src/base/npz.ts";

const arrays = {
  "lif1.lif.v": { values: new Float32Array([1, -2.5, 0.1, 4, 5, 6]), shape: [3, 2] },
  "größe.s": { values: new Float32Array(0), shape: [0, 7] },
};

/** Reads an archive through its central directory, as zip readers do. */
function readStored(bytes: Uint8Array): Map<string, Uint8Array> {
  const view = new DataView(bytes.buffer);
  const end = bytes.length - 22;
  expect(view.getUint32(end, true)).toBe(0x06054b50);
  const files = new Map<string, Uint8Array>();
  let at = view.getUint32(end + 16, true);
  expect(at + view.getUint32(end + 12, true)).toBe(end);
  for (let i = 0; i < view.getUint16(end + 10, true); i++) {
    expect(view.getUint32(at, true)).toBe(0x02014b50);
    const [crc, packed, size] = [16, 20, 24].map((field) => view.getUint32(at + field, true));
    expect(packed).toBe(size!);
    const nameLength = view.getUint16(at + 28, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const local = view.getUint32(at + 42, true);
    expect(view.getUint32(local, true)).toBe(0x04034b50);
    expect(view.getUint32(local + 14, true)).toBe(crc!);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const data = bytes.subarray(start, start + size!);
    expect(crc32OfZlib(data)).toBe(crc!);
    files.set(name, data);
    at += 46 + nameLength;
  }
  return files;
}

describe("npz", () => {
  test("holds every array under its name", () => {
    const files = readStored(writeNpz(arrays));
    expect([...files.keys()]).toEqual(["lif1.lif.v.npy", "größe.s.npy"]);
    for (const [name, { values, shape }] of Object.entries(arrays)) {
      const array = parseNpy(files.get(`${name}.npy`)!);
      expect(array.values).toEqual(values);
      expect(array.shape).toEqual(shape);
    }
  });

  test("an archive without arrays is a valid one", () => {
    expect(readStored(writeNpz({})).size).toBe(0);
  });

  test("these bytes were opened by numpy.load of NumPy 2.4 and by Python's zipfile", () => {
    const digest = createHash("sha256").update(writeNpz(arrays)).digest("hex");
    expect(digest).toMatchInlineSnapshot(
      `"578532ce40f91cc5d9c21d058c868891ef27e1f0e6a41425ee7c9cefdafd34d8"`,
    );
  });

  test("crc32 agrees with zlib", () => {
    for (const text of ["", "a", "123456789", "x".repeat(1000)]) {
      const bytes = new TextEncoder().encode(text);
      expect(crc32(bytes)).toBe(crc32OfZlib(bytes));
    }
  });
});
