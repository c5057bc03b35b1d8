/**
 * An executor that lives in another thread: the server's event loop stays free while a kernel or the
 * CPU executor works. The promises are the executor's own; a thread that dies is a lost device.
 */
import { GanglionError } from "../base/errors.ts";
import type {
  BatchRow,
  Executor,
  ExecutorInfo,
  RowResult,
  RowState,
  StepPhases,
} from "../engine/executor.ts";
import type { Plan } from "../model/plan.ts";
import {
  type Failure,
  type FromThread,
  packBatch,
  type Request,
  type StepResult,
  type ToThread,
  unpackResults,
  unpackStates,
} from "./protocol.ts";

/** A thread as the runtime gives it; `src/runtime/thread.ts` makes one. */
export interface Thread {
  post(message: ToThread, transfer?: readonly ArrayBufferLike[]): void;
  /** Called with each message, and once with the reason when the thread has died. */
  listen(onMessage: (message: FromThread) => void, onDeath: (reason: string) => void): void;
  terminate(): void;
}

export interface RemoteOptions {
  readonly slots: number;
  readonly frame: number;
  /** For the program in the thread. */
  readonly settings: unknown;
  readonly say?: (line: string) => void;
}

/** So many hide what the server does meanwhile, and the way there and back. */
const STEPS_AHEAD = 8;

export class RemoteExecutor implements Executor {
  readonly plan: Plan;
  readonly slots: number;
  readonly frame: number;
  readonly info: ExecutorInfo;
  readonly lost: Promise<{ reason: string }>;
  readonly #line: Line;
  #phases: StepPhases | undefined;
  readonly stepsAhead = STEPS_AHEAD;
  /** Blocks for batches that no message holds. */
  readonly #spare: ArrayBuffer[] = [];
  #series = 0;

  private constructor(plan: Plan, options: RemoteOptions, line: Line, info: ExecutorInfo) {
    this.plan = plan;
    this.slots = options.slots;
    this.frame = options.frame;
    this.info = info;
    this.lost = line.lost;
    this.#line = line;
  }

  /** Resolves when the executor in the thread is ready; rejects with its reason when it cannot be. */
  static async open(plan: Plan, thread: Thread, options: RemoteOptions): Promise<RemoteExecutor> {
    const line = new Line(thread, options.say ?? (() => undefined));
    thread.post({ type: "open", plan, settings: options.settings });
    const info = await line.ready;
    return new RemoteExecutor(plan, options, line, info);
  }

  /** As the executor in the thread told them: the way there and back is in none. */
  get phases(): StepPhases | undefined {
    return this.#phases;
  }

  async step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    const series = this.#series;
    const request = packBatch(batch, series, this.#spare.pop() ?? null);
    let result: StepResult;
    try {
      result = await this.#line.ask<StepResult>(request, [request.block]);
    } catch (error) {
      this.#series = series + 1;
      throw error;
    }
    this.#spare.push(result.block);
    this.#phases = result.phases;
    return unpackResults(result, batch, this.plan.outputSize);
  }

  async readStates(slots: readonly number[]): Promise<RowState[]> {
    const block = await this.#line.ask<ArrayBuffer>({ type: "read", slots });
    return unpackStates(this.plan, block, slots.length);
  }

  async writeState(slot: number, state: RowState): Promise<void> {
    await this.#line.ask({ type: "write", slot, state });
  }

  async close(): Promise<void> {
    await this.#line.ask({ type: "close" }).catch(() => undefined);
    this.#line.end();
  }
}

/** The questions in flight, and what becomes of them. */
class Line {
  readonly ready: Promise<ExecutorInfo>;
  readonly lost: Promise<{ reason: string }>;
  readonly #thread: Thread;
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #die: (reason: string) => void;
  #nextId = 0;
  #deadBy: string | null = null;

  constructor(thread: Thread, say: (line: string) => void) {
    this.#thread = thread;
    const ready = Promise.withResolvers<ExecutorInfo>();
    const lost = Promise.withResolvers<{ reason: string }>();
    this.ready = ready.promise;
    this.lost = lost.promise;
    thread.listen((message) => {
      switch (message.type) {
        case "say":
          return say(message.line);
        case "ready":
          return ready.resolve(message.info);
        case "failed":
          thread.terminate();
          return ready.reject(errorOf(message.failure));
        case "lost":
          return lost.resolve({ reason: message.reason });
        case "done":
          return this.#take(message.id)?.resolve(message.result);
        case "error":
          return this.#take(message.id)?.reject(errorOf(message.failure));
      }
    }, (reason) => this.#die(reason));
    this.#die = (reason) => {
      if (this.#deadBy !== null) return;
      this.#deadBy = reason;
      const error = this.#deadError();
      ready.reject(error);
      lost.resolve({ reason });
      for (const { reject } of this.#asked.values()) reject(error);
      this.#asked.clear();
    };
  }

  ask<T>(request: Request, transfer: readonly ArrayBufferLike[] = []): Promise<T> {
    if (this.#deadBy !== null) return Promise.reject(this.#deadError());
    const id = this.#nextId++;
    const asked = Promise.withResolvers<unknown>();
    this.#asked.set(id, asked);
    this.#thread.post({ ...request, id }, transfer);
    return asked.promise as Promise<T>;
  }

  /** What is still asked is rejected: nobody will answer. */
  end(): void {
    this.#thread.terminate();
    this.#die("it was closed");
  }

  #take(id: number): PromiseWithResolvers<unknown> | undefined {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    return asked;
  }

  #deadError(): GanglionError {
    return new GanglionError("device_lost", `The executor's thread has ended: ${this.#deadBy}`);
  }
}

function errorOf({ message, code, facts }: Failure): Error {
  return code === null ? new Error(message) : new GanglionError(code, message, facts);
}
