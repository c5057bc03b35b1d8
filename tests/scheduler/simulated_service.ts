/**
 * A seeded simulation of the production service in virtual time: random opens, chunks, repeats, cancels,
 * resets, readers that leave and come back, parks, forks, snapshots, step faults, device losses, kills
 * and restarts. Every session has a twin, a single row of the reference, which the events of its reader
 * drive: an event that is not the next one, or an output of other bits, throws.
 */
import { expect } from "bun:test";
import { GanglionError } from "../../src/base/errors.ts";
import { makeLimits } from "../../src/base/limits.ts";
import { packBits } from "../../src/base/numeric.ts";
import {
  decodeSession,
  decodeSnapshot,
  encodeSnapshot,
  type Snapshot,
} from "../../src/checkpoint/mod.ts";
import { restState } from "../../src/model/row_state.ts";
import { ReferenceExecutor } from "../../src/reference/reference.ts";
import { ModelHost, Service, type StateStore } from "../../src/scheduler/mod.ts";
import { assertSameBits } from "../contract/cases.ts";
import { FaultyExecutor, SimClock } from "../http/support/world.ts";
import { Random } from "../support/plans.ts";
import { Client, codeOf, FRAME, type Moment, PLAN, SAMPLE } from "./simulated_client.ts";

const OPERATIONS = 60;

/** What tests plant: another executor. */
export type MakeExecutor = (slots: number) => FaultyExecutor;

export const plainExecutor: MakeExecutor = (slots) =>
  new FaultyExecutor(new ReferenceExecutor(PLAN, { slots, frame: FRAME }));

/** A disk whose writes take a while; a process that was killed writes nothing more. */
class Disk {
  readonly files = new Map<string, Uint8Array>();

  mount(clock: SimClock, random: Random): StateStore & { isDead: boolean } {
    const store = {
      isDead: false,
      write: async (id: string, bytes: Uint8Array) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        clock.after(random.int(0, 4), resolve);
        await promise;
        if (!store.isDead) this.files.set(id, bytes);
      },
      // deno-lint-ignore require-await -- the interface is asynchronous
      remove: async (id: string) => {
        if (!store.isDead) this.files.delete(id);
      },
    };
    return store;
  }
}

export interface Tally {
  outputs: number;
  losses: number;
  restarts: number;
  parks: number;
}

class Simulation {
  readonly random: Random;
  readonly #make: MakeExecutor;
  readonly #disk = new Disk();
  readonly #slots: number;
  readonly #sessionsMax: number;
  /** Half of the seeds have an executor that takes steps ahead. */
  readonly #stepsAhead: number;
  /** Steps of every other of those take time, so that much happens while several are under way. */
  readonly #stepMsMax: number;
  readonly clients: Client[] = [];
  readonly tally: Tally = { outputs: 0, losses: 0, restarts: 0, parks: 0 };
  #clock = new SimClock();
  #store!: ReturnType<Disk["mount"]>;
  #host!: ModelHost;
  #executor!: FaultyExecutor;
  #service!: Service;
  #faultRate = 0;
  #absentRate = 0.3;
  #ids = 0;
  #drawn = 0;

  constructor(seed: number, make: MakeExecutor) {
    this.random = new Random(Math.imul(seed + 1, 0x9e3779b1) >>> 0);
    this.#make = make;
    this.#stepsAhead = seed % 2 === 0 ? 1 : 3;
    this.#stepMsMax = seed % 4 === 3 ? 4 : 0;
    this.#slots = this.random.int(1, this.#stepMsMax > 0 ? 5 : 3);
    this.#sessionsMax = this.random.next() < 0.5 ? 0 : this.#slots + this.random.int(0, 5);
    this.#begin();
  }

  get service(): Service {
    return this.#service;
  }

  async run(): Promise<void> {
    this.#faultRate = this.random.next() < 0.5 ? 0 : this.random.next() * 0.3;
    const pauseMsMax = this.#stepMsMax > 0 ? 2 * this.#stepMsMax : 25;
    for (let n = 0; n < OPERATIONS; n++) {
      await this.#operate();
      await this.#clock.advance(this.random.next() < 0.1 ? 300 : this.random.int(0, pauseMsMax));
      this.#check();
      for (const client of this.clients) {
        if (this.random.next() < 0.6) await client.pull();
        else if (this.random.next() < 0.3) client.disconnect();
      }
    }
    this.#faultRate = this.#absentRate = 0;
    for (let i = 0; i < 100 && this.clients.some((each) => !each.session.isQuiet); i++) {
      await this.#clock.advance(500);
    }
    for (const client of this.clients) {
      await client.pull();
      client.expectAll();
      this.tally.outputs += client.history.length;
      this.#service.end(client.session, "closed");
    }
    await this.#clock.advance(40_000);
    expect(this.#host.scheduler.slotsFree).toBe(this.#slots);
    expect(this.#disk.files.size).toBe(0);
    this.#service.close();
  }

  /** A process begins, with what the disk has. */
  #begin(): void {
    this.#clock = new SimClock();
    this.#store = this.#disk.mount(this.#clock, this.random);
    this.#executor = this.#newExecutor();
    this.#host = new ModelHost({
      id: PLAN.name,
      executor: this.#executor,
      // deno-lint-ignore require-await -- the interface is asynchronous
      rebuild: async () => {
        if (this.random.next() < this.#absentRate) throw new Error("no device yet");
        return this.#executor = this.#newExecutor();
      },
    });
    this.#service = new Service({
      models: [this.#host],
      clock: this.#clock,
      limits: makeLimits({
        frame: FRAME,
        slots: this.#slots,
        sessionsMax: this.#sessionsMax,
        checkpointSteps: 9,
        checkpointMs: 60,
        queueStepsMax: 40,
        lifetimeSeconds: 0,
      }),
      ids: () => `session${this.#ids++}`,
      store: this.#store,
    });
  }

  #newExecutor(): FaultyExecutor {
    const executor = this.#make(this.#slots);
    executor.fails = () => this.random.next() < this.#faultRate;
    executor.stepsAhead = this.#stepsAhead;
    if (this.#stepMsMax > 0) {
      executor.takes = () => this.#sleep(this.random.int(0, this.#stepMsMax));
    }
    return executor;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }

  async #operate(): Promise<void> {
    const { random } = this;
    const client = this.clients[random.int(0, this.clients.length - 1)];
    const dice = random.next();
    if (client === undefined || dice < 0.1) await this.#open();
    else if (dice < 0.5) this.#send(client);
    else if (dice < 0.56) await this.#cancel(client);
    else if (dice < 0.61) await this.#reset(client);
    else if (dice < 0.7) await this.#park(client);
    else if (dice < 0.75) await this.#fork(client);
    else if (dice < 0.82) await this.#copyState(client);
    else if (dice < 0.86) this.#close(client);
    else if (dice < 0.94) this.#lose();
    else await this.#restart();
  }

  /** Lets time go on until a promise has settled; its value, or the code of its refusal. */
  async #wait<T>(promise: Promise<T>): Promise<T | string> {
    let outcome: { value: T | string } | { fault: unknown } | null = null;
    promise.then((value) => outcome = { value }, (error: unknown) => {
      outcome = error instanceof GanglionError ? { value: error.code } : { fault: error };
    });
    for (let i = 0; outcome === null && i < 2000; i++) await this.#clock.advance(25 + i);
    const settled = outcome as { value: T | string } | { fault: unknown } | null;
    expect(settled).not.toBe(null);
    if ("fault" in settled!) throw settled.fault;
    return settled!.value;
  }

  async #open(): Promise<void> {
    const session = await this.#wait(this.#service.open({ ttlSeconds: 0 }));
    if (typeof session === "string") return expect(["no_slot", "device_lost"]).toContain(session);
    this.clients.push(new Client(session, restState(PLAN), 0));
  }

  #send(client: Client): void {
    const { random } = this;
    const { queue } = client.session;
    if (random.next() < 0.1 && queue.nextSeq > 0) return this.#repeat(client);
    const steps = random.int(1, this.#stepMsMax > 0 ? 20 : 7);
    const drawn = random.floats(steps * SAMPLE, -1, 2);
    // Some chunks are spikes and come as bits.
    const isSpikes = steps % 3 === 0;
    const values = isSpikes ? drawn.map((x) => x > 0.5 ? 1 : 0) : drawn;
    const reset = random.next() < 0.08;
    const next = queue.nextSeq;
    // Few spikes are often the same: a chunk is known by its number here.
    const digest = `${client.id} ${this.#drawn++} ${steps} ${values.join()}`;
    const seq = random.next() < 0.5 ? undefined : next;
    const send = (): string => {
      try {
        const { chunk, isRepeat } = this.#service.submit(client.session, {
          values: isSpikes ? packBits(values, steps) : values,
          steps,
          reset,
          digest,
          ...(seq === undefined ? {} : { seq }),
        });
        expect([chunk.seq, isRepeat]).toEqual([next, false]);
        const { epoch } = client.session;
        client.accepted({ seq: next, epoch, values: values.slice(), steps, reset, digest });
        return "ok";
      } catch (error) {
        return codeOf(error);
      }
    };
    let code = send();
    if (client.mustBeRefused && seq === undefined) expect(code).toBe("rolled_back");
    client.mustBeRefused = false;
    if (code === "rolled_back") {
      expect(seq).toBe(undefined);
      code = send();
    }
    expect(["ok", "queue_full"]).toContain(code);
  }

  #repeat(client: Client): void {
    const seq = this.random.int(0, client.session.queue.nextSeq - 1);
    const sent = client.chunks.get(seq)?.at(-1);
    if (sent === undefined || client.cancelled.has(sent.digest)) return;
    const { values, steps, reset, digest } = sent;
    client.mustBeRefused = false;
    const { isRepeat } = this.#service.submit(client.session, {
      values,
      steps,
      reset,
      seq,
      digest,
    });
    expect(isRepeat).toBe(true);
  }

  async #cancel(client: Client): Promise<void> {
    const seq = client.session.queue.nextSeq - this.random.int(1, 3);
    try {
      client.session.cancel(seq);
      client.cancelled.add(client.chunks.get(seq)!.at(-1)!.digest);
    } catch (error) {
      expect(["chunk_running", "chunk_done", "chunk_unknown"]).toContain(codeOf(error));
      return;
    }
    await this.#wait(this.#service.keep([client.session]));
  }

  async #reset(client: Client): Promise<void> {
    await client.pull();
    if (!client.session.isQuiet) {
      expect(() => client.session.reset()).toThrow("frames waiting");
      return;
    }
    client.session.reset();
    const { epoch } = client.session;
    client.history.push({ ...client.now, epoch, state: restState(PLAN) });
    await this.#wait(this.#service.keep([client.session]));
  }

  async #park(client: Client): Promise<void> {
    const parking = Promise.resolve().then(() => this.#service.park(client.session));
    const code = await this.#wait(parking);
    if (code !== undefined) expect(code).toBe("session_busy");
    else this.tally.parks++;
  }

  /** Where a session stood at a step, by what its reader has been told. */
  async #momentAt(client: Client, step: number): Promise<Moment> {
    await client.pull();
    const moment = client.history.findLast((each) => each.step === step);
    expect(moment).toBeDefined();
    return moment!;
  }

  async #fork(client: Client): Promise<void> {
    const session = await this.#wait(this.#service.fork(client.session));
    if (typeof session === "string") return expect(session).toBe("no_slot");
    const { state, step } = await this.#momentAt(client, session.stepsDone);
    this.clients.push(new Client(session, state, step));
  }

  /** A snapshot of one session, as a file, becomes the state of another. */
  async #copyState(from: Client): Promise<void> {
    const snapshot = await this.#wait(this.#service.snapshot(from.session));
    if (typeof snapshot === "string") throw new Error(snapshot);
    const moment = await this.#momentAt(from, snapshot.step);
    const file = encodeSnapshot(PLAN, snapshot);
    const read = decodeSnapshot(file, { plan: PLAN, numerics: "exact-1", allowInexact: false });
    for (const [name, values] of Object.entries(moment.state.tensors)) {
      assertSameBits(read.state.tensors[name]!, values, name);
    }
    if (this.random.next() < 0.3) return await this.#openWith(read, moment);
    const to = this.clients[this.random.int(0, this.clients.length - 1)]!;
    await to.pull();
    const restoring = Promise.resolve().then(() => this.#service.restore(to.session, read));
    const code = await this.#wait(restoring);
    if (code !== undefined) return expect(code).toBe("session_busy");
    const { epoch } = to.session;
    const { state, step } = moment;
    const seq = to.session.queue.nextSeq;
    to.replaced({ epoch, step, state, seq, offset: 0 });
    await this.#wait(this.#service.keep([to.session]));
  }

  async #openWith(snapshot: Snapshot, { state, step }: Moment): Promise<void> {
    const session = await this.#wait(this.#service.open({ ttlSeconds: 0, snapshot }));
    if (typeof session === "string") return expect(["no_slot", "device_lost"]).toContain(session);
    this.clients.push(new Client(session, state, step));
  }

  #close(client: Client): void {
    this.#service.end(client.session, "closed");
    this.clients.splice(this.clients.indexOf(client), 1);
  }

  #lose(): void {
    this.tally.losses++;
    this.#executor.lose({ says: this.random.next() < 0.6 });
  }

  /** The process is killed, or ends in good order; another one goes on. */
  async #restart(): Promise<void> {
    this.tally.restarts++;
    if (this.random.next() < 0.4) {
      void this.#service.drain();
      await this.#clock.advance(this.random.int(0, 50));
      expect(await this.#wait(this.#service.suspend())).toBe(true);
    } else for (const each of this.clients) each.durableSeq = each.session.durableSeq ?? -1;
    this.#store.isDead = true;
    this.#service.close();
    this.#begin();
    for (const bytes of this.#disk.files.values()) this.#service.resume(decodeSession(bytes));
    const open = new Map(this.#service.sessions().map((session) => [session.id, session]));
    for (const client of [...this.clients]) {
      const session = open.get(client.id);
      if (session !== undefined) client.moved(session);
      // Only one of which nothing was durable may be gone.
      else {
        expect(client.durableSeq).toBe(-1);
        this.clients.splice(this.clients.indexOf(client), 1);
      }
      open.delete(client.id);
    }
    // One that was closed just before may be back: nobody knows of it any more.
    for (const session of open.values()) this.#service.end(session, "closed");
    await this.#wait(this.#service.keep());
    for (const client of this.clients) await client.pull();
    for (const client of this.clients) client.durableSeq = -1;
  }

  /** After every event: slots are conserved, each is held by one, and nobody is forgotten. */
  #check(): void {
    const sessions = this.#service.sessions();
    expect(sessions.map(({ id }) => id).sort()).toEqual(this.clients.map(({ id }) => id).sort());
    const held = sessions.flatMap(({ seat }) => seat.slot === null ? [] : [seat.slot.slot]);
    expect(new Set(held).size).toBe(held.length);
    try {
      this.#service.assertReady();
    } catch (error) {
      return expect(codeOf(error)).toBe("device_lost"); // its slots count for nothing
    }
    expect(this.#host.scheduler.slotsFree + held.length).toBe(this.#slots);
  }
}

/** Runs one seed; throws when anything is not as it should be. */
export async function simulate(
  seed: number,
  make: MakeExecutor = plainExecutor,
): Promise<Tally> {
  const simulation = new Simulation(seed, make);
  await simulation.run();
  return simulation.tally;
}
