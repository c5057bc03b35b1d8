/** Canonical values and the search for values that are no numbers, against their definitions. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalise, firstNonFinite } from "../../src/base/numeric.ts";

/** Bit patterns around which f32 change their kind, and any other. */
const word = fc.oneof(
  fc.constantFrom(0, 1, 0x007fffff, 0x00800000, 0x3f800000, 0x7f7fffff, 0x7f800000, 0x7fc00000),
  fc.nat({ max: 0x7fffffff }),
).chain((bits) => fc.constantFrom(bits, (bits | 0x80000000) >>> 0));

const floats = fc.array(word, { maxLength: 40 }).map((words) => {
  // Views that begin anywhere in their buffer.
  const all = Uint32Array.from([0x7fc00000, ...words, 0x7fc00000]);
  return new Float32Array(all.buffer, 4, words.length);
});

test("canonical: -0 and subnormals are +0, everything else keeps its bits", () => {
  fc.assert(fc.property(floats, (values) => {
    const wanted = Float32Array.from(values, (x) => Math.abs(x) < 2 ** -126 ? 0 : x);
    expect(canonicalise(values)).toBe(values);
    expect(Array.from(values, (x) => [x, 1 / x])).toEqual(Array.from(wanted, (x) => [x, 1 / x]));
    expect(new Uint32Array(values.buffer)[0]).toBe(0x7fc00000);
  }));
});

test("the first that is no finite number, in f32 and in others", () => {
  fc.assert(fc.property(floats, (values) => {
    const wanted = [...values].findIndex((x) => !Number.isFinite(x));
    expect(firstNonFinite(values)).toBe(wanted);
    expect(firstNonFinite([...values])).toBe(wanted);
    expect(firstNonFinite(Float64Array.from(values))).toBe(wanted);
  }));
});
