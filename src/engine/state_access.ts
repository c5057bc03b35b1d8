/** Reads and writes one row's state in its canonical form, translating from the device's layout. */
import type { Plan } from "../model/plan.ts";
import { checkState, ringOf, stateTensors } from "../model/row_state.ts";
import type { RowState } from "./executor.ts";
import { type Layout, rowOffset } from "./layout.ts";

export class StateAccess {
  readonly #device: GPUDevice;
  readonly #layout: Layout;
  readonly #state: GPUBuffer;
  readonly #rings: GPUBuffer;

  constructor(device: GPUDevice, layout: Layout, state: GPUBuffer, rings: GPUBuffer) {
    this.#device = device;
    this.#layout = layout;
    this.#state = state;
    this.#rings = rings;
  }

  get #plan(): Plan {
    return this.#layout.plan;
  }

  /** The row's committed copy. Takes the plain, awaited way: this is not on the hot path. */
  async read(slot: number, copy: number): Promise<RowState> {
    const { stateWords, ringWords } = this.#layout;
    const tensors: Record<string, Float32Array> = {};
    if (stateWords === 0) return { tensors };
    const words = (stateWords + ringWords) * 4;
    const staging = this.#device.createBuffer({
      label: "state readback",
      size: words,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    const encoder = this.#device.createCommandEncoder();
    const from = rowOffset(this.#layout, slot, copy) * 4;
    encoder.copyBufferToBuffer(this.#state, from, staging, 0, stateWords * 4);
    if (ringWords > 0) {
      const at = slot * ringWords * 4;
      encoder.copyBufferToBuffer(this.#rings, at, staging, stateWords * 4, ringWords * 4);
    }
    this.#device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const row = new Uint32Array(staging.getMappedRange()).slice();
    staging.destroy();
    const values = new Float32Array(row.buffer);
    for (const { name, node, field: fieldName, size } of stateTensors(this.#plan)) {
      const field = node.state.find((each) => each.name === fieldName)!;
      if (field.type === "f32") {
        tensors[name] = values.slice(field.offset, field.offset + size);
      } else if (field.type === "bits") {
        tensors[name] = Float32Array.from(
          { length: size },
          (_, i) => (row[field.offset + (i >>> 5)]! >>> (i & 31)) & 1,
        );
      } else {
        const ring = this.#layout.rings.get(node.index)!;
        const [head, filled] = [row[field.offset]!, row[field.offset + 1]!];
        const width = ringOf(node)!.size;
        const steps = size / width;
        const line = tensors[name] = new Float32Array(size);
        for (let age = 1; age <= Math.min(steps, filled); age++) {
          const entry = (head + ring.steps - age) % ring.steps;
          const at = stateWords + ring.offset + entry * width;
          line.set(values.subarray(at, at + width), (steps - age) * width);
        }
      }
    }
    return { tensors };
  }

  /** Replaces the row's committed copy; throws, changing nothing, when names or sizes do not fit. */
  write(slot: number, copy: number, state: RowState): void {
    checkState(this.#plan, state);
    const { stateWords, ringWords } = this.#layout;
    if (stateWords === 0) return;
    const row = new Uint32Array(stateWords);
    const values = new Float32Array(row.buffer);
    for (const { name, node, field: fieldName } of stateTensors(this.#plan)) {
      const field = node.state.find((each) => each.name === fieldName)!;
      const given = state.tensors[name]!;
      if (field.type === "f32") values.set(given, field.offset);
      else if (field.type === "bits") {
        given.forEach((x, i) => {
          if (x !== 0) row[field.offset + (i >>> 5)]! |= 1 << (i & 31);
        });
      } else {
        const ring = this.#layout.rings.get(node.index)!;
        const steps = ringOf(node)!.steps;
        row.set([steps % ring.steps, steps], field.offset);
        const at = (slot * ringWords + ring.offset) * 4;
        this.#device.queue.writeBuffer(this.#rings, at, given.slice());
      }
    }
    const at = rowOffset(this.#layout, slot, copy) * 4;
    this.#device.queue.writeBuffer(this.#state, at, row);
  }
}
