/**
 * From device memory to host memory. `awaited` is the plain way. `eager` reads the mapped range right
 * after `mapAsync` was called, without awaiting it: on Deno that call has already waited for the device,
 * while its promise sleeps 10 ms more. It holds only where it was probed (src/runtime/fast_readback.ts),
 * and only for buffers that were mapped once before. What is read is checked by its stamp either way.
 */
import { type Clock, realClock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";

export type ReadbackMode = "eager" | "awaited";

/** Un-awaited maps pile up until a timer turn; Deno resolves about 128 of them a turn. */
const DRAIN_EVERY = 64;
const TIMEOUT_MS = 30_000;

export interface ReadbackOptions {
  readonly device: GPUDevice;
  readonly mode: ReadbackMode;
  readonly bytes: number;
  /** Staging buffers, taken in turn; 3 where left out. */
  readonly buffers?: number;
  readonly clock?: Clock;
}

/** A ring of staging buffers for results of at most `bytes`. */
export class Readback {
  readonly #mode: ReadbackMode;
  readonly #clock: Clock;
  readonly #buffers: GPUBuffer[];
  #turn = 0;
  #undrained = 0;
  #lost: GanglionError | null = null;
  /** Ends the wait for a map. */
  #giveUp: ((error: GanglionError) => void) | null = null;
  /** When the results of the last `read` could be read, on the clock. */
  mappedAtMs = 0;

  private constructor({ device, mode, bytes, buffers = 3, clock }: ReadbackOptions) {
    this.#mode = mode;
    this.#clock = clock ?? realClock;
    const size = Math.ceil(bytes / 4) * 4;
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    this.#buffers = Array.from(
      { length: buffers },
      () => device.createBuffer({ label: "readback", size, usage }),
    );
    // Once: what waits on this promise stays with it as long as the device works.
    void device.lost.then(({ message }) => {
      this.#lost = new GanglionError("device_lost", `The device was lost: ${message}`);
      this.#giveUp?.(this.#lost);
    });
  }

  static async create(options: ReadbackOptions): Promise<Readback> {
    const readback = new Readback(options);
    if (options.mode === "eager") {
      const buffers = readback.#buffers;
      await readback.#inTime(Promise.all(buffers.map((each) => each.mapAsync(GPUMapMode.READ))));
      for (const buffer of buffers) buffer.unmap();
    }
    return readback;
  }

  /** The buffer to copy the next result into; `read` takes the same one. */
  next(): GPUBuffer {
    this.#turn = (this.#turn + 1) % this.#buffers.length;
    return this.#buffers[this.#turn]!;
  }

  /** The first `bytes` of the buffer that `next` gave last, in a copy. Call after `submit`. */
  async read(bytes: number): Promise<Uint32Array<ArrayBuffer>> {
    const buffer = this.#buffers[this.#turn]!;
    if (this.#mode === "awaited") {
      await this.#inTime(buffer.mapAsync(GPUMapMode.READ, 0, bytes));
    } else {
      buffer.mapAsync(GPUMapMode.READ, 0, bytes).catch(() => undefined);
    }
    this.mappedAtMs = this.#clock.now();
    const words = new Uint32Array(buffer.getMappedRange(0, bytes)).slice();
    buffer.unmap();
    if (this.#mode === "eager" && ++this.#undrained >= DRAIN_EVERY) {
      this.#undrained = 0;
      await new Promise<void>((resolve) => this.#clock.after(0, resolve));
    }
    return words;
  }

  destroy(): void {
    for (const buffer of this.#buffers) buffer.destroy();
  }

  async #inTime(mapped: Promise<unknown>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#giveUp = reject;
    if (this.#lost !== null) reject(this.#lost);
    mapped.then(resolve, reject);
    const timer = this.#clock.after(TIMEOUT_MS, () => {
      reject(new GanglionError("device_lost", `The device did not answer for ${TIMEOUT_MS} ms`));
    });
    try {
      await promise;
    } finally {
      timer.cancel();
      this.#giveUp = null;
    }
  }
}
