/**
 * Runs one row's frame on the executor's memory: all nodes of one time step, then the next. Values are
 * f32 everywhere; beside them a node keeps the list of its events, which only those who read it make.
 */
import { connect, maxPool, permute, plastic, taps } from "../host/gathers.ts";
import { wordsOf } from "../base/numeric.ts";
import type { Plan, PlanNode } from "../model/plan.ts";
import { bufferOf, type Kernels, type Memory, type StepPlaces } from "./kernels.ts";
import { joinsEdges, type MemoryMap, type NodeWork, type RowFacts } from "./memory_map.ts";
import { RowLine } from "./state_rows.ts";

/** What travels on an edge. */
interface Signal {
  values: number;
  /** Where values of its own go. */
  readonly at: number;
  readonly events: number;
  /** Events, −1 before they were looked for. */
  length: number;
  allOnes: boolean;
}

interface LiveNode {
  readonly node: PlanNode;
  readonly places: StepPlaces;
  readonly out: Signal;
  /** The sum of its edges, or its only edge when that comes from the step before. */
  readonly joined: Signal | null;
  readonly line: RowLine | null;
}

/** Called after each step, with a view of what a node gives or holds. */
export type Probe = (
  step: number,
  read: (node: number, field: number) => Float32Array,
) => void;

export class RowRunner {
  readonly #plan: Plan;
  readonly #map: MemoryMap;
  readonly #kernels: Kernels;
  readonly #floats: Float32Array;
  readonly #nodes: readonly LiveNode[];
  readonly #ints: Int32Array;
  /** Someone reads the input's values, not only its events. */
  readonly #readsValues: boolean;
  #row = 0;

  constructor(plan: Plan, map: MemoryMap, memory: Memory, kernels: Kernels, thread: number) {
    const buffer = bufferOf(memory);
    this.#plan = plan;
    this.#map = map;
    this.#kernels = kernels;
    this.#floats = new Float32Array(buffer);
    this.#ints = new Int32Array(buffer);
    this.#readsValues = plan.nodes.some(({ op, inputs }) =>
      op.op !== "dense" && inputs.some(({ from }) => from === 0)
    );
    this.#nodes = plan.nodes.map((node): LiveNode => {
      const work = map.work[thread]![node.index]!;
      return {
        node,
        places: placesOf(work),
        out: signalAt(work.values, work.events),
        joined: node.index > 0 && joinsEdges(node) ? signalAt(work.x, work.xEvents) : null,
        line: map.state[node.index]!.ring < 0 ? null : new RowLine(node, buffer),
      };
    });
  }

  run({ from, to, steps, input, isBits, output }: RowFacts, probe?: Probe): void {
    this.#kernels.copy(from, to, this.#map.rowBytes);
    if (this.#kernels.frame !== null && probe === undefined) {
      return this.#kernels.frame(to, input, Number(isBits), steps, output);
    }
    const { outputSize } = this.#plan;
    const [first] = this.#nodes as [LiveNode];
    this.#row = to;
    for (const { node, line } of this.#nodes) line?.moveTo(to + this.#map.state[node.index]!.ring);
    const result = this.#nodes[this.#plan.output]!.out;
    for (let t = 0; t < steps; t++) {
      this.#take(first.out, input, isBits, t);
      for (let n = 1; n < this.#nodes.length; n++) this.#step(this.#nodes[n]!);
      for (const { node, out } of this.#nodes) {
        const { last } = this.#map.state[node.index]!;
        if (last >= 0) this.#kernels.copy(out.values, to + last, node.size * 4);
      }
      this.#kernels.copy(result.values, output + t * outputSize * 4, outputSize * 4);
      probe?.(t, this.#read);
    }
  }

  /** The input of one step. */
  #take(signal: Signal, input: number, isBits: boolean, t: number): void {
    const size = this.#plan.sampleSize;
    if (!isBits) {
      signal.values = input + t * size * 4;
      signal.length = -1;
      return;
    }
    const words = wordsOf(size);
    signal.values = signal.at;
    signal.length = this.#kernels.findBits(input + t * words * 4, words, signal.events);
    signal.allOnes = true;
    if (!this.#readsValues) return;
    const begin = signal.at >>> 2;
    this.#floats.fill(0, begin, begin + size);
    for (let e = 0; e < signal.length; e++) {
      this.#floats[begin + this.#ints[(signal.events >>> 2) + e]!] = 1;
    }
  }

  readonly #read = (index: number, field: number): Float32Array => {
    const { out, node } = this.#nodes[index]!;
    return field < 0 ? this.#view(out.values, node.size) : this.#fieldView(node, field);
  };

  /** One array of a node's state in the row that runs. */
  #fieldView({ index, state }: PlanNode, field: number): Float32Array {
    const { fields, stride } = this.#map.state[index]!;
    return this.#view(this.#row + fields + field * stride, state[field]!.words);
  }

  #step(live: LiveNode): void {
    const { node, places, out } = live;
    const x = this.#fanIn(live);
    const { op } = node;
    const kernel = this.#kernels.steps[node.index]!;
    out.length = -1;
    if (kernel === null) return this.#gather(live, x);
    if (op.op !== "pointwise") {
      this.#list(x, this.#plan.nodes[node.inputs[0]!.from]!.size);
      places.events = x.events;
      places.length = x.length;
      places.allOnes = x.allOnes;
    }
    places.x = x.values;
    places.state = this.#row + this.#map.state[node.index]!.fields;
    out.length = kernel(places);
    out.allOnes = true;
  }

  /** Makes the list of a signal's events, unless it is there. */
  #list(signal: Signal, size: number): void {
    if (signal.length >= 0) return;
    const found = this.#kernels.find(signal.values, size, signal.events);
    signal.allOnes = found >= 0;
    signal.length = found & 0x7fffffff;
  }

  /** What comes into a node. */
  #fanIn({ node, joined }: LiveNode): Signal {
    const { inputs } = node;
    if (joined === null) return this.#nodes[inputs[0]!.from]!.out;
    const { size } = this.#plan.nodes[inputs[0]!.from]!;
    let values = this.#edge(node, 0);
    for (let k = 1; k < inputs.length; k++) {
      this.#kernels.add(values, this.#edge(node, k), joined.at, size);
      values = joined.at;
    }
    joined.values = values;
    joined.length = -1;
    return joined;
  }

  /** Where the values of one edge lie; a cut edge gives the source's output of the step before. */
  #edge(node: PlanNode, k: number): number {
    const { from, previous } = node.inputs[k]!;
    return previous ? this.#row + this.#map.state[from]!.last : this.#nodes[from]!.out.values;
  }

  #edgeView(node: PlanNode, k: number): Float32Array {
    return this.#view(this.#edge(node, k), this.#plan.nodes[node.inputs[k]!.from]!.size);
  }

  /** The operations that move values, or that few models have. */
  #gather({ node, out, line }: LiveNode, { values }: Signal): void {
    const { op } = node;
    const y = this.#view(out.values, node.size);
    const x = this.#view(values, this.#plan.nodes[node.inputs[0]!.from]!.size);
    switch (op.op) {
      case "max_pool":
        return maxPool(op, x, y);
      case "permute":
        return permute(op, x, y);
      case "connect":
        return connect(op, this.#edgeView(node, 0), this.#edgeView(node, 1), y);
      case "taps":
        return taps(op, x, line!, y);
      case "plastic": {
        const own = node.state.filter(({ name }) => name !== "last");
        const trace = own.map((_, k) => this.#fieldView(node, k));
        return plastic(op, this.#edgeView(node, 0), this.#edgeView(node, 1), trace, y);
      }
      case "delay":
        for (let i = 0; i < y.length; i++) {
          const delay = op.steps[i]!;
          y[i] = delay === 0 ? x[i]! : line!.read(delay, i);
        }
        return line!.push(x);
      default:
        throw new Error(`${op.op} has a kernel`);
    }
  }

  #view(at: number, size: number): Float32Array {
    return this.#floats.subarray(at >>> 2, (at >>> 2) + size);
  }
}

function signalAt(at: number, events: number): Signal {
  return { values: at, at, events, length: -1, allOnes: false };
}

function placesOf({ values, events, sums }: NodeWork): StepPlaces {
  return {
    x: 0,
    events: 0,
    length: 0,
    allOnes: false,
    y: values,
    yEvents: events,
    sums,
    state: 0,
  };
}
