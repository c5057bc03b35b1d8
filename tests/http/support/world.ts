/**
 * A whole server in memory for tests: the real application and service over the reference executor,
 * in virtual time, with faults on demand. `send` goes through `fetch` with a real Request.
 */
import type { Clock, Timer } from "../../../src/base/clock.ts";
import { nextTurn } from "../../../src/base/clock.ts";
import { GanglionError } from "../../../src/base/errors.ts";
import { type Limits, makeLimits } from "../../../src/base/limits.ts";
import type { BatchRow, Executor, RowResult } from "../../../src/engine/executor.ts";
import { type App, type AppDeps, createApp, ServerEvents } from "../../../src/http/mod.ts";
import { ServerMetrics } from "../../../src/metrics/mod.ts";
import type { Plan } from "../../../src/model/plan.ts";
import { ReferenceExecutor } from "../../../src/reference/reference.ts";
import {
  ModelHost,
  observers,
  type Predictor,
  Service,
  type StateStore,
} from "../../../src/scheduler/mod.ts";
import { dense, input, makePlan, pointwise, Random } from "../../support/plans.ts";

/** Time that moves only when told. */
export class SimClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ at: number; action: () => void }>();

  now(): number {
    return this.#now;
  }

  wallMs(): number {
    return Date.UTC(2026, 0, 1) + this.#now;
  }

  after(ms: number, action: () => void): Timer {
    const timer = { at: this.#now + ms, action };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Fires what is due on the way, in order, and lets everything settle in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.action();
    }
    this.#now = end;
    await settle();
  }
}

/** Lets everything that can go on without time go on. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await nextTurn();
}

/** An executor whose steps fail, or wait, as the test says. */
export class FaultyExecutor implements Executor {
  readonly #inner: Executor;
  readonly #lost = Promise.withResolvers<{ reason: string }>();
  /** Asked before each step; true makes it fail. */
  fails: (batch: readonly BatchRow[], step: number) => boolean = () => false;
  /** Awaited before each step. */
  gate: Promise<void> | null = null;
  /** Asked before each step how long it takes; what it gives is awaited. */
  takes: () => Promise<void> | null = () => null;
  /** See `Executor`. */
  stepsAhead = 1;
  #last: Promise<unknown> | null = null;
  #isLost = false;
  steps = 0;
  readonly batches: (readonly BatchRow[])[] = [];

  constructor(inner: Executor) {
    this.#inner = inner;
  }

  get plan() {
    return this.#inner.plan;
  }
  get slots() {
    return this.#inner.slots;
  }
  get frame() {
    return this.#inner.frame;
  }
  get info() {
    return this.#inner.info;
  }
  get lost() {
    return this.#lost.promise;
  }

  /** The device is gone: nothing more can be had of it. `says`: it tells so itself. */
  lose({ says = true } = {}): void {
    this.#isLost = true;
    if (says) this.#lost.resolve({ reason: "test" });
  }

  step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    const before = this.#last;
    const result = before === null ? this.one(batch) : before.then(() => this.one(batch));
    this.#last = result;
    const forget = () => {
      if (this.#last === result) this.#last = null;
    };
    result.then(forget, forget);
    return result;
  }

  /** A step whose turn has come. */
  protected async one(batch: readonly BatchRow[]): Promise<RowResult[]> {
    const step = this.steps++;
    this.batches.push(batch);
    if (this.gate !== null) await this.gate;
    const taking = this.takes();
    if (taking !== null) await taking;
    if (this.fails(batch, step)) throw new Error(`injected fault in step ${step}`);
    this.#assertThere();
    const results = await this.#inner.step(batch);
    this.#assertThere();
    return results;
  }

  // deno-lint-ignore require-await -- refusals reject
  async readStates(slots: readonly number[]) {
    this.#assertThere();
    return this.#inner.readStates(slots);
  }
  // deno-lint-ignore require-await -- refusals reject
  async writeState(slot: number, state: Parameters<Executor["writeState"]>[1]) {
    this.#assertThere();
    return this.#inner.writeState(slot, state);
  }
  #assertThere(): void {
    if (this.#isLost) throw new GanglionError("device_lost", "The test has lost the device");
  }
  close() {
    return this.#inner.close();
  }
}

/** [2, 3] in, three LIF neurons out, of which each fires now and then. */
export function spikingPlan(seed = 15): Plan {
  const random = new Random(seed);
  return makePlan("spiking", [
    input([2, 3]),
    { name: "fc", inputs: ["input"], shape: [3], ...dense(random, 6, 3) },
    { name: "lif", inputs: ["fc"], shape: [3], ...pointwise(random, "lif", 3) },
  ]);
}

/** [4] in, a leaky readout of [1, 2] out: real values. */
export function leakyPlan(seed = 2): Plan {
  const random = new Random(seed);
  return makePlan("leaky", [
    input([4]),
    { name: "fc", inputs: ["input"], shape: [1, 2], ...dense(random, 4, 2) },
    { name: "li", inputs: ["fc"], shape: [1, 2], ...pointwise(random, "li", 2) },
  ]);
}

/** A disk in memory: what was written survives, what is being written does not. */
export class MemoryStore implements StateStore {
  readonly files = new Map<string, Uint8Array>();
  /** Awaited before each write. */
  gate: Promise<void> | null = null;
  /** Asked before each step how long it takes; what it gives is awaited. */
  takes: () => Promise<void> | null = () => null;
  fails = false;

  async write(id: string, bytes: Uint8Array): Promise<void> {
    if (this.gate !== null) await this.gate;
    const taking = this.takes();
    if (taking !== null) await taking;
    if (this.fails) throw new Error("disk full");
    this.files.set(id, bytes.slice());
  }

  // deno-lint-ignore require-await -- the interface is asynchronous
  async remove(id: string): Promise<void> {
    this.files.delete(id);
  }
}

export interface WorldOptions {
  /** When the device is lost another one is made; `null` from it is a failure to. */
  readonly rebuild?: (executor: FaultyExecutor) => FaultyExecutor | null;
  readonly store?: StateStore;
  /** Names of sessions; counted when left out. */
  readonly ids?: () => string;
  readonly plans?: readonly Plan[];
  readonly slots?: number;
  readonly frame?: number;
  readonly limits?: Partial<Limits>;
  readonly deps?: Partial<AppDeps>;
  readonly phase?: "starting" | "ready";
  /** The readout of each model's run. */
  readonly predictor?: () => Predictor;
}

export interface World {
  readonly app: App;
  readonly service: Service;
  readonly clock: SimClock;
  /** By model; another one after a loss. */
  readonly executors: readonly FaultyExecutor[];
  /** The first model's executor. */
  readonly executor: FaultyExecutor;
  readonly plan: Plan;
  readonly faults: unknown[];
  readonly said: string[];
  send(path: string, init?: RequestInit): Promise<Response>;
  /** Opens a session and returns its id. */
  open(body?: unknown, init?: RequestInit): Promise<string>;
  /** Posts f32 values as octet-stream. */
  post(id: string, values: Float32Array, query?: string, headers?: HeadersInit): Promise<Response>;
}

export function makeWorld(options: WorldOptions = {}): World {
  const { plans = [spikingPlan()], slots = 3, frame = 4, predictor } = options;
  const clock = new SimClock();
  const limits = makeLimits(options.limits);
  const executors = plans.map((plan) =>
    new FaultyExecutor(new ReferenceExecutor(plan, { slots, frame }))
  );
  const { rebuild } = options;
  const models = executors.map((executor, i) =>
    new ModelHost({
      id: executor.plan.name,
      executor,
      predictor,
      ...(rebuild && {
        // deno-lint-ignore require-await -- the interface is asynchronous
        rebuild: async () => {
          const fresh = new FaultyExecutor(new ReferenceExecutor(plans[i]!, { slots, frame }));
          const next = rebuild(fresh);
          if (next === null) throw new Error("no device");
          return executors[i] = next;
        },
      }),
    })
  );
  const said: string[] = [];
  let ids = 0;
  const metrics = new ServerMetrics("1.2.3", null);
  const serverEvents = new ServerEvents({
    clock,
    eventsMax: limits.serverEventsMax,
    readersMax: limits.serverReadersMax,
  });
  const service = new Service({
    models,
    clock,
    limits,
    ids: options.ids ?? (() => `session${ids++}`),
    phase: options.phase,
    observe: observers(metrics.observe, serverEvents.observe),
    store: options.store,
    say: (line) => said.push(line),
  });
  const faults: unknown[] = [];
  const app = createApp({
    service,
    clock,
    limits,
    apiKeys: [],
    corsOrigin: null,
    version: "1.2.3",
    metrics,
    serverEvents,
    onFault: (error) => faults.push(error),
    ...options.deps,
  });
  const send = async (path: string, init?: RequestInit) =>
    await app.fetch(new Request(`http://localhost${path}`, init));
  return {
    app,
    service,
    clock,
    executors,
    get executor() {
      return executors[0]!;
    },
    plan: plans[0]!,
    faults,
    said,
    send,
    async open(body = {}, init = {}) {
      const headers = { "content-type": "application/json", ...init.headers as object };
      const answer = await send("/v1/sessions", {
        method: "POST",
        body: JSON.stringify(body),
        ...init,
        headers,
      });
      if (answer.status !== 201) throw new Error(`open: ${answer.status} ${await answer.text()}`);
      return (await answer.json() as { id: string }).id;
    },
    post: (id, values, query = "", headers = {}) =>
      send(`/v1/sessions/${id}/chunks${query}`, {
        method: "POST",
        body: bytesOf(values),
        headers: { "content-type": "application/octet-stream", ...headers as object },
      }),
  };
}

export function bytesOf(values: Float32Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(values.slice().buffer as ArrayBuffer);
}

/** The outputs of one call over a whole stream: what every cut must give. */
export async function onePass(
  plan: Plan,
  stream: Float32Array,
): Promise<Float32Array<ArrayBuffer>> {
  const steps = stream.length / plan.sampleSize;
  if (steps === 0) return new Float32Array(0);
  const executor = new ReferenceExecutor(plan, { slots: 1, frame: steps });
  const [row] = await executor.step([{ slot: 0, steps, fresh: true, input: stream }]);
  return row!.output.slice();
}
