/** `ganglion convert`: NIR, safetensors and run folders that compute the same bits, on both runtimes. */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { parseSafetensors } from "../../src/base/safetensors.ts";
import { loadModel, loadRun, loadSource } from "../../src/load_model.ts";
import { DIGITS, ganglion, scratchFolder } from "./command_line.ts";

const EXAMPLE = join(ROOT, "examples/digits");
const digest = (await loadModel(DIGITS)).digest;

test("a NIR file, and what it cannot say is said", async () => {
  using folder = scratchFolder();
  const out = folder.path("again.nir");
  const { code, text, stderr } = await ganglion("deno", ["convert", EXAMPLE, out]);
  expect([code, text, stderr.trim().split("\n")]).toEqual([0, "", [
    expect.stringContaining("digest"),
  ]]);
  expect(await loadModel(out)).toMatchObject({ digest, dtSource: "metadata" });
  const again = ["convert", DIGITS, out, "--reset", "subtract"];
  const refused = await ganglion("bun", again);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining("again.nir is there already; --force overwrites it"),
  ]);
  const lossy = await ganglion("bun", [...again, "--force"]);
  expect(lossy.stderr).toContain('a NIR file cannot say reset "subtract"; a run folder keeps it');
});

test("safetensors hold every parameter, and stand in for them", async () => {
  using folder = scratchFolder();
  const out = folder.path("digits.safetensors");
  expect((await ganglion("bun", ["convert", DIGITS, out])).code).toBe(0);
  const { tensors } = parseSafetensors(readFileSync(out));
  const loaded = await loadSource(DIGITS);
  expect(loaded.kind).toBe("graph");
  for (const [name, { fields }] of loaded.kind === "graph" ? loaded.graph.nodes : []) {
    for (const [field, value] of fields) {
      expect(tensors.get(`${name}.${field}`)).toEqual(value as never);
    }
  }
  const run = folder.path("run");
  mkdirSync(run);
  writeFileSync(join(run, "model.nir"), readFileSync(DIGITS));
  writeFileSync(join(run, "best.safetensors"), readFileSync(out));
  writeFileSync(join(run, "run.json"), '{"variables":"best.safetensors"}');
  expect((await loadModel(run)).digest).toBe(digest);
});

test("a run folder keeps the reading and what flags say; made from one, it keeps what that says", async () => {
  using folder = scratchFolder();
  const [first, second] = [folder.path("first"), folder.path("a/second.v2/")];
  const flags = ["--reset", "subtract", "--discretization", "exact", "--dt", "2e-4"];
  const names = Array.from({ length: 10 }, (_, i) => `n${i}`);
  const run = ["--encoder", "latency:steps=25,threshold=0.1", "--readout", "max", "--frame", "25"];
  const made = await ganglion("deno", [
    ...["convert", DIGITS, first, ...flags, ...run, "--class-names", names.join(",")],
  ]);
  expect(made.code).toBe(0);
  const wanted = await loadModel(DIGITS, { reset: "subtract", discretization: "exact", dt: 2e-4 });
  const loaded = await loadRun(first);
  expect(loaded.plan.digest).toBe(wanted.digest);
  expect(loaded.run).toEqual({
    model: "model.nir",
    encoder: { kind: "latency", steps: 25, threshold: 0.1 },
    readout: "max",
    labels: names,
    dt: 2e-4,
    frame: 25,
    options: { discretization: "exact", reset: "subtract" },
  });
  const again = await ganglion("bun", ["convert", first, second, "--readout", "mean"]);
  expect(again.code).toBe(0);
  const { plan, run: record } = await loadRun(second);
  expect([plan.digest, record]).toEqual([wanted.digest, { ...loaded.run!, readout: "mean" }]);
});

test("what is wrong is said", async () => {
  using folder = scratchFolder();
  const cases: [string[], number, RegExp][] = [
    [["convert", DIGITS], 2, /OUT must be given/],
    [["convert", DIGITS, folder.path("x.onnx")], 2, /OUT is a \.nir file, .* not .*x\.onnx/],
    [["convert", DIGITS, folder.path("x"), "--encoder", "rate"], 1, /"encoder\.steps" must be/],
    [["convert", DIGITS, folder.path("x"), "--class-names", "a,b"], 1, /"labels" has 2 names/],
    [["convert", DIGITS, "/nowhere/x.nir"], 2, /written: the folder \/nowhere does not exist/],
  ];
  for (const [i, [args, code, said]] of cases.entries()) {
    const ended = await ganglion(i % 2 === 0 ? "bun" : "deno", args);
    expect([args, ended.code, ended.text]).toEqual([args, code, ""]);
    expect(ended.stderr).toMatch(said);
  }
});
