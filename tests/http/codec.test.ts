/** The codecs, by properties: what goes in by one form comes out the same by all. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { writeNpy } from "../../src/base/npy.ts";
import { packBits, sizeOf, wordsOf } from "../../src/base/numeric.ts";
import { bestType } from "../../src/http/accept.ts";
import { CHUNK_TYPES, type ChunkType, decodeChunk } from "../../src/http/chunk_codec.ts";
import { encodeValues } from "../../src/http/encode_outputs.ts";
import { f32Text, nestedText } from "../../src/http/f32_text.ts";
import { idOf, parseId } from "../../src/http/output_events.ts";
import { valuesOf } from "../../src/base/frames.ts";
import { GanglionError } from "../../src/base/errors.ts";

const any = () => {};
const text = new TextEncoder();
const jsonBytes = (value: unknown) => text.encode(JSON.stringify(value)) as Uint8Array<ArrayBuffer>;

const shapes = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 });
/** A sample shape and some whole steps of values. */
const streams = (value: fc.Arbitrary<number>) =>
  fc.tuple(shapes, fc.integer({ min: 1, max: 6 })).chain(([sampleShape, steps]) => {
    const length = steps * sizeOf(sampleShape);
    return fc.record({
      sampleShape: fc.constant(sampleShape),
      steps: fc.constant(steps),
      values: fc.array(value, { minLength: length, maxLength: length }).map((each) =>
        Float32Array.from(each)
      ),
    });
  });
const finite = fc.float({ noNaN: true, noDefaultInfinity: true });
const bits = (values: Float32Array) =>
  new Uint32Array(values.buffer, values.byteOffset, values.length);

function nest(values: readonly number[], shape: readonly number[]): unknown {
  if (shape.length === 0) return values[0];
  const size = values.length / shape[0]!;
  return Array.from(
    { length: shape[0]! },
    (_, i) => nest(values.slice(i * size, (i + 1) * size), shape.slice(1)),
  );
}

describe("chunks in", () => {
  test("f32 in every form that holds f32 is the same f32", () => {
    fc.assert(fc.property(streams(finite), ({ sampleShape, steps, values }) => {
      const size = sizeOf(sampleShape);
      const shape = { sampleShape, assertSteps: any };
      const plain = Array.from(values, (value) => Object.is(value, -0) ? 0 : value);
      const bodies: [ChunkType, Uint8Array][] = [
        ["application/octet-stream", new Uint8Array(values.slice().buffer)],
        ["application/x-npy", writeNpy(values, [steps, ...sampleShape])],
        ["application/x-npy", writeNpy(values, [steps, size])],
        ["application/json", jsonBytes({ data: nest([...values], [steps, ...sampleShape]) })],
        ["application/json", jsonBytes({ data: nest([...values], [steps, size]) })],
      ];
      for (const [type, body] of bodies) {
        const chunk = decodeChunk(type, body as Uint8Array<ArrayBuffer>, shape);
        expect([type, chunk.steps]).toEqual([type, steps]);
        expect(Array.from(chunk.values, (value) => value + 0)).toEqual(plain);
      }
    }));
  });

  test("spikes as bits and as events, in any order, are the same spikes", () => {
    const spikes = streams(fc.constantFrom(0, 0, 1));
    fc.assert(
      fc.property(spikes, fc.infiniteStream(fc.nat()), ({ sampleShape, steps, values }, order) => {
        const size = sizeOf(sampleShape);
        const shape = { sampleShape, assertSteps: any };
        const packed = new Uint8Array(packBits(values, steps).buffer as ArrayBuffer);
        expect(packed.length).toBe(steps * wordsOf(size) * 4);
        const events = [...values].flatMap((value, at) =>
          value === 0
            ? []
            : [{ key: order.next().value, event: [Math.floor(at / size), at % size] }]
        ).sort((a, b) => a.key - b.key).map(({ event }) => event);
        const unpacked = decodeChunk("application/vnd.ganglion.bits", packed, shape).values;
        const sparse = decodeChunk("application/json", jsonBytes({ steps, events }), shape).values;
        for (const given of [unpacked, sparse]) {
          expect(given).toBeInstanceOf(Uint32Array);
          expect(valuesOf(given, size)).toEqual(values);
        }
      }),
    );
  });

  test("junk of any type is a named 4xx, never anything else", () => {
    const assertSteps = (steps: number) => {
      if (steps > 100) throw new GanglionError("chunk_too_long", "too long");
    };
    const shape = { sampleShape: [2, 3], assertSteps };
    const junk = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((each) => text.encode(each)),
      fc.record({ data: fc.anything() }).map((each) => text.encode(JSON.stringify(each) ?? "")),
      fc.record({ steps: fc.anything(), events: fc.anything() }, { requiredKeys: [] })
        .map((each) => text.encode(JSON.stringify(each) ?? "")),
      fc.array(fc.array(fc.double(), { maxLength: 4 })).map((events) =>
        text.encode(JSON.stringify({ steps: 3, events }))
      ),
    ).map((bytes) => new Uint8Array(bytes) as Uint8Array<ArrayBuffer>);
    fc.assert(
      fc.property(fc.constantFrom(...CHUNK_TYPES), junk, (type, body) => {
        try {
          const { values: frames, steps } = decodeChunk(type, body, shape);
          const values = valuesOf(frames, 6);
          expect(values.length).toBe(steps * 6);
          expect(steps).toBeGreaterThan(0);
          expect(values.every(Number.isFinite)).toBe(true);
        } catch (error) {
          if (!(error instanceof GanglionError)) throw error;
          expect([400, 413, 422]).toContain(error.status);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("outputs out", () => {
  test("every finite f32 parses back to itself, as f32 and as a double", () => {
    const patterns = fc.integer({ min: 0, max: 0xffff_ffff }).map((word) =>
      new Float32Array(Uint32Array.of(word).buffer)[0]!
    );
    fc.assert(
      fc.property(patterns, (value) => {
        const parsed = JSON.parse(f32Text(value)) as number | null;
        if (Number.isFinite(value)) {
          expect(Object.is(parsed, value)).toBe(true);
          expect(bits(Float32Array.of(parsed!))[0]).toBe(bits(Float32Array.of(value))[0]!);
        } else expect(parsed).toBe(null);
      }),
      { numRuns: 5000 },
    );
  });

  test("nested text has the shape", () => {
    fc.assert(fc.property(streams(finite), ({ sampleShape, steps, values }) => {
      const shape = [steps, ...sampleShape];
      expect(JSON.parse(nestedText(values, shape))).toEqual(nest([...values], shape));
    }));
  });

  test("base64 and events carry every value", () => {
    fc.assert(
      fc.property(
        streams(fc.oneof(finite, fc.constantFrom(0, 1))),
        ({ sampleShape, steps, values }) => {
          const shape = [steps, ...sampleShape];
          const bytes = Buffer.from(
            JSON.parse(encodeValues("base64", values, shape)) as string,
            "base64",
          );
          expect(new Float32Array(new Uint8Array(bytes).buffer)).toEqual(values);
          const size = values.length / steps;
          const filled = new Float32Array(values.length);
          for (
            const [t, i, value = 1] of JSON.parse(
              encodeValues("events", values, shape),
            ) as number[][]
          ) {
            filled[t! * size + i!] = value;
          }
          expect(Array.from(filled)).toEqual(Array.from(values, (value) => value + 0));
        },
      ),
    );
  });

  test("base64 of much", () => {
    const values = Float32Array.from({ length: 70_000 }, (_, i) => i / 7);
    const decoded = Buffer.from(
      JSON.parse(encodeValues("base64", values, [70_000])) as string,
      "base64",
    );
    expect(new Float32Array(new Uint8Array(decoded).buffer)).toEqual(values);
  });
});

test("event ids parse back", () => {
  fc.assert(fc.property(fc.nat(), fc.nat(), fc.nat(), (epoch, step, part) => {
    expect(parseId(idOf({ epoch, step, part }))).toEqual({ epoch, step, part });
  }));
});

test.each(
  [
    [undefined, "a/x"],
    ["", "a/x"],
    ["*/*", "a/x"],
    ["b/y", "b/y"],
    ["b/*", "b/y"],
    ["a/x;q=0.1, b/y;q=0.2", "b/y"],
    ["a/x;q=0, */*", "b/y"],
    ["*/*;q=0.1, b/y", "b/y"],
    ["A/X; Q=1", "a/x"],
    ["c/z", null],
    ["a/x;q=0", null],
    ["a/x;q=junk", null],
    [",,;", null],
  ] as const,
)("Accept %p gives %p", (header, type) => {
  expect(bestType(header, ["a/x", "b/y"])).toBe(type);
});
