/** `inspect`, `doctor`, and the answers that every command has. */
import { describe, expect, test } from "bun:test";
import { COMMANDS } from "../../src/cli/commands.ts";
import { commandHelp, mainHelp } from "../../src/cli/help.ts";
import type { PlanSummary } from "../../src/mod.ts";
import pkg from "../../package.json";
import { DIGITS, ganglion, recording, RUNTIMES } from "./command_line.ts";

describe("help and version", () => {
  test("on both runtimes, on stdout, with exit code 0", async () => {
    for (const runtime of RUNTIMES) {
      const version = await ganglion(runtime, ["--version"]);
      expect([version.code, version.text]).toEqual([0, `ganglion ${pkg.version}\n`]);
      const help = await ganglion(runtime, ["serve", "--help"]);
      expect([help.code, help.stderr]).toEqual([0, ""]);
      expect(help.text).toBe(commandHelp("serve", COMMANDS.serve!));
    }
  });

  test("every command that is built explains itself, and no line is too long", () => {
    for (const [name, command] of Object.entries(COMMANDS)) {
      if (name.startsWith("_")) continue;
      const text = commandHelp(name, command);
      expect(text).toContain(`Usage: ganglion ${name}`);
      const long = text.split("\n").filter((line) => line.length > 100);
      expect(long.filter((line) => !line.startsWith("  ganglion "))).toEqual([]);
      expect(mainHelp()).toContain(`  ${name} `);
    }
    expect(mainHelp()).not.toContain("_examine");
  });

  test("flags are shown with the command's own defaults", () => {
    const shown = (name: string, flag: string) =>
      commandHelp(name, COMMANDS[name]!).match(new RegExp(`--${flag} \\w+ [^[]*\\[([^\\]]+)\\]`))
        ?.[1];
    expect(["infer", "bench", "serve"].map((name) => shown(name, "slots")))
      .toEqual(["64", "64", "8"]);
    expect([shown("calibrate", "seconds"), shown("load", "seconds")]).toEqual(["20", "10"]);
  });

  test("--print-config shows what holds and hides secrets", async () => {
    const args = ["serve", "a.nir", "--slots", "4", "--print-config"];
    const variables = { GANGLION_API_KEY: "hush", GANGLION_FRAME: "3", GANGLION_FRAMES: "3" };
    const { code, text, stderr } = await ganglion("bun", args, variables);
    const { command, arguments: words, settings, limits } = JSON.parse(text);
    expect([code, command, words]).toEqual([0, "serve", ["a.nir"]]);
    expect(settings.slots).toEqual({ value: 4, source: "flag" });
    expect(settings.frame).toEqual({ value: 3, source: "environment" });
    expect(settings["api-key"]).toEqual({ value: "1 hidden", source: "environment" });
    expect(limits).toMatchObject({ slots: 4, frame: 3, ttlSeconds: 300 });
    expect(text).not.toContain("hush");
    expect(stderr).toBe("warning: GANGLION_FRAMES sets nothing; did you mean GANGLION_FRAME?\n");
  });
});

describe("inspect", () => {
  test("prints the same on both runtimes", async () => {
    const [deno, bun] = await Promise.all(
      RUNTIMES.map((runtime) => ganglion(runtime, ["inspect", DIGITS])),
    );
    expect([deno!.code, deno!.stderr]).toEqual([0, ""]);
    expect(deno!.text).toBe(bun!.text);
    expect(deno!.text).toContain("hidden.v");
  });

  test("--json, and the reading flags arrive", async () => {
    const args = ["inspect", DIGITS, "--json", "--dt", "2e-4", "--discretization", "exact"];
    const flags = ["--compare", "ge", "--reset", "subtract", "--if-gain", "r", "--flatten-batch"];
    const { code, text } = await ganglion("bun", [...args, ...flags, "--cuba-order", "old"]);
    const summary = JSON.parse(text) as PlanSummary;
    expect(code).toBe(0);
    expect(summary).toMatchObject({ dt: 2e-4, dtSource: "flag", discretization: "exact" });
    expect(summary.options).toEqual({
      compare: "ge",
      reset: "subtract",
      ifGain: "r",
      cubaOrder: "old",
      flattenBatch: true,
      dialect: "none",
      gain: "file",
      form: "decay",
      spikes: "one",
      late: "none",
      synapse: "after",
      rest: "zero",
      clamp: false,
    });
  });
});

describe("doctor", () => {
  test("finds the drivers of both runtimes, and that they compute the model exactly", async () => {
    const { code, text } = await ganglion("bun", ["doctor", "--json"]);
    const { runtimes } = JSON.parse(text);
    expect(code).toBe(0);
    for (const [i, name] of RUNTIMES.entries()) {
      expect(runtimes[i]).toMatchObject({
        runtime: name,
        problem: null,
        device: { name: expect.any(String), loopTurns: expect.any(Number) },
        model: { name: "digits", numerics: "exact-1" },
      });
    }
  });

  test("without a driver it names the command that adds one", async () => {
    const { code, text } = await ganglion("deno", ["doctor"], {
      VK_ICD_FILENAMES: "/nowhere.json",
    });
    expect(code).toBe(0);
    expect(text).toContain("null adapter");
    expect(text).toMatch(/Missing:\n {2}a Vulkan driver that deno takes\n {2}.*bun takes\n/);
  });
});

test("without a driver the CPU computes and says so; --device webgpu refuses", async () => {
  const variables = { VK_ICD_FILENAMES: "/nowhere.json" };
  const args = ["infer", DIGITS, recording(4)];
  const wanted = await ganglion("bun", [...args, "--device", "cpu"]);
  for (const runtime of RUNTIMES) {
    const [chosen, forced] = await Promise.all([
      ganglion(runtime, args, variables),
      ganglion(runtime, [...args, "--device", "webgpu"], variables),
    ]);
    expect([chosen.code, forced.code, forced.text]).toEqual([0, 1, ""]);
    expect(Buffer.compare(chosen.stdout, wanted.stdout)).toBe(0);
    expect(chosen.stderr).toMatch(/digits runs on the CPU executor: .*adapter/);
    expect(forced.stderr).toMatch(/WebGPU .* adapter[^]*Run ganglion doctor/);
  }
});
