/** The awaited readback over a device made for the test: nothing stays behind with a wait that ended. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Clock } from "../../src/base/clock.ts";
import { Readback } from "../../src/engine/readback.ts";

const constants = {
  GPUBufferUsage: { MAP_READ: 1, COPY_DST: 8 },
  GPUMapMode: { READ: 1 },
};
const before = Object.keys(constants).map((name) =>
  [name, (globalThis as Record<string, unknown>)[name]] as const
);

beforeAll(() => {
  for (const [name, value] of Object.entries(constants)) {
    (globalThis as Record<string, unknown>)[name] ??= value;
  }
});
afterAll(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete (globalThis as Record<string, unknown>)[name];
  }
});

async function open({ answers }: { answers: boolean }) {
  const lost = Promise.withResolvers<{ message: string }>();
  const timers = new Set<() => void>();
  let listeners = 0;
  let refuses = false;
  const buffer = {
    mapAsync: () => {
      if (refuses) return Promise.reject(new Error("refused"));
      return answers ? Promise.resolve() : new Promise(() => undefined);
    },
    getMappedRange: (_: number, bytes: number) => new ArrayBuffer(bytes),
    unmap: () => undefined,
  };
  const device = {
    createBuffer: () => buffer,
    lost: {
      then: (...handlers: Parameters<typeof lost.promise.then>) => {
        listeners++;
        return lost.promise.then(...handlers);
      },
    },
  } as unknown as GPUDevice;
  const clock: Clock = {
    now: () => 0,
    wallMs: () => 0,
    after: (_, action) => {
      timers.add(action);
      return { cancel: () => timers.delete(action) };
    },
  };
  const readback = await Readback.create({ device, mode: "awaited", bytes: 16, clock });
  const refuse = () => {
    refuses = true;
  };
  return { readback, lose: lost.resolve, refuse, timers, listeners: () => listeners };
}

const failure = (read: Promise<unknown>) => read.then(() => "no failure", (e) => String(e));

test("reads leave neither timers nor listeners behind", async () => {
  const { readback, timers, listeners } = await open({ answers: true });
  for (let i = 0; i < 100; i++) {
    readback.next();
    expect((await readback.read(16)).length).toBe(4);
  }
  expect(timers.size).toBe(0);
  expect(listeners()).toBe(1);
});

test("a device that is lost ends the wait, and every later one", async () => {
  const { readback, lose, timers } = await open({ answers: false });
  const waiting = failure(readback.read(16));
  lose({ message: "pulled out" });
  expect(await waiting).toContain("The device was lost: pulled out");
  expect(await failure(readback.read(16))).toContain("The device was lost: pulled out");
  expect(timers.size).toBe(0);
});

test("a map that fails after the loss is nobody's unhandled rejection", async () => {
  const { readback, lose, refuse } = await open({ answers: true });
  lose({ message: "pulled out" });
  await new Promise((resolve) => setTimeout(resolve, 0));
  refuse();
  expect(await failure(readback.read(16))).toContain("pulled out");
  await new Promise((resolve) => setTimeout(resolve, 0)); // what is unhandled is told now
});

test("a device that does not answer ends the wait", async () => {
  const { readback, timers } = await open({ answers: false });
  const waiting = failure(readback.read(16));
  for (const expire of timers) expire();
  expect(await waiting).toContain("did not answer");
});
