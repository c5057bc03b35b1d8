/**
 * The CPU executor: plays the same plan as the WebGPU engine, event-driven, with the same bits. It is
 * what machines without a suitable GPU run. All it computes on is one block of memory; a step writes
 * each row's next state beside its state, and makes it the row's state when every row has run.
 */
import { assert } from "../base/assert.ts";
import { entriesOf, isPacked } from "../base/frames.ts";
import { GanglionError } from "../base/errors.ts";
import type { BatchRow, Executor, ExecutorInfo, RowResult, RowState } from "../engine/executor.ts";
import { type Plan, type Probe, probesOf } from "../model/plan.ts";
import { checkState, restState } from "../model/row_state.ts";
import { bufferOf, type Kernels, kernelsFor, takeMemory } from "./kernels.ts";
import { COPIES, mapMemory, type MemoryMap, type RowFacts } from "./memory_map.ts";
import { loadParameters } from "./parameters.ts";
import { type Probe as AfterStep, RowRunner } from "./row_runner.ts";
import { StateRows } from "./state_rows.ts";
import { type HelperThread, Team } from "./team.ts";

export interface CpuOptions {
  readonly slots: number;
  readonly frame: number;
  /** `plain` insists on loops without vectors, for tests and benches. */
  readonly kernels?: "auto" | "plain";
  /** Threads that share its work; they end with it. */
  readonly helpers?: readonly HelperThread[];
}

export class CpuExecutor implements Executor {
  readonly plan: Plan;
  readonly slots: number;
  readonly frame: number;
  readonly info: ExecutorInfo;
  readonly lost: Promise<{ reason: string }>;
  /** What its rows are computed with. */
  readonly kernels: Kernels;
  readonly #map: MemoryMap;
  readonly #floats: Float32Array;
  readonly #words: Uint32Array;
  readonly #states: StateRows;
  readonly #runner: RowRunner;
  readonly #team: Team | null;
  readonly #lose: (reason: string) => void;
  readonly #probes: ReadonlyMap<string, Probe>;
  /** By slot: which copy of its row is committed; −1 while it rests. */
  readonly #copies: Int8Array;

  constructor(plan: Plan, { slots, frame, kernels = "auto", helpers = [] }: CpuOptions) {
    this.plan = plan;
    this.slots = slots;
    this.frame = frame;
    const size = { slots, frame, threads: 1 + helpers.length };
    this.#map = mapMemory(plan, size);
    const shared = helpers.length > 0;
    const memory = takeMemory(this.#map.bytes, { shared, vectors: kernels === "auto" });
    const buffer = bufferOf(memory);
    loadParameters(plan, this.#map, buffer);
    this.kernels = kernelsFor(plan, this.#map, memory, 0);
    this.#floats = new Float32Array(buffer);
    this.#words = new Uint32Array(buffer);
    this.#states = new StateRows(plan, this.#map, buffer);
    this.#states.write(this.#map.rest, restState(plan));
    this.#runner = new RowRunner(plan, this.#map, memory, this.kernels, 0);
    const { promise, resolve } = Promise.withResolvers<{ reason: string }>();
    this.lost = promise;
    this.#lose = (reason) => resolve({ reason });
    this.#team = shared
      ? new Team(helpers, this.#map, { plan, options: size, memory }, this.#lose)
      : null;
    this.#probes = new Map(probesOf(plan).map((probe) => [probe.name, probe]));
    this.#copies = new Int8Array(slots).fill(-1);
    const how = memory instanceof WebAssembly.Memory ? "WebAssembly vectors" : "plain TypeScript";
    this.info = {
      kind: "cpu",
      device: `event-driven ${how}, ${size.threads} thread${shared ? "s" : ""}`,
      software: true,
      numerics: "exact-1",
      stateBytes: slots * COPIES * this.#map.rowBytes,
    };
  }

  // deno-lint-ignore require-await -- the interface is asynchronous, this is not
  async step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    const { roundRows } = this.#map;
    for (const row of batch) this.#check(row);
    const results: RowResult[] = [];
    for (let at = 0; at < batch.length; at += roundRows) {
      results.push(...this.#round(batch.slice(at, at + roundRows)));
    }
    for (const { slot } of batch) this.#copies[slot] = this.#nextCopy(slot);
    return results;
  }

  // deno-lint-ignore require-await -- as above
  async readStates(slots: readonly number[]): Promise<RowState[]> {
    return slots.map((slot) => this.#states.read(this.#committed(slot)));
  }

  // deno-lint-ignore require-await -- as above
  async writeState(slot: number, state: RowState): Promise<void> {
    checkState(this.plan, state);
    const copy = this.#nextCopy(slot);
    this.#states.write(this.#rowAt(slot, copy), state);
    this.#copies[slot] = copy;
  }

  // deno-lint-ignore require-await -- as above
  async close(): Promise<void> {
    this.#team?.close();
  }

  #check({ slot, steps, input }: BatchRow): void {
    assert(slot >= 0 && slot < this.slots, `slot ${slot} exists`);
    assert(steps >= 1 && steps <= this.frame, `a row runs 1 to ${this.frame} steps`);
    const entries = steps * entriesOf(input, this.plan.sampleSize);
    assert(input.length === entries, "input has its row's size");
  }

  #round(rows: readonly BatchRow[]): RowResult[] {
    const facts = rows.map((row, index) => this.#load(row, index));
    const probes = rows.map((): Record<string, Float32Array> => ({}));
    // Values are recorded on this thread.
    const alone = this.#team === null || rows.length === 1;
    const together: RowFacts[] = [];
    rows.forEach((row, i) => {
      if (row.record?.length) this.#runner.run(facts[i]!, this.#recorder(row, probes[i]!));
      else if (alone) this.#runner.run(facts[i]!);
      else together.push(facts[i]!);
    });
    if (together.length > 0) this.#runTogether(together);
    return facts.map((each, i) => ({ output: this.#output(each), probes: probes[i]! }));
  }

  #runTogether(rows: readonly RowFacts[]): void {
    try {
      this.#team!.run(rows, (row) => this.#runner.run(row));
    } catch (error) {
      if (error instanceof GanglionError && error.code === "device_lost") {
        this.#lose(error.message);
      }
      throw error;
    }
  }

  #load({ slot, steps, fresh, input }: BatchRow, index: number): RowFacts {
    const map = this.#map;
    const facts: RowFacts = {
      from: fresh ? map.rest : this.#committed(slot),
      to: this.#rowAt(slot, this.#nextCopy(slot)),
      steps,
      input: map.input + index * map.inputBytes,
      isBits: isPacked(input),
      output: map.output + index * map.outputBytes,
    };
    (isPacked(input) ? this.#words : this.#floats).set(input, facts.input >>> 2);
    return facts;
  }

  #output({ steps, output }: RowFacts): Float32Array {
    const begin = output >>> 2;
    return this.#floats.slice(begin, begin + steps * this.plan.outputSize);
  }

  /** Fills `into`, which it first sets up, with the row's recorded values. */
  #recorder({ steps, record = [] }: BatchRow, into: Record<string, Float32Array>): AfterStep {
    const wanted = record.map((name) => {
      const probe = this.#probes.get(name);
      assert(probe !== undefined, `probe "${name}" exists`);
      const { state } = this.plan.nodes[probe.node]!;
      const field = state.findIndex((each) => each.name === probe.field);
      const values = into[name] = new Float32Array(steps * probe.size);
      return { node: probe.node, size: probe.size, field, values };
    });
    return (step, read) => {
      for (const { node, size, field, values } of wanted) {
        values.set(read(node, field), step * size);
      }
    };
  }

  #committed(slot: number): number {
    const copy = this.#copies[slot]!;
    return copy < 0 ? this.#map.rest : this.#rowAt(slot, copy);
  }

  #nextCopy(slot: number): number {
    return (this.#copies[slot]! + 1) % COPIES;
  }

  #rowAt(slot: number, copy: number): number {
    return this.#map.rows + (slot * COPIES + copy) * this.#map.rowBytes;
  }
}
