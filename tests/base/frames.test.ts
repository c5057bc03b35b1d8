/** Steps of input as values and as bits. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { strayBit, valuesOf } from "../../src/base/frames.ts";
import { packBits } from "../../src/base/numeric.ts";
import { packPlainly, packSpikes } from "../../src/base/spike_packer.ts";

const steps = fc.integer({ min: 0, max: 5 });
const size = fc.integer({ min: 1, max: 100 });

test("spikes become bits and come back", () => {
  fc.assert(fc.property(steps, size, fc.infiniteStream(fc.nat({ max: 1 })), (n, width, dice) => {
    const values = Float32Array.from({ length: n * width }, () => dice.next().value!);
    // A view that begins anywhere.
    const view = new Float32Array([NaN, ...values, NaN]).subarray(1, 1 + values.length);
    const packed = packSpikes(view, width)!;
    expect(packed).toEqual(n === 0 ? new Uint32Array(0) : packBits(values, n));
    expect(packPlainly(view, width)).toEqual(packed);
    expect(strayBit(packed, width)).toBe(null);
    expect(valuesOf(packed, width)).toEqual(values);
  }));
});

test("one value that is neither 0 nor 1 keeps all of them as they are", () => {
  const others = fc.constantFrom(...[NaN, Infinity, -1, 2, 0.5, 2 ** -63, -0, 1e-40, 1 + 2 ** -23]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), size, fc.nat(), others, (n, width, at, x) => {
      const values = new Float32Array(n * width).fill(1);
      values[at % values.length] = x;
      expect(packSpikes(values, width)).toBe(null);
      expect(packPlainly(values, width)).toBe(null);
    }),
  );
});

test("frames longer than what is packed at once", () => {
  for (const [width, n] of [[1, 40_000], [30_001, 3], [33_000, 2], [700, 256]] as const) {
    const values = Float32Array.from({ length: width * n }, (_, i) => i % 7 === 0 ? 1 : 0);
    expect(packSpikes(values, width)).toEqual(packBits(values, n));
    values[values.length - 1] = 2;
    expect(packSpikes(values, width)).toBe(null);
  }
});
