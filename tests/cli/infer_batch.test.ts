/** `ganglion infer` on run folders and batches: the digits test set, encoders, archives, what is wrong. */
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { parseNpy, writeNpy } from "../../src/base/npy.ts";
import { loadModel, loadRun } from "../../src/load_model.ts";
import { compilePlan, graphOf, writeNirBytes } from "../../src/model/mod.ts";
import { encodeSample } from "../../src/run/mod.ts";
import {
  accuracy,
  labels,
  onePassOutputs,
  predictions,
  recordings,
  scores,
  STEPS,
} from "../support/digits.ts";
import { DIGITS, ganglion, recording, RUNTIMES, scratchFolder } from "./command_line.ts";

const EXAMPLE = join(ROOT, "examples/digits");
const LABELS = join(EXAMPLE, "test_labels.npy");
const folder = scratchFolder();
const testSet = folder.path("test_set.npy");

function joined(parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.length * parts[0]!.length);
  parts.forEach((part, i) => whole.set(part, i * part.length));
  return whole;
}

beforeAll(() => {
  const all = recordings();
  writeFileSync(testSet, writeNpy(joined(all), [all.length, STEPS, 64]));
  return () => folder[Symbol.dispose]();
});

describe("the digits test set", () => {
  test("as many right as the framework says, and its scores, on both runtimes", async () => {
    const { n, correct } = accuracy();
    for (const [i, runtime] of RUNTIMES.entries()) {
      const out = folder.path(`all-${i}.npz`);
      const args = ["infer", EXAMPLE, testSet, "--labels", LABELS, "--json", "-o", out];
      const device = ["webgpu", "cpu"][i]!;
      const { code, text, stderr } = await ganglion(runtime, [...args, "--device", device]);
      expect([code, stderr]).toEqual([0, expect.stringContaining("450 recordings of 25 steps on")]);
      const report = JSON.parse(text);
      expect(report).toMatchObject({ recordings: n, correct, accuracy: correct / n });
      expect(report.wrong).toHaveLength(n - correct);
      const given = report.predictions as { class: number; label: string; scores: number[] }[];
      expect(given.map((each) => each.class)).toEqual([...predictions()]);
      expect(given.every((each) => each.label === String(each.class))).toBe(true);
      expect(given.flatMap((each) => each.scores)).toEqual([...scores()]);
      const archive = readFileSync(out);
      expect(archive.includes(writeNpy(scores(), [450, 10]))).toBe(true);
      expect(archive.includes(writeNpy(predictions(), [450]))).toBe(true);
      const layers = report.layers as { name: string; spikes: number }[];
      expect(layers.map(({ name }) => name)).toEqual(["hidden", "readout"]);
      expect(layers[1]!.spikes).toBe(scores().reduce((sum, each) => sum + each, 0));
    }
  });

  test("outputs are each recording's own, byte for byte, and the report is text", async () => {
    const out = folder.path("outputs.npy");
    const args = ["infer", DIGITS, testSet, "--labels", LABELS, "-o", out, "--slots", "7"];
    const { code, text } = await ganglion("bun", [...args, "--device", "cpu", "--frame", "4"]);
    expect(code).toBe(0);
    expect(text).toMatch(
      /^recordings {2}450 of 25 steps\nreadout +sum\naccuracy +446 of 450 right, 99\.11 %\n/,
    );
    expect(text).toMatch(/\nwrong +15 \(class 9, taken for class 8\), /);
    expect(text).toMatch(/\nhidden +128 +\d+ +0\.\d+ +\d+ +\d+\n/);
    const wanted = writeNpy(joined(await onePassOutputs()), [450, 25, 10]);
    expect(Buffer.compare(readFileSync(out), wanted)).toBe(0);
    expect(readdirSync(folder.path(".")).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  test("without labels: the array on stdout, the predictions said", async () => {
    const { code, stdout, stderr } = await ganglion("deno", ["infer", EXAMPLE, recording(7)]);
    expect([code, parseNpy(stdout).shape]).toEqual([0, [25, 10]]);
    expect(stderr).toContain("prediction  7 (sum 11)");
    expect(labels()[0]).toBeNumber();
  });
});

describe("encoders", () => {
  const graph = graphOf({
    nodes: {
      in: { type: "Input", shape: [1, 2, 3] },
      lif: { type: "LIF", tau: 1e-3, r: 12, v_leak: 0, v_threshold: 1 },
    },
    edges: [["in", "lif"]],
  });
  const images = Uint8Array.from({ length: 24 }, (_, i) => i * 11);

  async function run(name: string, encoder: object): Promise<string> {
    const path = folder.path(name);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "model.nir"), await writeNirBytes(graph));
    writeFileSync(join(path, "run.json"), JSON.stringify({ encoder, dt: 1e-4, readout: "mean" }));
    return path;
  }

  /** A u1 array, which `writeNpy` does not write. */
  function bytesNpy(values: Uint8Array, shape: readonly number[]): Uint8Array {
    const head = "{'descr': '|u1', 'fortran_order': False, 'shape': " +
      `(${shape.join(", ")},), }`;
    const text = `${head.padEnd(117)}\n`;
    return Uint8Array.from([
      ...[0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, text.length, 0],
      ...new TextEncoder().encode(text),
      ...values,
    ]);
  }

  test("images of bytes are scaled, encoded and run; as floats and encoded they give the same", async () => {
    const encoder = { kind: "rate", steps: 30, seed: 5 } as const;
    const net = await run("rate", encoder);
    const plan = compilePlan(graph, { dt: 1e-4 });
    const scaled = Float32Array.from(images, (byte) => byte / 255);
    const encoded = [0, 1, 2, 3].map((i) =>
      encodeSample(encoder, scaled.subarray(i * 6, i * 6 + 6), i)
    );
    writeFileSync(folder.path("images.npy"), bytesNpy(images, [4, 2, 3]));
    writeFileSync(folder.path("floats.npy"), writeNpy(scaled, [4, 1, 2, 3]));
    writeFileSync(folder.path("encoded.npy"), writeNpy(joined(encoded), [4, 30, 6]));
    const results = [];
    for (const [file, ...flags] of [["images"], ["floats"], ["encoded", "--encoded"]]) {
      const args = ["infer", net, folder.path(`${file}.npy`), "--device", "cpu", ...flags];
      const { code, stdout, stderr } = await ganglion("bun", args);
      expect([code, stderr]).toEqual([0, expect.stringMatching(/predictions class \d, /)]);
      results.push(parseNpy(stdout));
    }
    expect(results[0]!.shape).toEqual([4, 30, 1, 2, 3]);
    expect(results[0]!.values.some((value) => value > 0)).toBe(true);
    expect(results[1]).toEqual(results[0]!);
    expect(results[2]).toEqual(results[0]!);
    expect((await loadModel(net)).digest).toBe(plan.digest);
  });

  test("time on another axis, changes as events", async () => {
    const net = await run("delta", { kind: "delta", threshold: 0.5, timeAxis: 3 });
    const file = folder.path("video.npy");
    writeFileSync(file, writeNpy(Float32Array.from(images).subarray(0, 24), [1, 2, 3, 4]));
    const { code, stdout } = await ganglion("bun", ["infer", net, file, "--device", "cpu"]);
    expect([code, parseNpy(stdout).shape]).toEqual([0, [4, 1, 2, 3]]);
    expect((await loadRun(net)).run?.encoder).toMatchObject({ kind: "delta", timeAxis: 3 });
  });

  test("what does not fit is said", async () => {
    const net = await run("direct", { kind: "direct", steps: 3 });
    const cases: [string, Uint8Array, string[], RegExp][] = [
      [
        "a.npy",
        writeNpy(new Float32Array(10), [2, 5]),
        [],
        /shape \[2, 5\]; the model takes \[1, 2, 3\] or \[6\] with the encoder direct/,
      ],
      [
        "b.npy",
        writeNpy(new Float32Array(12).fill(NaN, 7, 8), [2, 6]),
        [],
        /NaN in recording 1, at index 1/,
      ],
      [
        "c.npy",
        writeNpy(new Float32Array(12), [2, 6]),
        ["--labels", LABELS],
        /test_labels\.npy has shape \[450\]; there are 2 recordings/,
      ],
    ];
    for (const [name, bytes, flags, said] of cases) {
      writeFileSync(folder.path(name), bytes);
      const args = ["infer", net, folder.path(name), "--device", "cpu", ...flags];
      const { code, stderr, text } = await ganglion("bun", args);
      expect([code, text]).toEqual([1, ""]);
      expect(stderr).toMatch(said);
    }
    const odd = folder.path("odd.npy");
    writeFileSync(odd, writeNpy(Float32Array.of(0, 6), [2]));
    const args = ["infer", net, folder.path("c.npy"), "--labels", odd];
    const { code, stderr } = await ganglion("bun", args);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/odd\.npy holds 6 at index 1; classes are .* 0 to 5/),
    ]);
  });
});
