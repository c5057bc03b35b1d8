/**
 * Where everything lies in the executor's one block of memory, which its threads share: parameters,
 * the rows of all slots in two copies each, what a round brings and gives, and each thread's working
 * memory. Pure arithmetic; places are byte addresses, arrays begin at whole cache lines.
 */
import { GanglionError } from "../base/errors.ts";
import type { Plan, PlanNode } from "../model/plan.ts";
import { ringOf, tensorSize } from "../model/row_state.ts";
import { layerNamed } from "../layers/mod.ts";
import { PLACES_AHEAD } from "./vector_code.ts";
import { packedConvSize, sumsSize, tapTablesSize } from "./vector_conv.ts";

/** Copies of each row: one that is committed, one that the step in flight writes. */
export const COPIES = 2;
/** Bytes of inputs and outputs that a round takes at most; a larger batch runs in several rounds. */
const ROUND_BYTES_MAX = 32 << 20;
/** So that a row's index fits into a ticket of team.ts. */
const ROUND_ROWS_MAX = 1 << 15;
const LINE = 64;
/** Addresses have 32 bits. */
const BYTES_MAX = 2 ** 32;

/** A number of values in whole vectors of four. */
export const padded = (size: number): number => Math.ceil(size / 4) * 4;

/** Parameters of one node. */
export interface NodeParameters {
  /** Dense: rows of `padded(outputs)`, all blocks. Conv: as packed. Pointwise: coefficients. */
  readonly weights: number;
  /** 0: none. Of a convolution: its tap tables. */
  readonly extra: number;
}

/** A thread's own places for one node. */
export interface NodeWork {
  readonly values: number;
  /** Indices of the values that are not zero. */
  readonly events: number;
  /** Input that is the sum of several edges or comes from the step before. */
  readonly x: number;
  readonly xEvents: number;
  readonly sums: number;
}

/** Places of a node's state within a row. */
export interface NodeState {
  /** The layer's arrays, `stride` bytes apart. */
  readonly fields: number;
  readonly stride: number;
  /** −1: none. */
  readonly last: number;
  /** The head's word, and a line behind it the ring; −1: none. */
  readonly ring: number;
}

export interface RowFacts {
  /** The state it starts from, and where its next state goes. */
  readonly from: number;
  readonly to: number;
  readonly steps: number;
  readonly input: number;
  /** Spikes, 32 a word; else f32. */
  readonly isBits: boolean;
  readonly output: number;
}

export interface MemoryMap {
  readonly bytes: number;
  readonly parameters: readonly NodeParameters[];
  readonly state: readonly NodeState[];
  readonly rowBytes: number;
  /** A row at rest. */
  readonly rest: number;
  /** First row of slot 0; the copies of a slot lie together. */
  readonly rows: number;
  /** Words that the threads agree by: see team.ts. */
  readonly signals: number;
  /** Facts of a round's rows, `FACTS` words each. */
  readonly facts: number;
  readonly input: number;
  readonly output: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
  /** Rows of a round at most. */
  readonly roundRows: number;
  /** By thread and node. */
  readonly work: readonly (readonly NodeWork[])[];
}

export interface MapOptions {
  readonly slots: number;
  readonly frame: number;
  readonly threads: number;
}

/** Words of a row's facts: those of `RowFacts` in order, and whether it failed. */
export const FACTS = 8;

export function mapMemory(plan: Plan, { slots, frame, threads }: MapOptions): MemoryMap {
  let bytes = LINE; // nothing lies at 0, which stands for "none"
  const take = (size: number): number => {
    const at = bytes;
    bytes += Math.ceil(size / LINE) * LINE;
    return at;
  };
  const parameters = plan.nodes.map((node): NodeParameters => {
    const { op } = node;
    if (op.op === "dense") {
      const weights = take(op.blocks * op.inputs * padded(op.outputs) * 4);
      return { weights, extra: op.bias === null ? 0 : take(padded(op.bias.length) * 4) };
    }
    if (op.op === "conv") {
      const weights = take(packedConvSize(op) * 4);
      return { weights, extra: take(tapTablesSize(op) * 4) };
    }
    if (op.op === "pointwise") {
      const rows = layerNamed(op.layer).coefficients.length;
      return { weights: take(rows * padded(node.size) * 4), extra: 0 };
    }
    return { weights: 0, extra: 0 };
  });
  let rowBytes = 0;
  const state = plan.nodes.map((node): NodeState => {
    const begin = rowBytes;
    const places = stateOf(node, begin);
    rowBytes = places.end;
    return places;
  });
  rowBytes = Math.ceil(Math.max(1, rowBytes) / LINE) * LINE;
  const inputBytes = Math.ceil(frame * plan.sampleSize * 4 / LINE) * LINE;
  const outputBytes = Math.ceil(frame * padded(plan.outputSize) * 4 / LINE) * LINE;
  const fitting = Math.floor(ROUND_BYTES_MAX / (inputBytes + outputBytes));
  const roundRows = Math.max(1, Math.min(slots, fitting, ROUND_ROWS_MAX));
  const rest = take(rowBytes);
  const rows = take(slots * COPIES * rowBytes);
  const signals = take(LINE);
  const facts = take(roundRows * FACTS * 4);
  const input = take(roundRows * inputBytes);
  const output = take(roundRows * outputBytes);
  const work = Array.from(
    { length: threads },
    () => plan.nodes.map((node) => workOf(plan, node, take)),
  );
  if (bytes > BYTES_MAX) throw tooLarge(bytes, slots, COPIES * rowBytes);
  return {
    bytes,
    parameters,
    state,
    rowBytes,
    rest,
    rows,
    signals,
    facts,
    input,
    output,
    inputBytes,
    outputBytes,
    roundRows,
    work,
  };
}

function tooLarge(bytes: number, slots: number, slotBytes: number): GanglionError {
  const fitting = Math.max(0, slots - Math.ceil((bytes - BYTES_MAX) / slotBytes));
  return new GanglionError(
    "device_unavailable",
    `The state of ${slots} slots does not fit on the CPU executor, which addresses 4 GiB: ` +
      `at most ${fitting} slots do`,
    { slots_max: fitting },
  );
}

function stateOf(node: PlanNode, begin: number): NodeState & { end: number } {
  const ring = ringOf(node);
  const own = node.state.filter(({ name }) => name !== "last" && name !== "ring");
  const stride = own.length === 0 ? 0 : padded(tensorSize(node, own[0]!)) * 4;
  let end = begin + own.length * stride;
  let last = -1;
  if (node.state.some(({ name }) => name === "last")) {
    last = end;
    end += padded(node.size) * 4;
  }
  let at = -1;
  if (ring !== null) {
    at = end;
    end += 16 + padded(ring.steps * ring.size) * 4;
  }
  return { fields: begin, stride, last, ring: at, end };
}

/** Whether a node's input must be put together: a sum of edges, or values of the step before. */
export function joinsEdges({ op, inputs }: PlanNode): boolean {
  if (op.op === "connect" || op.op === "plastic") return false;
  return inputs.length > 1 || inputs[0]!.previous;
}

function workOf(plan: Plan, node: PlanNode, take: (size: number) => number): NodeWork {
  const [first] = node.inputs;
  const isJoined = first !== undefined && joinsEdges(node);
  const inputs = isJoined ? padded(plan.nodes[first.from]!.size) : 0;
  const size = padded(node.size);
  return {
    values: take(size * 4),
    events: take((size + PLACES_AHEAD) * 4),
    x: isJoined ? take(inputs * 4) : 0,
    xEvents: isJoined ? take((inputs + PLACES_AHEAD) * 4) : 0,
    sums: node.op.op === "conv" ? take(sumsSize(node.op) * 4) : 0,
  };
}
