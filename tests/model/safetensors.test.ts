/** Weight files: what the official package wrote is read, and what is damaged is refused. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { readSafetensors, writeSafetensors } from "../../src/model/mod.ts";
import { nn, sequential } from "../../src/model/nn/mod.ts";

const file = new Uint8Array(
  readFileSync(new URL("../fixtures/safetensors/mlp.safetensors", import.meta.url)),
);

/** A file with this header over `bytes` bytes of data. */
function fileOf(header: unknown, bytes: number): Uint8Array {
  const text = new TextEncoder().encode(
    typeof header === "string" ? header : JSON.stringify(header),
  );
  const whole = new Uint8Array(8 + text.length + bytes);
  new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
  whole.set(text, 8);
  return whole;
}

const tensor = (shape: unknown, from: number, to: number, dtype = "F32") => ({
  dtype,
  shape,
  data_offsets: [from, to],
});

test("f16, f32 and f64 of the official package", () => {
  const tensors = readSafetensors(file);
  expect(tensors["params/delayed_0/kernel"]!.shape).toEqual([6, 5]);
  expect(tensors["params/readout/kernel"]!.data).toBeInstanceOf(Float32Array);
  expect(tensors["params/readout/bias"]!.data).toBeInstanceOf(Float64Array);
  expect(tensors["params/readout/kernel"]!.data.every((x) => Math.abs(x) < 1.01)).toBe(true);
});

test("written files read back, the same tensors as the same bytes", () => {
  const tensors = { "ä": { shape: [2, 2], data: [1, 2, 3, 4.5] }, a: { shape: [], data: [-1] } };
  const bytes = writeSafetensors(tensors);
  const back = readSafetensors(bytes);
  expect(Object.keys(back)).toEqual(["a", "ä"]);
  expect(back["ä"]).toEqual({ shape: [2, 2], data: Float32Array.of(1, 2, 3, 4.5) });
  expect(writeSafetensors(back)).toEqual(bytes);
  expect(() => writeSafetensors({ a: { shape: [2], data: [1] } })).toThrow(/do not fill/);
});

test("other number types", () => {
  const header = {
    b: tensor([2], 0, 4, "BF16"),
    h: tensor([3], 4, 10, "F16"),
    i: tensor([1], 10, 18, "I64"),
  };
  const bytes = fileOf(header, 18);
  const view = new DataView(bytes.buffer, bytes.length - 18);
  view.setUint16(0, 0x3fc0, true); // 1.5
  view.setUint16(2, 0xc000, true); // -2
  view.setUint16(4, 0x3555, true); // about a third
  view.setUint16(6, 0x0001, true); // the smallest subnormal
  view.setUint16(8, 0xfc00, true); // -infinity
  view.setBigInt64(10, -7n, true);
  const { b, h, i } = readSafetensors(bytes);
  expect([...b!.data]).toEqual([1.5, -2]);
  expect([...h!.data]).toEqual([0.333251953125, 2 ** -24, -Infinity]);
  expect([...i!.data]).toEqual([-7]);
});

test.each([
  [new Uint8Array(4), /too short/],
  [Uint8Array.from([255, 255, 255, 255, 255, 255, 255, 255]), /header would have/],
  [fileOf("{", 0), /not JSON/],
  [fileOf([], 0), /no JSON object/],
  [fileOf({ a: tensor([2], 0, 8, "F8") }, 8), /"a" is of type "F8"/],
  [fileOf({ a: tensor([2], 0, 4) }, 4), /"a" of shape \[2\] does not fit bytes 0 to 4/],
  [fileOf({ a: tensor([-1], 0, 4) }, 4), /"a" has no sound shape/],
  [fileOf({ a: tensor([2 ** 40], 0, 2 ** 42) }, 4), /"a" of shape .* does not fit/],
  [fileOf({ a: tensor([1], 0, 4), b: tensor([1], 0, 4) }, 4), /"b" lies at/],
  [fileOf({ a: tensor([1], 0, 4) }, 8), /4 bytes belong to no tensor/],
  [fileOf({ a: null }, 0), /"a" has no description/],
])("refuses a damaged file %#", (bytes, message) => {
  expect(() => readSafetensors(bytes)).toThrow(message);
});

test("every cut and every flipped byte of the header gives a tensor or an error of ours", () => {
  for (let at = 0; at < 1200; at++) {
    const bytes = at % 2 === 0 ? file.slice(0, at) : file.slice();
    if (at % 2 === 1) bytes[at]! ^= 1 << (at % 8);
    try {
      readSafetensors(bytes);
    } catch (error) {
      expect((error as Error).name).toBe("GanglionError");
    }
  }
});

test("variables: what is missing, misfits or is left over is named", () => {
  const build = (variables: object) =>
    sequential([nn.Dense(), nn.LIF()], {
      input: [2],
      variables: variables as Record<string, never>,
    });
  const kernel = { shape: [2, 1], data: Float32Array.of(1, 2) };
  expect(() => build({})).toThrow(/"Dense_0".*needs "kernel".*no variables were given/);
  expect(() => build({ Dense_1: { kernel } })).toThrow(/"Dense_0.kernel".*hold "Dense_1.kernel"/);
  expect(() => build({ Dense_0: { kernel: [[1]] } })).toThrow(/must have the shape \[2,1\]/);
  const plan = build({ params: { Dense_0: { kernel }, extra: 1 }, state: { LIF_0: 3 } });
  expect(plan.notes.map(({ text }) => text)).toEqual(['No layer takes the variables "extra"']);
  expect(build({ "params/Dense_0/kernel": kernel }).digest).toBe(plan.digest);
});
