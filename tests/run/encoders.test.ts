/** Encoders: the reference cases, the seeded generator's published values, and pieces against one pass. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type Encoder,
  encodeSample,
  recordingEncoder,
  scaleBytes,
  scalesBytes,
  timeFirst,
} from "../../src/run/mod.ts";
import { philox } from "../../src/run/philox.ts";
import { flat, type Nested } from "../conformance/run.ts";
import { cut, referenceCase } from "./reference_case.ts";

const values = (nested: Nested): Float32Array => Float32Array.from(flat(nested));

describe("reference cases", () => {
  test("direct: bytes are x/255 in f32, repeated", () => {
    const found = referenceCase<{
      params: { steps: number };
      input: { uint8: Nested };
      expected: { output_float32: Nested };
    }>("encode_direct_uint8");
    if (found === null) return;
    const encoder: Encoder = { kind: "direct", steps: found.params.steps };
    expect(scalesBytes(encoder, "|u1")).toBe(true);
    const sample = scaleBytes(values(found.input.uint8));
    expect([...encodeSample(encoder, sample, 0)]).toEqual([
      ...values(found.expected.output_float32),
    ]);
  });

  test("latency: earlier for larger values, ties to even", () => {
    const found = referenceCase<{
      params: { steps: number; threshold: number };
      input: Nested;
      expected: { output: Nested };
    }>("encode_latency");
    if (found === null) return;
    const encoded = encodeSample({ kind: "latency", ...found.params }, values(found.input), 0);
    expect([...encoded]).toEqual(flat(found.expected.output));
  });

  test("delta: rises, and falls when asked for", () => {
    const found = referenceCase<{
      params: { threshold: number };
      input: Nested;
      expected: { on: Nested; on_off: Nested };
    }>("encode_delta");
    if (found === null) return;
    for (const [offSpikes, wanted] of [[false, "on"], [true, "on_off"]] as const) {
      const { threshold } = found.params;
      const encode = recordingEncoder({ kind: "delta", threshold, offSpikes, timeAxis: 0 }, 1);
      expect([...encode(values(found.input))]).toEqual(flat(found.expected[wanted]));
    }
  });
});

describe("without the reference cases", () => {
  test("events are taken as they are, bytes too", () => {
    const counts = Float32Array.of(0, 3, 255);
    expect(scalesBytes({ kind: "events", timeAxis: 0 }, "|u1")).toBe(false);
    expect(recordingEncoder({ kind: "events", timeAxis: 0 }, 3)(counts)).toEqual(counts);
  });

  test("latency clips, and is silent below the threshold", () => {
    const sample = Float32Array.of(2, -1, 0.0099, 0.01, NaN);
    const encoded = encodeSample({ kind: "latency", steps: 3, threshold: 0.01 }, sample, 0);
    expect([...encoded]).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
  });

  test("delta in pieces is delta in one pass", () => {
    const size = 3;
    const stream = fc.array(fc.constantFrom(0, 0.25, 0.5, 0.75, 1), { maxLength: 40 });
    fc.assert(fc.property(stream, fc.array(fc.nat(6)), (list, cuts) => {
      const all = Float32Array.from(list.slice(0, list.length - list.length % size));
      const make = () =>
        recordingEncoder({ kind: "delta", threshold: 0.25, offSpikes: true, timeAxis: 0 }, size);
      const whole = make()(all);
      const running = make();
      const parts = cut(all, size, cuts).flatMap((piece) => [...running(piece)]);
      expect(parts).toEqual([...whole]);
    }));
  });

  test("rate: the probability is the value, and every sample has spikes of its own", () => {
    const sample = Float32Array.from({ length: 64 }, (_, i) => i / 63);
    const encoder: Encoder = { kind: "rate", steps: 500, seed: 7 };
    const spikes = encodeSample(encoder, sample, 0);
    expect(encodeSample(encoder, sample, 0)).toEqual(spikes);
    expect(encodeSample(encoder, sample, 1)).not.toEqual(spikes);
    expect(encodeSample({ ...encoder, seed: 8 }, sample, 0)).not.toEqual(spikes);
    for (let i = 0; i < 64; i++) {
      let count = 0;
      for (let step = 0; step < 500; step++) count += spikes[step * 64 + i]!;
      const p = i / 63;
      expect(Math.abs(count / 500 - p)).toBeLessThanOrEqual(4 * Math.sqrt(p * (1 - p) / 500));
    }
  });

  test("rate: longer is the same at first", () => {
    const sample = new Float32Array(9).fill(0.5);
    const short = encodeSample({ kind: "rate", steps: 4, seed: 1 }, sample, 3);
    const long = encodeSample({ kind: "rate", steps: 9, seed: 1 }, sample, 3);
    expect([...long.subarray(0, 36)]).toEqual([...short]);
  });

  test("Philox4x32-10 gives the published values", () => {
    const ones = 0xffffffff;
    expect(philox([0, 0, 0, 0], [0, 0]))
      .toEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    expect(philox([ones, ones, ones, ones], [ones, ones]))
      .toEqual([0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
    expect(philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]))
      .toEqual([0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
  });

  test("the axis of time goes first", () => {
    const moved = timeFirst(Float32Array.of(0, 1, 2, 3, 4, 5), [2, 3], 1);
    expect([...moved]).toEqual([0, 3, 1, 4, 2, 5]);
    expect([...timeFirst(Float32Array.of(0, 1, 2, 3), [2, 2], 0)]).toEqual([0, 1, 2, 3]);
  });
});
