/**
 * A row's whole frame as one function: all steps, and in each step all nodes, which call the kernels with
 * places that are constants of the code. For plans whose nodes all have vector kernels; `row_runner.ts`
 * plays the others, and those whose values are recorded, node by node to the same bits.
 */
import { wordsOf } from "../base/numeric.ts";
import { layerNamed } from "../layers/mod.ts";
import type { DenseOp, Plan, PlanEdge, PlanNode } from "../model/plan.ts";
import { joinsEdges, type MemoryMap, type NodeWork, padded } from "./memory_map.ts";
import {
  advance,
  call,
  clear,
  type Code,
  copy,
  count,
  drop,
  either,
  FunctionWriter,
  int,
  type Local,
  set,
  type Written,
} from "../base/wasm_writer.ts";

/** The bits of f32 1. */
const ONE_AS_INT = 0x3f800000;

/** Where the kernels stand in the module. */
export interface KernelIndices {
  readonly find: number;
  readonly findBits: number;
  readonly add: number;
  readonly denseOnes: number;
  readonly denseReals: number;
  /** By node; −1: none. */
  readonly own: readonly number[];
}

/** What travels on an edge, and where. */
interface Signal {
  readonly values: Code;
  readonly size: number;
  readonly events: number;
  /** How many events there are; null as long as nobody looked for them. */
  length: Code | null;
  /** Not 0 when some event's value is not 1; null when all are 1. */
  others: Code | null;
}

type Writer = FunctionWriter<"row" | "input" | "isBits" | "steps" | "output">;

/** Whether all nodes of the plan have vector kernels. */
export function canWriteFrame({ nodes }: Plan, { own }: KernelIndices): boolean {
  return nodes.every(({ op, index }) =>
    op.op === "input" || (op.op === "dense" && op.blocks === 1) || own[index]! >= 0
  );
}

/** `(row, input, isBits, steps, output)`; the row's state is in `row`, and moves on there. */
export function writeFrame(
  plan: Plan,
  map: MemoryMap,
  thread: number,
  kernels: KernelIndices,
): Written {
  const f: Writer = new FunctionWriter(["row", "input", "isBits", "steps", "output"]);
  const { row, steps, output } = f.arg;
  const writer = new StepWriter(f, plan, map, thread, kernels);
  const step = plan.nodes.flatMap((node) => writer.run(node));
  const valuesOf = (node: number): Code => writer.signals[node]!.values;
  const kept = plan.nodes.filter(({ index }) => map.state[index]!.last >= 0);
  const bytes = int.of(plan.outputSize * 4);
  const t = f.int();
  const body = count(t, int.of(0), steps.get, 1, [
    ...step,
    ...kept.flatMap(({ index, size }) => {
      const last = int.add(row.get, int.of(map.state[index]!.last));
      return copy(last, valuesOf(index), int.of(size * 4));
    }),
    ...copy(output.get, valuesOf(plan.output), bytes),
    ...advance(output, bytes),
  ]);
  return f.end("frame", body, int.of(0));
}

class StepWriter {
  /** By node, of those that ran. */
  readonly signals: Signal[] = [];
  readonly #f: Writer;
  readonly #plan: Plan;
  readonly #map: MemoryMap;
  readonly #work: readonly NodeWork[];
  readonly #kernels: KernelIndices;

  constructor(f: Writer, plan: Plan, map: MemoryMap, thread: number, kernels: KernelIndices) {
    this.#f = f;
    this.#plan = plan;
    this.#map = map;
    this.#work = map.work[thread]!;
    this.#kernels = kernels;
  }

  run(node: PlanNode): Code {
    const { op, index, size } = node;
    if (op.op === "input") return this.#takeInput();
    const { values, events, sums } = this.#work[index]!;
    const { weights, extra } = this.#map.parameters[index]!;
    const { joined, x } = this.#fanIn(node);
    const own = this.#kernels.own[index]!;
    const out: Signal = { values: int.of(values), size, events, length: null, others: null };
    this.signals.push(out);
    if (op.op === "pointwise") {
      const state = int.add(this.#f.arg.row.get, int.of(this.#map.state[index]!.fields));
      const places = [int.of(values), state, int.of(weights), int.of(events)];
      const length = this.#f.int();
      if (layerNamed(op.layer).emits === "spike") out.length = length.get;
      return [...joined, ...set(length, call(own, x.values, ...places))];
    }
    const listed = [...joined, ...this.#list(x)];
    const list = [int.of(x.events), x.length!];
    if (op.op === "conv") {
      const places = [sums, weights, extra, values].map(int.of);
      return [...listed, ...drop(call(own, x.values, ...list, ...places))];
    }
    const from = [int.of(weights), int.of((op as DenseOp).inputs), ...list, x.values];
    const to = [values, extra, padded(size) / 4].map(int.of);
    const { denseOnes, denseReals } = this.#kernels;
    const ones = drop(call(denseOnes, ...from, ...to));
    if (x.others === null) return [...listed, ...ones];
    return [...listed, ...either(x.others, drop(call(denseReals, ...from, ...to)), ones)];
  }

  /** One step of input; the argument moves on to the next. */
  #takeInput(): Code {
    const { sampleSize: size, nodes } = this.#plan;
    const { values: at, events } = this.#work[0]!;
    const { input, isBits } = this.#f.arg;
    const [values, length, others] = [this.#f.int(), this.#f.int(), this.#f.int()];
    const signal: Signal = { values: values.get, size, events, length: null, others: null };
    this.signals.push(signal);
    const words = wordsOf(size);
    const reader = nodes.filter(({ inputs }) => inputs.some(({ from }) => from === 0));
    const isListed = reader.some((node) => node.op.op !== "pointwise" && !joinsEdges(node));
    const hasValues = reader.some((node) => node.op.op !== "dense" || joinsEdges(node));
    const fromBits = [
      ...set(length, call(this.#kernels.findBits, input.get, int.of(words), int.of(events))),
      ...set(others, int.of(0)),
      ...set(values, int.of(at)),
      ...(hasValues ? this.#spread(at, size, events, length) : []),
      ...advance(input, int.of(words * 4)),
    ];
    const fromValues = [
      ...set(values, input.get),
      ...(isListed ? this.#find(signal, length, others) : []),
      ...advance(input, int.of(size * 4)),
    ];
    if (isListed) [signal.length, signal.others] = [length.get, others.get];
    return either(isBits.get, fromBits, fromValues);
  }

  /** Values at `at` that are 1 at the events and 0 elsewhere. */
  #spread(at: number, size: number, events: number, length: Local): Code {
    const [e, end] = [this.#f.int(), this.#f.int()];
    const place = int.add(int.of(at), int.shiftLeft(int.load(e.get), int.of(2)));
    return [
      ...clear(int.of(at), size * 4),
      ...set(end, int.add(int.of(events), int.shiftLeft(length.get, int.of(2)))),
      ...count(e, int.of(events), end.get, 4, int.store(place, int.of(ONE_AS_INT))),
    ];
  }

  /** Makes the list of a signal's events, unless it is there. */
  #list(signal: Signal): Code {
    if (signal.length !== null) return [];
    const [length, others] = [this.#f.int(), this.#f.int()];
    [signal.length, signal.others] = [length.get, others.get];
    return this.#find(signal, length, others);
  }

  #find({ values, size, events }: Signal, length: Local, others: Local): Code {
    return [
      ...set(others, call(this.#kernels.find, values, int.of(size), int.of(events))),
      ...set(length, int.and(others.get, int.of(0x7fffffff))),
      ...set(others, int.and(others.get, int.of(-0x80000000))),
    ];
  }

  /** What comes into a node, and the code that puts it together. */
  #fanIn(node: PlanNode): { joined: Code; x: Signal } {
    const [first, ...more] = node.inputs;
    const { size } = this.#plan.nodes[first!.from]!;
    if (!joinsEdges(node)) return { joined: [], x: this.signals[first!.from]! };
    const { x: at, xEvents: events } = this.#work[node.index]!;
    let values = this.#edge(first!);
    const joined: number[] = [];
    for (const edge of more) {
      const sum = [int.of(at), int.of(padded(size) / 4)];
      joined.push(...drop(call(this.#kernels.add, values, this.#edge(edge), ...sum)));
      values = int.of(at);
    }
    return { joined, x: { values, size, events, length: null, others: null } };
  }

  /** Where the values of an edge lie; a cut edge gives the source's output of the step before. */
  #edge({ from, previous }: PlanEdge): Code {
    if (!previous) return this.signals[from]!.values;
    return int.add(this.#f.arg.row.get, int.of(this.#map.state[from]!.last));
  }
}
