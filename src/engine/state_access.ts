/**
 * Reads and writes rows' states in their canonical form, translating from the device's layout. All rows
 * that are asked for at once come in one submit and one map (several where they are many), behind a
 * stamp by which data of another read is told.
 */
import { GanglionError } from "../base/errors.ts";
import type { StateField } from "../model/plan.ts";
import { checkState, ringOf, stateTensors } from "../model/row_state.ts";
import type { RowState } from "./executor.ts";
import { type Layout, rowOffset } from "./layout.ts";
import { Readback, type ReadbackMode } from "./readback.ts";

/** Words before the rows that are read: the stamp. It has one place, where only stamps ever lie. */
const HEADER_WORDS = 1;

export interface StateAccessOptions {
  readonly device: GPUDevice;
  readonly layout: Layout;
  readonly state: GPUBuffer;
  readonly rings: GPUBuffer;
  /** By slot: which copy of its row is committed. The engine changes it. */
  readonly copies: Uint8Array;
  readonly readback: ReadbackMode;
  readonly onSubmit: () => void;
  /** Throws what the device has reported since it was last asked. */
  readonly throwFault: () => void;
}

/** Where a tensor lies in a row. */
interface Place {
  readonly name: string;
  readonly type: StateField["type"];
  /** Words from the row's begin. */
  readonly offset: number;
  readonly size: number;
  /** Where a delay ring lies in the row's rings, its length in steps, and values a step. */
  readonly ring: { readonly offset: number; readonly steps: number; readonly width: number } | null;
}

export class StateAccess {
  readonly #options: StateAccessOptions;
  readonly #places: readonly Place[];
  readonly #stamp: GPUBuffer;
  #generation = 0;
  /** Made by the first read; another one when more is read, and after a read that failed. */
  #readback: { readonly bytes: number; readonly staging: Readback } | null = null;
  /** The last read, over well or not: there is one staging buffer. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: StateAccessOptions) {
    this.#options = options;
    const { device, layout } = options;
    this.#places = placesIn(layout);
    this.#stamp = device.createBuffer({
      label: "state stamp",
      size: HEADER_WORDS * 4,
      usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
  }

  /** The rows' committed copies, in order. */
  read(slots: readonly number[]): Promise<RowState[]> {
    const read = this.#last.then(() => this.#read(slots));
    this.#last = read.then(() => undefined, () => undefined);
    return read;
  }

  /** Replaces the row's committed copy; throws, changing nothing, when names or sizes do not fit. */
  write(slot: number, state: RowState): void {
    const { device, layout, copies, state: rows, rings } = this.#options;
    const { plan, stateWords, ringWords } = layout;
    checkState(plan, state);
    if (stateWords === 0) return;
    const row = new Uint32Array(stateWords);
    const values = new Float32Array(row.buffer);
    for (const { name, type, offset, size, ring } of this.#places) {
      const given = state.tensors[name]!;
      if (type === "f32") values.set(given, offset);
      else if (ring === null) {
        given.forEach((x, i) => {
          if (x !== 0) row[offset + (i >>> 5)]! |= 1 << (i & 31);
        });
      } else {
        const steps = size / ring.width;
        row.set([steps % ring.steps, steps], offset);
        const at = (slot * ringWords + ring.offset) * 4;
        device.queue.writeBuffer(rings, at, given.slice());
      }
    }
    device.queue.writeBuffer(rows, rowOffset(layout, slot, copies[slot]!) * 4, row);
  }

  destroy(): void {
    this.#drop();
    this.#stamp.destroy();
  }

  async #read(slots: readonly number[]): Promise<RowState[]> {
    const { stateWords, statesMax } = this.#options.layout;
    if (stateWords === 0) return slots.map(() => ({ tensors: {} }));
    const states: RowState[] = [];
    for (let at = 0; at < slots.length; at += statesMax) {
      const part = slots.slice(at, at + statesMax);
      const words = await this.#fetch(part).catch((error: unknown) => {
        this.#drop(); // its buffer may still be mapped
        throw error;
      });
      for (const i of part.keys()) states.push(this.#unpack(words, i));
    }
    return states;
  }

  /** The stamp and the rows as they lie on the device, each its state and then its rings. */
  async #fetch(slots: readonly number[]): Promise<Uint32Array<ArrayBuffer>> {
    const { device, layout, copies, state, rings, onSubmit, throwFault } = this.#options;
    const { stateWords, ringWords } = layout;
    const bytes = 4 * (HEADER_WORDS + slots.length * (stateWords + ringWords));
    const readback = await this.#readbackFor(bytes);
    const generation = this.#generation = (this.#generation + 1) >>> 0;
    device.queue.writeBuffer(this.#stamp, 0, new Uint32Array([generation]));
    const encoder = device.createCommandEncoder();
    const staging = readback.next();
    let to = 4 * HEADER_WORDS;
    const take = (from: GPUBuffer, word: number, words: number) => {
      encoder.copyBufferToBuffer(from, word * 4, staging, to, words * 4);
      to += words * 4;
    };
    for (const slot of slots) {
      take(state, rowOffset(layout, slot, copies[slot]!), stateWords);
      if (ringWords > 0) take(rings, slot * ringWords, ringWords);
    }
    encoder.copyBufferToBuffer(this.#stamp, 0, staging, 0, 4 * HEADER_WORDS);
    device.queue.submit([encoder.finish()]);
    onSubmit();
    const words = await readback.read(bytes);
    throwFault();
    if (words[0] !== generation) {
      throw new GanglionError("device_lost", "The device returned states of another read");
    }
    return words;
  }

  /** Grows to twice its size at least, up to a part's: each time costs a map that is awaited. */
  async #readbackFor(bytes: number): Promise<Readback> {
    const held = this.#readback?.bytes ?? 0;
    if (bytes <= held) return this.#readback!.staging;
    this.#drop();
    const { device, layout, readback: mode } = this.#options;
    const { stateWords, ringWords, statesMax } = layout;
    const most = 4 * (HEADER_WORDS + statesMax * (stateWords + ringWords));
    const size = Math.max(bytes, Math.min(most, 2 * held));
    const staging = await Readback.create({ device, mode, bytes: size, buffers: 1 });
    this.#readback = { bytes: size, staging };
    return staging;
  }

  #drop(): void {
    this.#readback?.staging.destroy();
    this.#readback = null;
  }

  /** The state of the row of this index, in copies; rings oldest first. */
  #unpack(words: Uint32Array<ArrayBuffer>, index: number): RowState {
    const { stateWords, ringWords } = this.#options.layout;
    const row = HEADER_WORDS + index * (stateWords + ringWords);
    const values = new Float32Array(words.buffer);
    const tensors: Record<string, Float32Array> = {};
    for (const { name, type, offset, size, ring } of this.#places) {
      const at = row + offset;
      if (type === "f32") {
        tensors[name] = values.slice(at, at + size);
        continue;
      }
      const tensor = tensors[name] = new Float32Array(size);
      if (ring === null) {
        for (let i = 0; i < size; i++) tensor[i] = (words[at + (i >>> 5)]! >>> (i & 31)) & 1;
        continue;
      }
      const [head, filled] = [words[at]!, words[at + 1]!];
      const steps = size / ring.width;
      for (let age = 1; age <= Math.min(steps, filled); age++) {
        const entry = (head + ring.steps - age) % ring.steps;
        const from = row + stateWords + ring.offset + entry * ring.width;
        tensor.set(values.subarray(from, from + ring.width), (steps - age) * ring.width);
      }
    }
    return { tensors };
  }
}

function placesIn({ plan, rings }: Layout): Place[] {
  return stateTensors(plan).map(({ name, node, field: fieldName, size }) => {
    const { type, offset } = node.state.find((each) => each.name === fieldName)!;
    const ring = type === "f32" || type === "bits" ? null : {
      ...rings.get(node.index)!,
      width: ringOf(node)!.size,
    };
    return { name, type, offset, size, ring };
  });
}
