/** Parts of the dashboard that need no browser: bytes of the wire, rings of steps, places in a graph. */
import { expect, test } from "bun:test";
import { writeNpy } from "../../src/base/npy.ts";
import { encodeValues } from "../../src/http/encode_outputs.ts";
import { openRecording } from "../../web/npy.js";
import { layOut } from "../../web/graph_layout.js";
import { layersText, recordOf } from "../../web/record.js";
import { HELD_STEPS, StepRing } from "../../web/step_ring.js";
import { DIGITS, inkAll } from "../../web/strokes.js";
import { bits, floats } from "../../web/wire.js";

const parse = (text: string): string => JSON.parse(text) as string;

test("outputs come back from both encodings as they were", () => {
  const values = Float32Array.from({ length: 3 * 70 }, (_, i) => i * 7 % 5 === 0 ? 1 : 0);
  expect(bits(parse(encodeValues("bits", values, [3, 70])), 3, 70)).toEqual(values);
  const reals = Float32Array.of(0.1, -2.5e-7, 3e38, NaN, -0);
  expect([...floats(parse(encodeValues("base64", reals, [5])))]).toEqual([...reals]);
});

test("a ring knows the steps that it holds, and no others", () => {
  const ring = new StepRing(2);
  ring.put(HELD_STEPS - 1, [1, 0, 0, 1]);
  expect(ring.at(HELD_STEPS)).toBe(0);
  expect([ring.at(0), ring.at(-1), ring.at(HELD_STEPS + 1)]).toEqual([-1, -1, -1]);
  expect(ring.total(0, 2 * HELD_STEPS)).toEqual({ sum: 2, steps: 2 });
  expect(ring.rowTotal(1, HELD_STEPS - 1, HELD_STEPS)).toBe(0);
  ring.clear();
  expect(ring.total(0, 2 * HELD_STEPS).steps).toBe(0);
});

test("a layer stands right of what it takes from; what is a step late does not push it", () => {
  const layer = (name: string, from: string[], late: string[] = []) =>
    ({
      name,
      from,
      late,
      type: "",
      shape: [1],
      kind: "real",
      parameters: 0,
      state_bytes: 0,
      details: "",
    }) as const;
  const { places, columns, rows } = layOut([
    layer("in", []),
    layer("a", ["in", "b"], ["b"]),
    layer("b", ["a"]),
    layer("side", ["in"]),
    layer("out", ["b", "side"]),
  ]);
  expect(Object.fromEntries(places)).toEqual({
    in: { column: 0, row: 0 },
    a: { column: 1, row: 0 },
    b: { column: 2, row: 0 },
    side: { column: 1, row: 1 },
    out: { column: 3, row: 0 },
  });
  expect([columns, rows]).toEqual([4, 2]);
});

test("a digit inks its pad, at any size", () => {
  for (const side of [8, 16, 28]) {
    const scaled = DIGITS[3]!.map((stroke) =>
      stroke.map(([x, y]) => [x * side / 8, y * side / 8] as const)
    );
    const cells = inkAll(scaled, side, side);
    expect(cells.every((cell) => cell >= 0 && cell <= 1)).toBe(true);
    expect(cells.filter((cell) => cell > 0.5).length).toBeGreaterThan(side);
  }
});

test("a recording is read piece by piece, and one that does not fit is refused in words", async () => {
  const values = Float32Array.from({ length: 5 * 6 }, (_, i) => i / 7);
  const file = new Blob([writeNpy(values, [5, 2, 3])]);
  const { steps, read } = await openRecording(file, [2, 3]);
  expect(steps).toBe(5);
  expect(await read(1, 3)).toEqual(values.slice(6, 18));
  expect(await read(4, 9)).toEqual(values.slice(24));
  const digit = await openRecording(Bun.file("examples/digits/recordings/7.npy"), [1, 8, 8]);
  expect((await digit.read(0, 25)).length).toBe(25 * 64);
  const refused = async (blob: Blob, shape: number[], words: string) => {
    const error = await openRecording(blob, shape).then(() => null, (reason: Error) => reason);
    expect(error?.message).toContain(words);
  };
  await refused(file, [7], "has shape [5, 2, 3], wanted is [n, 7]");
  await refused(file.slice(0, file.size - 1), [2, 3], "cut off");
  await refused(new Blob(["{}"]), [2, 3], "no .npy file");
  await refused(new Blob([writeNpy(new Float32Array(0), [0, 6])]), [6], "no time step");
});

test("layers that a picture leaves out are said, with the reason", () => {
  const names = ["big", "small", "last"];
  const graph = {
    layers: names.map((name) => ({ name })),
    output: "last",
    record: [["big.s", 2000], ["small.s", 10], ["small.v", 10], ["last.s", 3], ["last.v", 3]]
      .map(([name, size]) => ({ name, shape: [size] })),
  } as unknown as Parameters<typeof recordOf>[0];
  const record = recordOf(graph);
  expect(record).toEqual(["small.s", "last.v"]);
  const shown = new Set(["input", "small.s", "output"]);
  const some = "Spikes of 1 of 2 hidden layers are shown: small.";
  const text = (recorded: string[], seen: Set<string>, isOwn: boolean) =>
    layersText(graph, { record: recorded }, seen, isOwn);
  expect(text(record, shown, true))
    .toBe(`${some} This page records layers of at most 1,024 neurons together.`);
  expect(text(record, shown, false)).toBe(`${some} Whoever opened the session records no others.`);
  expect(text(["big.s", "small.s"], shown, false)).toBe(`${some} There is no room for more.`);
  expect(text([], new Set(), false)).toStartWith("Spikes of 0 of 2 hidden layers are shown. ");
  expect(text(["big.s", "small.s"], new Set(["big.s", "small.s"]), false)).toBe("");
});
