/**
 * Random valid NIR graphs over all primitives, from bytes of a real file to outputs. Each seed is one
 * model: drawn (nir/draw_graph.ts), written with h5wasm, read, compiled, and run. What must hold:
 *
 * - the model lane accepts a graph exactly when an independent walk can run it;
 * - outputs, recorded values and states are those of the reference's single pass, bit for bit, however
 *   three streams are cut and interleaved over the slots;
 * - the graph written by us and read again computes the same bits (one seed in four);
 * - every value of every node is the float64 walk's within `TOLERANCE`, until a spike is too close to
 *   call or a cycle has made much of a rounding.
 */
import assert from "node:assert/strict";
import { GanglionError } from "../../src/base/errors.ts";
import type { Executor } from "../../src/engine/executor.ts";
import {
  compilePlan,
  type NirGraph,
  type Plan,
  probesOf,
  readNirBytes,
  writeNirBytes,
} from "../../src/model/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { SlotScheduler } from "../../src/scheduler/slot_scheduler.ts";
import { assertSameBits, type Make } from "../contract/cases.ts";
import { Dice } from "../support/dice.ts";
import { drawSpec } from "./nir/draw_graph.ts";
import { writeSpec } from "./nir/file.ts";
import { nudged } from "./nir/nudge.ts";
import type { Spec, SpecGraph } from "./nir/spec.ts";
import { CycleError, walk, type Walked } from "./nir/walk.ts";
import type { ConformanceCase } from "./run.ts";

/** Seeds that once failed, with what they found. The gate tries them in every run. */
export const KEPT_SEEDS: readonly (readonly [seed: number, found: string])[] = [
  [174, "a Delay of no step in a cycle was cut as a node, not seen through as a wire"],
  [208, "the same, with two delays"],
  [292, "an edge to G and an edge to G.input counted twice"],
  [2064, "the same at the output of a nested graph"],
  [682, "a Sum took the name of the Output, which had been merged away, and its type"],
  [2120, "an edge cut on request still counted as an entry of its cycle"],
  [11248, "the same with three neurons"],
  [
    113343,
    "a cycle that doubles every rounding in each step: the comparison was wrong, not the model",
  ],
  [117881, "the same with one LI"],
];

const GATE_CASES = 40;
/** Of the largest value that the model has held: a sum that cancels keeps the rounding of its terms. */
const TOLERANCE = 2e-6;
const RELATIVE = 1e-5;
/** A membrane this near its threshold may fire in one arithmetic and not in the other. */
const MARGIN = 1e-5;
/** Of the largest value: a walk with parameters moved by half an ulp may leave the walk this far. */
const AMPLIFIED = 5e-7;
/** Cycles without leak can grow for ever; past this nothing is compared. */
const LARGEST = 1e4;
const STREAMS = 3;
/** One seed in so many is also written by us and read again, which takes as long as all the rest. */
const WRITTEN_EVERY = 4;

/** What one seed was, for the counts of a campaign. */
export interface Outcome {
  /** `refused`: both the walk and the model lane found a cycle that nothing delays. */
  readonly verdict: "ran" | "refused";
  readonly nodes: number;
  readonly types: readonly string[];
  readonly late: number;
  readonly spikes: number;
  /** Steps of the stream, and how many of them could be compared with the walk. */
  readonly steps: number;
  readonly compared: number;
}

interface Built {
  readonly spec: Spec;
  readonly graph: NirGraph;
  readonly plan: Plan;
  readonly walked: Walked;
}

/** Reads and compiles a seed's file; null when its cycles cannot run, which both sides must say. */
async function build(seed: number): Promise<Built | null> {
  const spec = drawSpec(seed);
  let walked: Walked | null = null;
  try {
    walked = walk(spec);
  } catch (error) {
    if (!(error instanceof CycleError)) throw error;
  }
  const graph = await readNirBytes(await writeSpec(spec), { name: `random ${seed}` });
  if (walked === null) {
    assert.throws(
      () => compilePlan(graph, spec.options),
      (error) =>
        error instanceof GanglionError && error.code === "model_invalid" &&
        error.message.includes("neither a neuron"),
      "a cycle that nothing delays must be refused as one",
    );
    return null;
  }
  return { spec, walked, graph, plan: compilePlan(graph, spec.options) };
}

/** Tries one seed on one executor; throws where something does not hold. */
export async function trySeed(seed: number, make: Make): Promise<Outcome> {
  const built = await build(seed);
  const types = [...typesOf(drawSpec(seed).graph)];
  if (built === null) {
    return { verdict: "refused", nodes: 0, types, late: 0, spikes: 0, steps: 0, compared: 0 };
  }
  const { spec, graph, plan, walked } = built;
  assert.equal(plan.dtSource, spec.dtFrom, "source of dt");
  assert.ok(Math.abs(plan.dt / spec.dt - 1) < 1e-6, `dt is ${plan.dt}, wanted ${spec.dt}`);
  const dice = new Dice(seed + 77);
  const shift = (times: number) =>
    spec.input.map((x) => x === 1 ? 0 : x + times * (x === 0 ? 1 : 0));
  const streams = [spec.input, shift(1), spec.input.map((x) => x * 0.5)].slice(0, STREAMS);
  const passes = await Promise.all(streams.map((input) => onePass(plan, input)));
  const compared = compareWalk(plan, spec, walked, passes[0]!.probes, passes[0]!.output);
  const size = { slots: STREAMS + 1, frame: dice.int(1, 9) };
  if (seed % WRITTEN_EVERY === 0) await compareWritten(graph, built, passes[0]!.output);
  const { executor } = await make(plan, size);
  try {
    await runCut(executor, dice, streams, passes);
  } finally {
    await executor.close();
  }
  const spikes = plan.nodes.filter(({ kind }) => kind === "spike").reduce(
    (sum, { name }) => sum + passes[0]!.probes[`${name}.s`]!.reduce((a, b) => a + b, 0),
    0,
  );
  return {
    verdict: "ran",
    nodes: plan.nodes.length,
    types,
    late: plan.nodes.flatMap(({ inputs }) => inputs.filter(({ previous }) => previous)).length,
    spikes,
    steps: spec.steps,
    compared,
  };
}

/** What we write of the graph computes what the graph does. */
async function compareWritten(graph: NirGraph, { spec, plan }: Built, output: Float32Array) {
  const options = { ...spec.options, dt: plan.dt };
  const again = compilePlan(await readNirBytes(await writeNirBytes(graph, options)), options);
  assertSameBits((await onePass(again, spec.input)).output, output, "output of the file we write");
}

interface Pass {
  readonly output: Float32Array;
  readonly probes: Readonly<Record<string, Float32Array>>;
  readonly state: Readonly<Record<string, Float32Array>>;
}

/** A whole stream in the reference's single pass, with everything recorded. */
async function onePass(plan: Plan, input: Float32Array): Promise<Pass> {
  const steps = input.length / plan.sampleSize;
  const reference = new ReferenceExecutor(plan, { slots: 1, frame: steps });
  const record = probesOf(plan).map(({ name }) => name);
  const [result] = await reference.step([{ slot: 0, steps, fresh: true, input, record }]);
  const { tensors } = (await reference.readStates([0]))[0]!;
  return { output: result!.output, probes: result!.probes, state: tensors };
}

/** The streams in random cuts and company; the first one records everything. */
async function runCut(
  executor: Executor,
  dice: Dice,
  streams: readonly Float32Array[],
  passes: readonly Pass[],
): Promise<void> {
  const { plan } = executor;
  const scheduler = new SlotScheduler(executor, { partialFrames: true });
  if (dice.chance(0.5)) scheduler.open(); // an idle neighbour moves the others up
  const record = Object.keys(passes[0]!.probes);
  const sessions = streams.map((input, i) => ({
    session: scheduler.open(),
    record: i === 0 ? record : [],
    input,
    at: 0,
    futures: [] as ReturnType<SlotScheduler["submit"]>[],
  }));
  while (sessions.some(({ at, input }) => at < input.length)) {
    for (const each of sessions) {
      const left = (each.input.length - each.at) / plan.sampleSize;
      if (left === 0 || dice.chance(0.3)) continue;
      const steps = Math.min(left, dice.int(1, executor.frame));
      const chunk = each.input.subarray(each.at, each.at + steps * plan.sampleSize);
      each.futures.push(scheduler.submit(each.session, chunk, { record: each.record }));
      each.at += chunk.length;
    }
    if (dice.chance(0.7)) await scheduler.step();
  }
  await scheduler.run();
  for (const [i, { session, futures }] of sessions.entries()) {
    const parts = await Promise.all(futures.map((future) => future.result()));
    const wanted = passes[i]!;
    assertSameBits(joined(parts.map(({ data }) => data)), wanted.output, `output of stream ${i}`);
    const { tensors } = (await executor.readStates([session.slot!]))[0]!;
    for (const [name, tensor] of Object.entries(wanted.state)) {
      assertSameBits(tensors[name]!, tensor, `state ${name} of stream ${i}`);
    }
    if (i > 0) continue;
    for (const name of record) {
      assertSameBits(joined(parts.map(({ probes }) => probes[name]!)), wanted.probes[name]!, name);
    }
  }
}

function joined(parts: readonly Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

/** Every value of every node against the walk; returns the steps that could be compared. */
function compareWalk(
  plan: Plan,
  spec: Spec,
  walked: Walked,
  probes: Pass["probes"],
  output: Float32Array,
): number {
  const late = plan.nodes.flatMap(({ inputs }) => inputs.filter(({ previous }) => previous));
  if (walked.late.length === 0) {
    const cuts = plan.notes.filter(({ code }) => code === "cut_edge");
    assert.deepEqual(cuts, [], "no edge need read the step before");
  } else assert.ok(late.length > 0, "some edge must read the step before");
  const known = [...walked.values, ...walked.states];
  const values = new Map(known.map(([name, steps]) => [name, steps]));
  const other = walk(nudged(spec));
  const moved = new Map([...other.values, ...other.states]);
  for (let t = 0; t < spec.steps; t++) {
    const scale = Math.max(1, walked.largest[t]!);
    if (walked.margins[t]! < MARGIN * scale || scale > LARGEST) return t;
    const amplified = known.some(([name, steps]) =>
      steps[t]!.some((x, i) => Math.abs(x - moved.get(name)![t]![i]!) > AMPLIFIED * scale)
    );
    if (amplified) return t;
    const check = (given: Float32Array, wanted: Float64Array, what: string): void => {
      for (let i = 0; i < wanted.length; i++) {
        const [a, b] = [given[t * wanted.length + i]!, wanted[i]!];
        if (Math.abs(a - b) <= RELATIVE * Math.abs(b) + TOLERANCE * scale) continue;
        assert.fail(`step ${t} of ${what}: value ${i} is ${a}, the walk has ${b}`);
      }
    };
    for (const { name, type, kind, state } of plan.nodes.slice(1)) {
      if (type === "Sum") continue;
      const wanted = values.get(name);
      assert.ok(wanted !== undefined, `the walk has no node ${name}`);
      check(probes[`${name}.${kind === "spike" ? "s" : "y"}`]!, wanted[t]!, name);
      for (const field of state.filter((each) => each.type === "f32" && each.name !== "last")) {
        const key = `${name}.${field.name}`;
        check(probes[key]!, values.get(key)![t]!, key);
      }
    }
    check(output, walked.output[t]!, "the output");
  }
  return spec.steps;
}

function* typesOf(graph: SpecGraph): Generator<string> {
  for (const { type, graph: inner } of graph.nodes.values()) {
    yield type;
    if (inner !== undefined) yield* typesOf(inner);
  }
}

/** The gate's part of the seeds, on whatever executor the suite runs. */
export function randomNirCases(): ConformanceCase[] {
  const fresh = Array.from({ length: GATE_CASES }, (_, i) => [i + 1, ""] as const);
  return [...KEPT_SEEDS, ...fresh].map(([seed, found]) => ({
    name: `random NIR file ${seed}${found && `: ${found}`}`,
    run: async (make) => void await trySeed(seed, make),
  }));
}
