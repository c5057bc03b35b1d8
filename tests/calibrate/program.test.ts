/** The program of a Ganglion server: what it predicts where the answer can be worked out by hand. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { writeProgram } from "../../src/calibrate/mod.ts";
import { compile, Interpreter, reportOf } from "../../src/serq/mod.ts";

const TEMPLATE = readFileSync(
  new URL("../../examples/serq/stream_server.sq", import.meta.url),
  "utf8",
);

/** A step of 20 ms and 1 ms a row; a chunk costs nothing beside it. */
const STEPS = { step_base: 0.02, step_row: 0.001, own_least: 0, own_more: 0 };

function run(inputs: Readonly<Record<string, number>>, horizon = 100) {
  const program = compile(TEMPLATE, {
    horizon,
    warmup: 1,
    inputs: new Map(Object.entries({ ...STEPS, ...inputs })),
  });
  const interpreter = new Interpreter(program, { integrity: true });
  interpreter.run();
  const latencies = interpreter.machine.observations.find(({ name }) => name === "latency")!
    .values.values();
  return { report: reportOf(interpreter, [50]), latencies };
}

describe("predictions", () => {
  test("one session waits for its own step, and for what a chunk costs beside it", () => {
    const { latencies } = run({ sessions: 1, period: 0.1, own_least: 0.003 });
    expect(latencies.length).toBeGreaterThan(900);
    for (const latency of latencies) expect(latency).toBeCloseTo(0.024, 9);
  });

  test("a chunk that comes during a step waits for its end, and shares the next", () => {
    const { latencies } = run({ sessions: 2, period: 0.1 });
    for (const latency of latencies) {
      expect(latency).toBeGreaterThanOrEqual(0.021 - 1e-9);
      expect(latency).toBeLessThanOrEqual(0.021 + 0.021 + 1e-9);
    }
    expect(Math.max(...latencies)).toBeGreaterThan(0.035);
  });

  test("a chunk of several frames takes as many steps", () => {
    const { latencies } = run({ sessions: 1, frames: 3, period: 0.2 });
    for (const latency of latencies) expect(latency).toBeCloseTo(3 * 0.021, 9);
  });

  test("more than the capacity is not served: full steps, one after another", () => {
    const { report } = run({ sessions: 8, load: 3, chunks: 1e6 });
    const engine = report.stages.find(({ name }) => name === "ganglion")!;
    expect(engine.throughput).toBeCloseTo(8 / 0.028, 0);
    expect(engine.mean_decode_batch).toBeCloseTo(8, 2);
    expect(report.gauges.frames_a_second_most!.mean).toBeCloseTo(8 / 0.028, 6);
    expect(report.observes.late!.mean).toBe(1);
  });

  test("more sessions than slots share them, and a session may move to the next server", () => {
    const { report } = run({ sessions: 16, load: 0.5 });
    expect(report.stages[0]!.throughput).toBeCloseTo(0.5 * 8 / 0.028, -1);
    const moving = run({ sessions: 8, servers: 2, load: 0.5, move: 0.1 }).report;
    expect(moving.observes.move!.count).toBeGreaterThan(100);
    expect(moving.claims!.every(({ result }) => result === "holds")).toBe(true);
  });
});

describe("a program with measured constants", () => {
  const constants = { step_base: 1.25e-7, step_row: 0.000123456789, slots: 64, sessions: 64 };
  const text = writeProgram(TEMPLATE, constants, ["the digits", "on this machine"]);

  test("stands alone, with them as its inputs' values", () => {
    expect(text).toStartWith("// the digits\n// on this machine\n//\n");
    expect(text).toContain(`args.number("step_base", 1.25e-7)`);
    expect(text).toContain(`args.number("step_row", 0.000123457)`);
    const interpreter = new Interpreter(compile(text, { horizon: 1 }));
    interpreter.run();
    const most = reportOf(interpreter).gauges.frames_a_second_most!.mean;
    expect(most).toBeCloseTo(64 / (1.25e-7 + 64 * 0.000123457), 6);
  });

  test("an unknown constant is a fault", () => {
    expect(() => writeProgram(TEMPLATE, { step_bias: 1 }, [])).toThrow("step_bias");
  });
});
