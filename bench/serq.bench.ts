/**
 * Question: how many events a second does the interpreter handle, beside the original on the same IR
 * in the same minute? SERQ_PYTHON names a Python that has `pyserq` 0.1.6; without it our side runs
 * alone. Processor time counts, ours with the threads of the garbage collector: elapsed time says more
 * of the machine's other load than of either. Also: does memory grow with the horizon? Physical limit:
 * one core; the original is Rust.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { compile, Interpreter, type Program } from "../src/serq/mod.ts";
import { keep, quantile, round, runtimeName } from "./support.ts";

const PROGRAMS: Readonly<Record<string, number>> = {
  mm1: 100_000,
  mmc: 40_000,
  mg1_ps_h2: 100_000,
  random_closed: 60_000,
  random_flows: 40_000,
  random_routing: 30_000,
  random_pool: 30_000,
  random_engine: 20_000,
  random_pd: 15_000,
};
const REPEATS = 9;
const WARM = 3;

function load(name: string, horizon: number): Program {
  const url = new URL(`../tests/fixtures/serq/programs/${name}.sq`, import.meta.url);
  return compile(readFileSync(url, "utf8"), { name, horizon });
}

/** One run of an IR by the original: milliseconds of processor time, and events. */
const ORIGINAL = `
import json, sys, time, pyserq
program = pyserq.Program.from_json(sys.stdin.read())
begin = time.process_time()
report = pyserq.run(program)
print(json.dumps({"ms": (time.process_time() - begin) * 1e3, "events": report.events}))
`;

function original(program: Program): { ms: number; events: number } | null {
  const python = process.env["SERQ_PYTHON"];
  if (python === undefined) return null;
  const { stdout, stderr } = spawnSync(python, ["-c", ORIGINAL], {
    input: JSON.stringify(program),
    encoding: "utf8",
  });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as { ms: number; events: number };
}

const rows: Record<string, unknown>[] = [];
for (const [name, horizon] of Object.entries(PROGRAMS)) {
  const program = load(name, horizon);
  let events = 0;
  const ours: number[] = [];
  const theirs: number[] = [];
  // In turns, so that other load on the machine hits both alike; the first rounds warm up.
  for (let turn = -WARM; turn < REPEATS; turn++) {
    const begin = process.cpuUsage();
    const interpreter = new Interpreter(program);
    interpreter.run();
    if (turn < 0) continue;
    const { user, system } = process.cpuUsage(begin);
    ours.push((user + system) / 1e3);
    events = interpreter.machine.events;
    const other = original(program);
    if (other === null) continue;
    theirs.push(other.ms);
    if (other.events !== events) throw new Error(`${name}: events differ`);
  }
  rows.push({
    program: name,
    events,
    "M events/s": round(events / quantile(ours, 0.5) / 1e3),
    "original M events/s": theirs.length === 0 ? null : round(events / quantile(theirs, 0.5) / 1e3),
    ratio: theirs.length === 0 ? null : round(quantile(theirs, 0.5) / quantile(ours, 0.5)),
    "ratio of best": theirs.length === 0 ? null : round(Math.min(...theirs) / Math.min(...ours)),
  });
}

/** Heap after a run, over the horizon; the program observes nothing, so nothing should grow. */
const memory: Record<string, number> = {};
for (const horizon of [10_000, 100_000, 400_000]) {
  const text = "fn main() { stage s : fifo; workload { arrive poisson(0.7); } " +
    "server { run s (cost(s, ~exp(1))); } }";
  const interpreter = new Interpreter(compile(text, { horizon }));
  let peak = 0;
  for (let count = 1; interpreter.step(); count++) {
    if (count % 20_000 === 0) peak = Math.max(peak, process.memoryUsage().heapUsed);
  }
  memory[`horizon ${horizon}`] = round(peak / 2 ** 20);
}
console.log("peak heap, MiB:", memory);

await keep(`serq.${runtimeName.split(" ")[0]}`, {
  bench: "serq: events a second, beside the original",
  setting: { runtime: runtimeName, repeats: REPEATS, memory },
  rows,
});
