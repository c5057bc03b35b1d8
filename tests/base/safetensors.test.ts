/** `.safetensors`: what is written is read back; what others write is read; damage is refused. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseSafetensors, type Tensor, writeSafetensors } from "../../src/base/safetensors.ts";
import { GanglionError } from "../../src/base/errors.ts";

const tensors = new Map<string, Tensor>([
  ["fc.weight", { shape: [2, 2], data: Float32Array.of(1, -2, 0.5, 3e-39) }],
  ["lif.tau", { shape: [], data: Float64Array.of(0.1) }],
  ["leer", { shape: [0, 3], data: new Float32Array(0) }],
  ["größe", { shape: [1], data: Float64Array.of(1e300) }],
]);

test("what is written is read back, and the data begins at a multiple of 8", () => {
  const file = { tensors, metadata: { padding: "same" } };
  const bytes = writeSafetensors(file);
  expect(new DataView(bytes.buffer).getBigUint64(0, true) % 8n).toBe(0n);
  expect(parseSafetensors(bytes)).toEqual(file);
  expect(parseSafetensors(writeSafetensors({ tensors: new Map(), metadata: {} })).tensors.size)
    .toBe(0);
});

function file(header: unknown, data: ArrayLike<number> = []): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(data, 8 + text.length);
  return bytes;
}

test("other types: half, bfloat16, integers, booleans", () => {
  const one = (dtype: string, ...data: number[]): number[] => {
    const bytes = file({ a: { dtype, shape: [1], data_offsets: [0, data.length] } }, data);
    return [...parseSafetensors(bytes).tensors.get("a")!.data];
  };
  expect(one("F16", 0x00, 0x3c)).toEqual([1]);
  expect(one("F16", 0x01, 0x80)).toEqual([-(2 ** -24)]);
  expect(one("F16", 0x00, 0xfc)).toEqual([-Infinity]);
  expect(one("F16", 0x01, 0x7c)).toEqual([NaN]);
  expect(one("BF16", 0x80, 0xbf)).toEqual([-1]);
  expect(one("I64", 255, 255, 255, 255, 255, 255, 255, 255)).toEqual([-1]);
  expect(one("I32", 2, 0, 0, 0)).toEqual([2]);
  expect(one("I16", 0, 128)).toEqual([-32768]);
  expect(one("I8", 200)).toEqual([-56]);
  expect(one("U8", 200)).toEqual([200]);
  expect(one("BOOL", 1)).toEqual([1]);
});

describe("refused", () => {
  const entry = { dtype: "F32", shape: [2], data_offsets: [0, 8] };
  const cases: readonly (readonly [what: string, bytes: Uint8Array, said: RegExp])[] = [
    ["nothing", new Uint8Array(3), /too short/],
    ["a text", new TextEncoder().encode("this is no such file"), /its header would have/],
    ["the first bytes", file({ a: entry }).subarray(0, 40), /cut short: it has 40 bytes/],
    ["no JSON", file({}).fill(0x7b, 8), /not JSON/],
    ["a list", file([]), /no JSON object/],
    ["a type", file({ a: { ...entry, dtype: "F8_E4M3" } }), /of type "F8_E4M3"; taken are F64/],
    ["a shape", file({ a: { ...entry, shape: [-2] } }), /no sound shape/],
    ["offsets", file({ a: { ...entry, data_offsets: [0] } }), /no sound data_offsets/],
    ["a cut", file({ a: entry }, [0, 0, 0]), /"a" of shape \[2\] does not fit bytes 0 to 8 of 3/],
    ["metadata", file({ __metadata__: { a: 1 } }), /__metadata__/],
    ["no entry", file({ a: 3 }), /has no description/],
  ];
  test.each(cases.map((each) => each))("%s", (_, bytes, said) => {
    expect(() => parseSafetensors(bytes)).toThrow(said);
  });

  test("any bytes give an error of ours or tensors", () => {
    const good = writeSafetensors({ tensors, metadata: {} });
    fc.assert(fc.property(fc.nat(good.length - 1), fc.nat(255), (at, byte) => {
      const bytes = good.slice();
      bytes[at] = byte;
      try {
        parseSafetensors(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(GanglionError);
      }
    }));
  });
});
