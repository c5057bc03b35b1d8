/**
 * Random NIR files in numbers too large for the gate, on the CPU executor and on this machine's WebGPU.
 * Prints a Markdown page; `npm run campaign:nir` keeps it in docs/campaigns/random_nir.md.
 */
import process from "node:process";
import { CpuExecutor } from "../../src/cpu/mod.ts";
import type { Make } from "../contract/cases.ts";
import { countsFrom, headLine, progress, stopFlag } from "../support/campaign.ts";
import { makeGpu } from "../support/gpu.ts";
import { type Outcome, trySeed } from "./random_nir.ts";

/** Past the gate's seeds. */
const FIRST = 100_000;

const counts = countsFrom({ cpu: 50_000, gpu: 1_000 });
const began = headLine("npm run campaign:nir");
const devices = new Set<string>();
const makers: Record<keyof typeof counts, Make> = {
  cpu: (plan, size) => Promise.resolve({ executor: new CpuExecutor(plan, size), faults: [] }),
  gpu: async (plan, size) => {
    const subject = await makeGpu("awaited")(plan, size);
    devices.add(subject.executor.info.device);
    return subject;
  },
};

const failures: string[] = [];
const rows: string[] = [];
const types = new Map<string, number>();
const stopped = stopFlag();
for (const kind of ["gpu", "cpu"] as const) {
  const outcomes: Outcome[] = [];
  const say = progress(kind, Math.max(10, counts[kind] / 20));
  const begin = performance.now();
  let done = 0;
  for (; done < counts[kind] && !stopped(); done++) {
    // Lets a signal be heard.
    if (done % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    const seed = FIRST + done;
    try {
      outcomes.push(await trySeed(seed, makers[kind]));
    } catch (error) {
      failures.push(`seed ${seed} on ${kind}: ${error instanceof Error ? error.message : error}`);
      process.stderr.write(`${failures.at(-1)}\n`);
    }
    say(done + 1);
  }
  for (const type of outcomes.flatMap((outcome) => outcome.types)) {
    types.set(type, (types.get(type) ?? 0) + 1);
  }
  const ran = outcomes.filter(({ verdict }) => verdict === "ran");
  const sum = (field: "nodes" | "spikes" | "steps" | "compared") =>
    ran.reduce((total, outcome) => total + outcome[field], 0);
  rows.push([
    kind === "cpu" ? "CPU executor" : `WebGPU: ${[...devices].join(", ") || "not run"}`,
    done,
    done - outcomes.length,
    ran.length,
    outcomes.length - ran.length,
    sum("nodes"),
    ran.filter(({ late }) => late > 0).length,
    sum("spikes"),
    `${sum("compared")} of ${sum("steps")}`,
    ((performance.now() - begin) / 1000).toFixed(0),
  ].join(" | "));
}
const head = [
  "executor",
  "files",
  "failed",
  "ran",
  "refused",
  "nodes",
  "with late edges",
  "spikes",
  "steps compared",
  "seconds",
];
console.log(`# Random NIR files

${began}: ${failures.length} failures.
Seeds from ${FIRST}. Each is a random graph over all primitives, written to HDF5, read, compiled and
run; *refused* are those with a cycle that nothing delays, which an independent float64 walk found
too. Every other one gives the reference's bytes for outputs, recorded values and states, with three
streams in random cuts over the slots, and the walk's values until a spike is too close to call
(*steps compared*). See \`tests/conformance/random_nir.ts\`.

| ${head.join(" | ")} |
|${head.map(() => "---").join("|")}|
| ${rows.join(" |\n| ")} |

Nodes drawn:
${[...types].map(([type, count]) => `${type} ${count}`).toSorted().join(",\n")}.
${failures.length === 0 ? "" : `\n${failures.map((line) => `- ${line}`).join("\n")}\n`}`);
process.exit(failures.length === 0 ? 0 : 1);
