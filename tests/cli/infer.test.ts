/** `ganglion infer` as a process: the same bytes whatever the frame, device and runtime. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { parseNpy, writeNpy } from "../../src/base/npy.ts";
import { loadModel } from "../../src/load_model.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { DIGITS, ganglion, recording, RUNTIMES, scratchFolder } from "./command_line.ts";

const FRAMES = [1, 7, 10, 256];
const input = parseNpy(readFileSync(recording(7)));
const steps = input.shape[0]!;
let wanted: Uint8Array;
let hidden: Float32Array;

beforeAll(async () => {
  const plan = await loadModel(DIGITS);
  const reference = new ReferenceExecutor(plan, { slots: 1, frame: steps });
  const row = { slot: 0, steps, fresh: true, input: input.values, record: ["hidden.v"] };
  const [result] = await reference.step([row]);
  wanted = writeNpy(result!.output, [steps, 10]);
  hidden = result!.probes["hidden.v"]!;
});

describe("the result is the reference's single pass, byte for byte", () => {
  for (const [i, device] of ["webgpu", "cpu"].entries()) {
    for (const [j, frame] of FRAMES.entries()) {
      const runtime = RUNTIMES[(i + j) % 2]!;
      test(`--frame ${frame} --device ${device} on ${runtime}`, async () => {
        const args = ["infer", DIGITS, recording(7), "--frame", `${frame}`, "--device", device];
        const { code, stdout, stderr } = await ganglion(runtime, args);
        expect([code, stderr]).toEqual([0, expect.stringContaining("25 steps on")]);
        expect(Buffer.compare(stdout, wanted)).toBe(0);
      });
    }
  }
});

describe("files", () => {
  test("-o, --record: the archive holds the outputs and the recorded values", async () => {
    using folder = scratchFolder();
    const out = folder.path("inside.npz");
    const args = ["infer", DIGITS, recording(7), "--device", "cpu", "--record", "hidden.v"];
    const { code, text } = await ganglion("deno", [...args, "-o", out]);
    expect([code, text]).toEqual([0, ""]);
    const archive = readFileSync(out);
    // Stored without compression, so that the arrays stand in it as they are.
    const recorded = writeNpy(hidden, [steps, 128]);
    expect(archive.includes("hidden.v.npy") && archive.includes(recorded)).toBe(true);
    expect(archive.includes("output.npy") && archive.includes(wanted)).toBe(true);
  });

  test("an output that is an input is refused before anything is read", async () => {
    const { code, stderr } = await ganglion("deno", [
      "infer",
      DIGITS,
      "same.npy",
      "-o",
      "./same.npy",
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain("would overwrite what is read");
  });

  test("one value a step, no step at all, and integers are taken", async () => {
    using folder = scratchFolder();
    const file = folder.path("none.npy");
    writeFileSync(file, writeNpy(new Float32Array(0), [0, 64]));
    const { code, stdout } = await ganglion("bun", ["infer", DIGITS, file, "--device", "cpu"]);
    expect([code, parseNpy(stdout).shape]).toEqual([0, [0, 10]]);
  });
});

describe("what is wrong is said, with the exit code", () => {
  const junk = {
    "text.nir": new TextEncoder().encode("this is no model\n"),
    "empty.nir": new Uint8Array(0),
    "cut.nir": readFileSync(DIGITS).subarray(0, 30_000),
    "cut.npy": readFileSync(recording(7)).subarray(0, 500),
    "text.npy": new TextEncoder().encode("1,0,1\n"),
    "narrow.npy": writeNpy(new Float32Array(63), [1, 63]),
    "flat.npy": writeNpy(new Float32Array(64), [64]),
    "nan.npy": writeNpy(new Float32Array(128).fill(NaN, 70, 71), [2, 64]),
  };
  const cases: readonly (readonly [args: string[], code: number, said: RegExp])[] = [
    [["infer"], 2, /MODEL and INPUT must be given/],
    [["infer", DIGITS], 2, /INPUT must be given/],
    [["infer", DIGITS, recording(1), "more"], 2, /one argument too many: more/],
    [["infer", DIGITS, recording(1), "--frame", "0"], 2, /whole number from 1 to 256/],
    [["infer", DIGITS, recording(1), "--record", "a.v"], 2, /no value "a\.v"; it has: .*hidden\.v/],
    [["infer", DIGITS, recording(1), "--record", "hidden.v", "-o", "x.npy"], 2, /name it \.npz/],
    [["infer", DIGITS, recording(1), "-o", "x.npz"], 2, /name it \.npy/],
    [["infer", DIGITS, recording(1), "--cut", "hidden"], 2, /two node names as A:B/],
    [["infer", DIGITS, recording(1), "--dialect", "nest"], 2, /takes snntorch, norse, .*"nest"/],
    [["infer", DIGITS, "absent.npy"], 1, /absent\.npy does not exist/],
    [["infer", DIGITS, "cut.npy"], 1, /cut\.npy: Shape \[25, 64\] .* does not fit/],
    [["infer", DIGITS, "text.npy"], 1, /text\.npy: This is not an \.npy array/],
    [["infer", DIGITS, "narrow.npy"], 1, /has shape \[1, 63\]; the model takes \[T, 64\]/],
    [["infer", DIGITS, "flat.npy"], 1, /has shape \[64\]/],
    [["infer", DIGITS, "nan.npy"], 1, /NaN in step 1, at index 6/],
    [["infer", "text.nir", recording(1)], 1, /text\.nir: The file does not begin as HDF5/],
    [["infer", "empty.nir", recording(1)], 1, /empty\.nir: The file does not begin as HDF5/],
    [["infer", "cut.nir", recording(1)], 1, /cut\.nir: /],
    [["infer", "absent.nir", recording(1)], 1, /absent\.nir does not exist/],
    [["infer", DIGITS, recording(1), "--dt", "1"], 1, /Node "hidden": tau/],
    [
      ["infer", DIGITS, recording(1), "--device", "cpu", "-o", "/nowhere/x.npy"],
      2,
      /x\.npy cannot be written: the folder \/nowhere does not exist/,
    ],
  ];

  test("on both runtimes in turn", async () => {
    using folder = scratchFolder();
    for (const [name, bytes] of Object.entries(junk)) writeFileSync(folder.path(name), bytes);
    const place = (word: string) => word in junk ? folder.path(word) : word;
    const results = await inPairs(cases, async ([args, code, said], i) => {
      const ended = await ganglion(RUNTIMES[i % 2]!, args.map(place));
      const right = ended.code === code && said.test(ended.stderr) && ended.text === "" &&
        !ended.stderr.includes("fault of Ganglion");
      return right ? null : { args, code: ended.code, stderr: ended.stderr };
    });
    expect(results.filter((result) => result !== null)).toEqual([]);
  });
});

/** Two processes at a time. */
async function inPairs<T, R>(list: readonly T[], run: (item: T, i: number) => Promise<R>) {
  const results: R[] = [];
  for (let i = 0; i < list.length; i += 2) {
    const pair = list.slice(i, i + 2).map((item, k) => run(item, i + k));
    results.push(...await Promise.all(pair));
  }
  return results;
}
