/** Rows of state in the executor's memory: from and to the canonical tensors, and their delay rings. */
import type { RowState } from "../engine/executor.ts";
import type { Line } from "../host/gathers.ts";
import type { Plan, PlanNode } from "../model/plan.ts";
import { ringOf, stateTensors } from "../model/row_state.ts";
import type { MemoryMap } from "./memory_map.ts";

/** Bytes from a ring's head to its values. */
export const RING_HEADER = 16;

interface Place {
  readonly name: string;
  readonly size: number;
  /** Bytes from the row's begin. */
  readonly at: number;
  /** Values a step, of a ring. */
  readonly ringSize: number | null;
}

export class StateRows {
  readonly #floats: Float32Array;
  readonly #ints: Int32Array;
  readonly #places: readonly Place[];

  constructor(plan: Plan, map: MemoryMap, buffer: ArrayBufferLike) {
    this.#floats = new Float32Array(buffer);
    this.#ints = new Int32Array(buffer);
    this.#places = stateTensors(plan).map(({ name, node, field, size }): Place => {
      const { fields, stride, last, ring } = map.state[node.index]!;
      if (field === "last") return { name, size, at: last, ringSize: null };
      if (field === "ring") return { name, size, at: ring, ringSize: ringOf(node)!.size };
      const k = ownFields(node).indexOf(field);
      return { name, size, at: fields + k * stride, ringSize: null };
    });
  }

  /** The row at an address, in copies; rings oldest first. */
  read(row: number): RowState {
    const tensors: Record<string, Float32Array> = {};
    for (const { name, size, at, ringSize } of this.#places) {
      const begin = (row + at + (ringSize === null ? 0 : RING_HEADER)) >>> 2;
      const values = new Float32Array(this.#floats.subarray(begin, begin + size));
      if (ringSize === null) tensors[name] = values;
      else {
        const head = this.#ints[(row + at) >>> 2]! * ringSize;
        const sorted = new Float32Array(size);
        sorted.set(values.subarray(head));
        sorted.set(values.subarray(0, head), size - head);
        tensors[name] = sorted;
      }
    }
    return { tensors };
  }

  write(row: number, { tensors }: RowState): void {
    for (const { name, at, ringSize } of this.#places) {
      if (ringSize !== null) this.#ints[(row + at) >>> 2] = 0;
      const begin = (row + at + (ringSize === null ? 0 : RING_HEADER)) >>> 2;
      this.#floats.set(tensors[name]!, begin);
    }
  }
}

/** The fields that a layer or op declares, in its order. */
function ownFields({ state }: PlanNode): string[] {
  return state.map(({ name }) => name).filter((name) => name !== "last" && name !== "ring");
}

/** A delay line in the row that runs. Its bits are those of the reference's. */
export class RowLine implements Line {
  readonly #floats: Float32Array;
  readonly #ints: Int32Array;
  readonly #size: number;
  readonly #length: number;
  #at = 0; // of the head, in words

  constructor(node: PlanNode, buffer: ArrayBufferLike) {
    const { size, steps } = ringOf(node)!;
    this.#floats = new Float32Array(buffer);
    this.#ints = new Int32Array(buffer);
    this.#size = size;
    this.#length = steps;
  }

  /** Moves to another row's ring. */
  moveTo(ring: number): void {
    this.#at = ring >>> 2;
  }

  read(delay: number, element: number): number {
    const entry = (this.#ints[this.#at]! + this.#length - delay) % this.#length;
    return this.#floats[this.#at + RING_HEADER / 4 + entry * this.#size + element]!;
  }

  push(values: Float32Array): void {
    const head = this.#ints[this.#at]!;
    this.#floats.set(values, this.#at + RING_HEADER / 4 + head * this.#size);
    this.#ints[this.#at] = (head + 1) % this.#length;
  }
}
