/**
 * The production service against a plain model, on random seeds (see simulated_service.ts). A failing
 * seed is printed and can be run alone: GANGLION_SEED=17. `npm run campaign:sim` runs 10,000.
 */
import { describe, expect, test } from "bun:test";
import process from "node:process";
import type { BatchRow, Executor } from "../../src/engine/executor.ts";
import { Outbox } from "../../src/scheduler/outbox.ts";
import { Seat } from "../../src/scheduler/seat.ts";
import { SlotScheduler } from "../../src/scheduler/slot_scheduler.ts";
import { StreamSession } from "../../src/scheduler/stream_session.ts";
import { FaultyExecutor } from "../http/support/world.ts";
import { type MakeExecutor, plainExecutor, simulate, type Tally } from "./simulated_service.ts";

const SEEDS = Number(process.env["GANGLION_SEEDS"] ?? 300);
/** Seeds within which a planted fault must be found. */
const PLANTED_SEEDS = 120;

test(`${SEEDS} seeds: nothing lost, nothing doubled, nothing leaked`, async () => {
  const only = process.env["GANGLION_SEED"];
  const seeds = only === undefined ? Array.from({ length: SEEDS }, (_, i) => i) : [Number(only)];
  const sum: Record<string, number> = {};
  for (const seed of seeds) {
    const tally: Tally = await simulate(seed).catch((cause: unknown) => {
      throw new Error(`seed ${seed} failed; run it alone with GANGLION_SEED=${seed}`, { cause });
    });
    for (const [name, count] of Object.entries(tally)) sum[name] = (sum[name] ?? 0) + count;
  }
  if (SEEDS > 300) console.log(`tally ${JSON.stringify({ seeds: seeds.length, ...sum })}`);
  if (only === undefined) {
    for (const count of Object.values(sum)) expect(count).toBeGreaterThan(99);
  }
}, 36_000_000);

/** Does one thing instead of another as long as the action runs. */
async function instead<T extends object, K extends keyof T>(
  target: T,
  name: K,
  make: (was: T[K]) => T[K],
  action: () => Promise<void>,
): Promise<void> {
  const was = Object.getOwnPropertyDescriptor(target, name)!;
  const value = make((was.value ?? was.get) as T[K]);
  Object.defineProperty(
    target,
    name,
    was.get ? { ...was, get: value as () => unknown } : {
      ...was,
      value,
    },
  );
  try {
    await action();
  } finally {
    Object.defineProperty(target, name, was);
  }
}

/** Resolves when a seed fails. */
async function expectFound(make: MakeExecutor = plainExecutor): Promise<void> {
  for (let seed = 0; seed < PLANTED_SEEDS; seed++) {
    try {
      await simulate(seed, make);
    } catch {
      return;
    }
  }
  throw new Error(`${PLANTED_SEEDS} seeds did not find the fault`);
}

class Subject extends FaultyExecutor {
  protected readonly inner: Executor;
  constructor(plain: FaultyExecutor) {
    super(plain);
    this.inner = plain;
  }
}

/** A fresh row goes on from what the last owner left. */
class StaleOwner extends Subject {
  override step(batch: readonly BatchRow[]) {
    return super.step(batch.map((row) => ({ ...row, fresh: false })));
  }
}

/** A step that fails has moved its rows all the same. */
class WrongRowVersion extends Subject {
  override async step(batch: readonly BatchRow[]) {
    try {
      return await super.step(batch);
    } catch (error) {
      await this.inner.step(batch).catch(() => undefined);
      throw error;
    }
  }
}

/** A step that was asked for ahead runs though the one before it failed. */
class RunsOn extends Subject {
  override step(batch: readonly BatchRow[]) {
    return this.one(batch);
  }
}

describe("a planted fault is found", () => {
  test("slot leak: a session that ends keeps its slot now and then", async () => {
    let calls = 0;
    await instead(
      SlotScheduler.prototype,
      "close",
      (was) =>
        function (this: SlotScheduler, session) {
          if (++calls % 5 !== 0) was.call(this, session);
        },
      expectFound,
    );
  });

  test("double delivery: a reader that comes back gets its last event again", async () => {
    await instead(Outbox.prototype, "find", (was) =>
      function (this: Outbox, position) {
        return Math.max(this.first, was.call(this, position) - 1);
      }, expectFound);
  });

  test("lost frame: one is missing when the device is lost", async () => {
    let frames = 0;
    await instead(Seat.prototype, "note", (was) =>
      function (this: Seat, frame) {
        if (++frames % 5 !== 0) was.call(this, frame);
      }, expectFound);
  });

  test("stale owner: a new session goes on where the slot's last one was", async () => {
    await expectFound((slots) => new StaleOwner(plainExecutor(slots)));
  });

  test("wrong row version: a failed step has moved the state", async () => {
    await expectFound((slots) => new WrongRowVersion(plainExecutor(slots)));
  });

  test("runs on: a step asked for ahead runs though the one before it failed", async () => {
    await expectFound((slots) => new RunsOn(plainExecutor(slots)));
  });

  test("parked states are mixed up", async () => {
    await instead(
      SlotScheduler.prototype,
      "writeStates",
      (was) =>
        function (this: SlotScheduler, pairs) {
          const [first] = pairs;
          return was.call(this, pairs.map(([session]) => [session, first![1]]));
        },
      expectFound,
    );
  });

  test("an epoch comes a second time after a crash", async () => {
    await instead(StreamSession.prototype, "isHeld", () => (() => false) as never, expectFound);
  });
});
