/**
 * The public server of streams (DESIGN §3): a model on an executor, and the scheduler over it. Fails in
 * `create`, with the reason, rather than at the first frame.
 */
import { GanglionError } from "./base/errors.ts";
import { LIMITS } from "./base/limits.ts";
import { chooseExecutor, type DeviceChoice } from "./choose_executor.ts";
import type { Executor, ExecutorInfo } from "./engine/mod.ts";
import { loadModel, type LoadOptions, type ModelSource } from "./load_model.ts";
import type { Plan } from "./model/mod.ts";
import { type Session, SlotScheduler } from "./scheduler/mod.ts";

export interface StreamServerOptions extends LoadOptions {
  /** Sessions that can be open at once. */
  readonly slots: number;
  /** Time steps of a frame, 1 to 256. */
  readonly frame: number;
  /** Shape of one time step of input; must be the model's. */
  readonly sampleShape: readonly number[];
  /** `submit` takes 1 to `frame` steps instead of exactly `frame`. */
  readonly partialFrames?: boolean;
  /** `auto` (default): WebGPU where it works, else the CPU. */
  readonly device?: DeviceChoice;
  /** Threads of the CPU executor, 1 where not given; the others end with the server. */
  readonly cpuThreads?: number;
  /** Gets a line for each thing that was decided, e.g. why the CPU runs. */
  readonly say?: (line: string) => void;
}

/**
 * Serves streams of one model: many sessions, each with its own state, advanced together.
 *
 * @example
 * See the head of `src/mod.ts`.
 */
export class StreamServer extends SlotScheduler implements AsyncDisposable {
  readonly plan: Plan;
  readonly #sessions = new Set<Session>();
  #closed: Promise<void> | null = null;

  private constructor(executor: Executor, partialFrames: boolean) {
    super(executor, { partialFrames });
    this.plan = executor.plan;
  }

  /**
   * Reads and compiles the model, chooses the executor, and proves that the model can stream.
   *
   * @param model Path to a `.nir` file, its bytes, a graph, or a compiled plan.
   * @throws GanglionError `model_unreadable`, `model_invalid`, `model_unsupported` naming the node;
   *   `bad_array` when `sampleShape` is not the model's; `usage` for a wrong option;
   *   `device_unavailable` when the device that was asked for is not there.
   */
  static async create(model: ModelSource, options: StreamServerOptions): Promise<StreamServer> {
    const { slots, frame, sampleShape, partialFrames = false, ...rest } = options;
    const { device, cpuThreads, say, ...load } = rest;
    checkWithin("slots", slots);
    checkWithin("frame", frame);
    const plan = await loadModel(model, load);
    if (!sameShape(plan.sampleShape, sampleShape)) {
      throw new GanglionError(
        "bad_array",
        `The model "${plan.name}" takes samples of shape [${plan.sampleShape.join(", ")}], ` +
          `sampleShape is [${sampleShape.join(", ")}]`,
        { sample_shape: plan.sampleShape },
      );
    }
    const executor = await chooseExecutor(plan, {
      slots,
      frame,
      ...(device === undefined ? {} : { device }),
      ...(cpuThreads === undefined ? {} : { cpuThreads }),
      ...(say === undefined ? {} : { say }),
    });
    return new StreamServer(executor, partialFrames);
  }

  /** What computes: kind, device, numerics tag, bytes of state. */
  get info(): ExecutorInfo {
    return this.executor.info;
  }

  override open(): Session {
    if (this.#closed !== null) throw new GanglionError("draining", "The server is closed");
    const session = super.open();
    this.#sessions.add(session);
    return session;
  }

  /** Ends a session: its slot is free, its waiting frames are cancelled. */
  override close(session: Session): void;
  /** Ends every session, waits for a step that runs, and frees the device. */
  override close(): Promise<void>;
  override close(session?: Session): void | Promise<void> {
    if (session === undefined) return this.#closed ??= this.#closeAll();
    super.close(session);
    this.#sessions.delete(session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #closeAll(): Promise<void> {
    for (const session of this.#sessions) super.close(session);
    this.#sessions.clear();
    await this.step(); // nothing waits: this only waits for its turn
    await this.executor.close();
  }
}

function checkWithin(name: "slots" | "frame", value: number): void {
  const { min, max } = LIMITS[name];
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new GanglionError(
      "usage",
      `${name} must be a whole number from ${min} to ${max}, got ${value}`,
    );
  }
}

function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((axis, i) => axis === b[i]);
}
