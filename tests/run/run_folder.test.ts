/** Run folders on disk: what they set, what beats them, and what is said of a wrong one. */
import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { writeSafetensors } from "../../src/base/safetensors.ts";
import { loadModel, loadRun, modelName } from "../../src/load_model.ts";
import { makeLimits } from "../../src/mod.ts";
import { READOUTS } from "../../src/run/mod.ts";
import { createServer } from "../../src/serve.ts";
import { DIGITS, scratchFolder } from "../cli/command_line.ts";

const EXAMPLE = join(ROOT, "examples/digits");

/** A run folder of the digits model. */
function folderOf(scratch: { path(name: string): string }, run: object | string): string {
  const folder = scratch.path("net");
  mkdirSync(folder, { recursive: true });
  copyFileSync(DIGITS, join(folder, "model.nir"));
  writeFileSync(join(folder, "run.json"), typeof run === "string" ? run : JSON.stringify(run));
  return folder;
}

test("the example is a run folder and computes what its model file does", async () => {
  const { plan, run } = await loadRun(EXAMPLE);
  expect(plan.digest).toBe((await loadModel(DIGITS)).digest);
  expect(plan.name).toBe("digits");
  expect(run).toMatchObject({ readout: "sum", frame: 10, encoder: { kind: "events" } });
});

test("a folder's name is the model's", () => {
  expect(["runs/net", "runs/net/", "net.nir", "a\\b.h5", ".", "./"].map(modelName))
    .toEqual(["net", "net", "net", "b", "model", "model"]);
});

test("dt, options, call parameters and variables of the folder hold; what the caller says wins", async () => {
  using scratch = scratchFolder();
  const threshold = { shape: [10], data: new Float32Array(10).fill(0.5) };
  const folder = folderOf(scratch, {
    variables: "best.safetensors",
    dt: 2e-4,
    options: { reset: "subtract", discretization: "exact" },
    call: { "hidden.v_threshold": 0.25 },
  });
  writeFileSync(
    join(folder, "best.safetensors"),
    writeSafetensors({ tensors: new Map([["readout.v_threshold", threshold]]), metadata: {} }),
  );
  const plan = await loadModel(folder);
  const same = await loadModel(DIGITS, {
    dt: 2e-4,
    reset: "subtract",
    discretization: "exact",
    variables: { readout: { v_threshold: threshold } },
    call: { "hidden.v_threshold": 0.25 },
  });
  expect(plan.digest).toBe(same.digest);
  const other = { dt: 1e-4, reset: "zero" } as const;
  const won = await loadModel(folder, { ...other, call: { "hidden.v_threshold": 0.5 } });
  expect(won).toMatchObject({ dt: 1e-4, options: { reset: "zero" }, discretization: "exact" });
  expect(won.digest).not.toBe((await loadModel(folder, other)).digest);
});

test("a server takes the folder's frame, unless it is told another", async () => {
  using scratch = scratchFolder();
  const folder = folderOf(scratch, { frame: 3 });
  const options = { models: [folder], device: "cpu", limits: makeLimits(), version: "0" } as const;
  for (const [frame, wanted] of [[undefined, 3], [7, 7]] as const) {
    const server = await createServer({ ...options, ...(frame === undefined ? {} : { frame }) });
    expect(server.models.map(({ id, executor }) => [id, executor.frame]))
      .toEqual([["net", wanted]]);
    await server.close();
  }
});

test("a served run says what it sees", async () => {
  const options = { models: [EXAMPLE], device: "cpu", limits: makeLimits(), version: "0" } as const;
  const server = await createServer(options);
  const post = (path: string, type: string, body: BodyInit) =>
    server.fetch(
      new Request(`http://localhost/v1/sessions${path}`, {
        method: "POST",
        headers: { "content-type": type },
        body,
      }),
    );
  const opened = await post("", "application/json", '{"readout":true}');
  const { id } = await opened.json() as { id: string };
  const seven = readFileSync(join(EXAMPLE, "recordings/7.npy"));
  const answer = await post(`/${id}/chunks?wait=true`, "application/x-npy", seven);
  const { prediction } = await answer.json() as { prediction: unknown };
  expect(prediction).toEqual({ class: 7, label: "7", score: 11 });
  await server.close();
});

test("the program of docs/runs.md runs", async () => {
  const page = readFileSync(join(ROOT, "docs/runs.md"), "utf8");
  const program = page.match(/```ts\n([^]*?)```/)![1]!.replace("../src/", "./src/");
  const file = join(ROOT, ".runs_example.ts");
  writeFileSync(file, program);
  try {
    const child = Bun.spawn([process.execPath, file], { cwd: ROOT, stdout: "pipe" });
    const text = await new Response(child.stdout).text();
    expect([await child.exited, text.trim().split("\n").map((line) => line.split(" ")[0])])
      .toEqual([0, ["5", "10", "15", "20", "25"]]);
  } finally {
    rmSync(file);
  }
});

test("docs/runs.md names every field, encoder and readout", () => {
  const page = readFileSync(join(ROOT, "docs/runs.md"), "utf8");
  const names = ["version", "model", "variables", "encoder", "readout", "labels", "dt", "frame"];
  const kinds = ["events", "delta", "direct", "latency", "rate"];
  for (const name of [...names, "call", "options", ...kinds, ...READOUTS]) {
    expect(page).toContain(`| \`${name}\` `);
  }
});

describe("a wrong folder", () => {
  const cases: readonly (readonly [what: string, run: object | string, said: RegExp])[] = [
    ["no JSON", "{", /net\/run\.json is not JSON/],
    ["a field", { frames: 3 }, /net\/run\.json: "frames" is no field .* mean "frame"\?/],
    ["no model", { model: "other.nir" }, /net\/other\.nir does not exist/],
    ["no variables", { variables: "a.safetensors" }, /net\/a\.safetensors does not exist/],
    ["labels", { labels: ["a", "b"] }, /"labels" has 2 names, the model has 10 outputs/],
    ["an axis", { encoder: { kind: "events", timeAxis: 2 } }, /"encoder\.timeAxis" is 2/],
    ["a call", { call: { "hidden.colour": 1 } }, /"hidden\.colour".*no such field/],
    ["an option", { options: { reset: "half" } }, /reset must be one of .* got half/],
  ];
  test.each(cases.map((each) => each))("%s", async (_, run, said) => {
    using scratch = scratchFolder();
    await expect(loadRun(folderOf(scratch, run))).rejects.toThrow(said);
  });

  test("without run.json, and with variables that fit nothing", async () => {
    using scratch = scratchFolder();
    mkdirSync(scratch.path("bare"));
    await expect(loadRun(scratch.path("bare"))).rejects.toThrow(
      /bare is a folder without run\.json/,
    );
    const folder = folderOf(scratch, { variables: "v.safetensors" });
    const put = (bytes: Uint8Array) => writeFileSync(join(folder, "v.safetensors"), bytes);
    put(new Uint8Array(9));
    await expect(loadRun(folder)).rejects.toThrow(/v\.safetensors: This is not safetensors/);
    const tensor = { shape: [], data: Float32Array.of(1) };
    put(writeSafetensors({ tensors: new Map([["nodot", tensor]]), metadata: {} }));
    await expect(loadRun(folder)).rejects.toThrow(/tensor "nodot" must be named "node\.field"/);
    put(writeSafetensors({ tensors: new Map([["fc9.weight", tensor]]), metadata: {} }));
    await expect(loadRun(folder)).rejects.toThrow(/no node "fc9" to set variables of/);
  });
});
