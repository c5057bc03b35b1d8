/** Recordings in every kind of file, as NumPy saved them; and what is said of those that are wrong. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { ROOT } from "../../bin/launch.mjs";
import { parseNpy } from "../../src/base/npy.ts";
import { writeNpz } from "../../src/base/npz.ts";
import { readZip } from "../../src/base/zip.ts";
import type { InputChoice } from "../../src/cli/input_files.ts";
import { withRecordings } from "../../src/cli/recordings.ts";
import { type Encoder, EVENTS } from "../../src/run/mod.ts";
import { DIGITS, ganglion, recording, scratchFolder } from "./command_line.ts";

const fixture = (name: string): string => join(ROOT, "tests/fixtures/recordings", name);
const inflate = (data: Uint8Array) => inflateRawSync(data);
const expected = new Map(
  readZip(readFileSync(fixture("expected.npz")), inflate)
    .map((member) => [member.name, parseNpy(member.read())]),
);

const sampleOf = (sampleShape: readonly number[]) => ({
  sampleShape,
  sampleSize: sampleShape.reduce((product, axis) => product * axis, 1),
});
const POLAR = sampleOf([2, 6, 8]),
  BOTH = sampleOf([6, 8]),
  LINE = sampleOf([8]),
  FIVE = sampleOf([5]);
const BINS: InputChoice = { binUs: 1000 };

async function read(
  path: string,
  model = FIVE,
  choice: InputChoice = {},
  encoder: Encoder = EVENTS,
) {
  return await withRecordings(path, model, encoder, choice, async (file) => ({
    count: file.count,
    steps: file.steps,
    values: await file.read(0),
  }));
}

const refusal = (...args: Parameters<typeof read>): Promise<string> =>
  read(...args).then(() => "it was taken", (error: Error) => error.message);

describe("what NumPy saved is read as NumPy would", () => {
  const cases = [
    ["events.npy", "polar", POLAR, BINS],
    ["events.npy", "both", BOTH, BINS],
    ["events_aligned.npy", "polar", POLAR, BINS],
    ["events_line.npy", "line", LINE, BINS],
    ["events.npz", "polar", POLAR, BINS],
    ["events.npz", "both", sampleOf([1, 6, 8]), BINS],
    ["events_array.npz", "polar", POLAR, BINS],
    ["events.csv", "polar", POLAR, BINS],
    ["events.txt", "both", BOTH, BINS],
    ["table.csv", "table", FIVE, {}],
    ["named.csv", "table", FIVE, {}],
    ["one.npz", "table", FIVE, {}],
    ["several.npz", "table", FIVE, { array: "spikes" }],
  ] as const;

  test.each(cases)("%s as %s", async (name, key, model, choice) => {
    const found = await read(fixture(name), model, choice);
    const { shape, values } = expected.get(`${key}.npy`)!;
    expect([found.count, found.steps]).toEqual([1, shape[0]!]);
    expect(found.values).toEqual(values);
  });

  test("a table is time first, also where the run's arrays are not; its rows may be samples", async () => {
    const { values } = expected.get("table.npy")!;
    const turned = { kind: "events", timeAxis: 1 } as const;
    expect((await read(fixture("table.csv"), FIVE, {}, turned)).values).toEqual(values);
    const samples = await read(fixture("table.csv"), FIVE, {}, { kind: "direct", steps: 2 });
    expect([samples.count, samples.steps]).toEqual([9, 2]);
  });
});

describe("what is wrong is said with file, place and remedy", () => {
  const bad = async (
    name: string,
    text: string | Uint8Array,
    ...rest: [
      model?: typeof FIVE,
      choice?: InputChoice,
    ]
  ) => {
    using folder = scratchFolder();
    const path = folder.path(name);
    writeFileSync(path, text);
    return (await refusal(path, ...rest)).replace(path, name);
  };

  test("tables", async () => {
    expect(await bad("a.csv", "1,2,3,4,5\n1,2,3\n")).toBe(
      "a.csv, line 2: 3 columns where 5 belong, as in the first line",
    );
    expect(await bad("a.csv", "a,b,c,d,e\n1,2,3,4,5\n\n1,2,x,4,5\n")).toBe(
      'a.csv, line 4: "x" in column 3 is no number',
    );
    expect(await bad("a.csv", "1,2,,4,5\n")).toBe('a.csv, line 1: "" in column 3 is no number');
    expect(await bad("a.csv", "1,2,nan,4,5\n")).toMatch(/line 1: "nan" in column 3 is no number/);
    expect(await bad("a.csv", "\n# nothing\n")).toBe("a.csv is empty");
    expect(await bad("a.csv", "hello\n"))
      .toBe("a.csv holds one line of names (hello) and no row of numbers");
    expect(await bad("a.csv", "1,2,3,4,5,6\n")).toMatch(
      /a\.csv has shape \[1, 6\]; the model takes/,
    );
    expect(await bad("a.csv", "1,2,3,4\n")).toMatch(
      /4 columns, .* if these are events .* --bin-us/,
    );
    expect(await bad("a.txt", Uint8Array.of(37, 0, 1, 2))).toMatch(/holds bytes, not text/);
    expect(await bad("a.csv", "1e50,2,3,4,5\n")).toMatch(/holds Infinity in step 0, at index 0/);
  });

  test("events", async () => {
    const csv = (rows: string, model = POLAR, choice = BINS) =>
      bad("e.csv", `t,x,y,p\n${rows}`, model, choice);
    expect(await csv("5,1,1,1\n6,8,1,1\n")).toBe(
      "e.csv, line 3: x is 8; the model's samples have x from 0 to 7",
    );
    expect(await csv("5,1,6,1\n")).toMatch(/line 2: y is 6; .* from 0 to 5/);
    expect(await csv("5,1,1,2\n")).toMatch(/line 2: p is 2; a polarity is 0 or 1, or -1 or 1/);
    expect(await csv("5,1.5,1,1\n")).toMatch(/line 2: x is 1\.5/);
    expect(await csv("0.003811,1,1,1\n")).toMatch(/line 2: t is 0\.003811; .* multiply seconds by/);
    expect(await csv("0,1,1,1\n9000000000000000,1,1,1\n")).toMatch(/too many to hold; .* --bin-us/);
    expect(await csv("5,1,1,1\n", LINE)).toMatch(/\[8\]; events with y need \[H, W\]/);
    expect(await csv("5,1,1,1\n", sampleOf([3, 6, 8]))).toMatch(/\[3, 6, 8\]; events make/);
    expect(await csv("5,1,1,1\n", POLAR, {})).toMatch(/if these are events .* give --bin-us/);
    expect(await bad("e.csv", "a,b\n1,2\n", POLAR, BINS)).toMatch(
      /has the columns a, b; events have/,
    );
    expect(await bad("e.csv", "t,x,y\n1,2,3\n", POLAR, BINS)).toMatch(/events have no polarity p/);
    expect(await refusal(fixture("events.npy"), POLAR)).toMatch(/holds events: .* --bin-us/);
    expect(await refusal(fixture("events_line.npy"), BOTH, BINS)).toMatch(/its events have no y/);
    expect(await refusal(fixture("events.npy"), POLAR, BINS, { kind: "direct", steps: 3 })).toMatch(
      /the run's encoder direct takes samples without time; --encoded/,
    );
    expect(await refusal(recording(7), sampleOf([64]), BINS)).toMatch(/--bin-us is for events/);
    expect(await refusal(fixture("table.csv"), FIVE, { array: "a" })).toMatch(/--array is for an/);
  });

  test("archives", async () => {
    const whole = new Uint8Array(readFileSync(fixture("one.npz")));
    expect(await refusal(fixture("several.npz"))).toMatch(/holds target, spikes: choose one with/);
    expect(await refusal(fixture("several.npz"), FIVE, { array: "no" })).toMatch(
      /there is no "no"/,
    );
    expect(await bad("a.npz", whole.subarray(0, 200))).toMatch(/a\.npz: The archive is cut off/);
    const flipped = whole.slice();
    flipped[100]! ^= 0xff;
    expect(await bad("a.npz", flipped)).toMatch(/a\.npz: "recording\.npy" is damaged/);
    const uneven = { t: [3], x: [2] };
    const arrays = Object.fromEntries(
      Object.entries(uneven).map((
        [name, shape],
      ) => [name, { values: new Float32Array(shape[0]!), shape }]),
    );
    expect(await bad("a.npz", writeNpz(arrays), LINE, BINS)).toMatch(/t has 3 events, x 2/);
    expect(await bad("a.npz", writeNpz({}))).toMatch(/an archive without arrays/);
  });

  test("any changed byte of an archive gives an answer or a refusal, never anything else", async () => {
    const whole = new Uint8Array(readFileSync(fixture("events.npz")));
    using folder = scratchFolder();
    const path = folder.path("a.npz");
    for (let at = 0; at < whole.length; at += 7) {
      const changed = whole.slice();
      changed[at]! ^= 0x55;
      writeFileSync(path, changed);
      const said = await refusal(path, POLAR, BINS);
      expect(said).toMatch(/it was taken|a\.npz/);
    }
  });
});

test("as a command: an archive, a table and an array give the same outputs", async () => {
  using folder = scratchFolder();
  const { values, shape } = parseNpy(readFileSync(recording(7)));
  const [npz, csv] = [folder.path("seven.npz"), folder.path("seven.csv")];
  writeFileSync(npz, writeNpz({ input: { values, shape }, other: { values, shape } }));
  const rows = Array.from({ length: shape[0]! }, (_, t) => values.subarray(64 * t, 64 * t + 64));
  writeFileSync(csv, rows.map((row) => row.join(",")).join("\r\n"));
  const run = async (path: string) =>
    (await ganglion("deno", ["infer", DIGITS, path, "--device", "cpu"])).stdout;
  const wanted = await run(recording(7));
  expect(parseNpy(wanted).shape).toEqual([25, 10]);
  expect(await run(npz)).toEqual(wanted);
  expect(await run(csv)).toEqual(wanted);
  const events = await ganglion("bun", [
    ...["infer", DIGITS, fixture("events_line.npy"), "--bin-us", "1000", "--device", "cpu"],
  ]);
  expect([events.code, parseNpy(events.stdout).shape]).toEqual([0, [20, 10]]);
  expect(events.stderr).toContain("400 events in 20 steps of 1000 us");
}, 60_000);
