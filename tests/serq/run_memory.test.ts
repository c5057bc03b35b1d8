/**
 * Memory of a run that observes nothing: what is alive is the same early and late, whatever has passed,
 * but for the 8 bytes of each time that the client of a turn saw, as the report needs them all.
 */
import { expect, test } from "bun:test";
import process from "node:process";
import { compile, Interpreter } from "../../src/serq/mod.ts";

const HORIZON = 60_000;
const EARLY = 2_000;
const PROBES = 8;
/** One session, job, frame or event that is kept a turn would be tens of MiB. */
const SLACK = 512 << 10;

const PROGRAMS: Readonly<Record<string, string>> = {
  fifo: `stage s : fifo;
    workload { arrive poisson(0.7); }
    server { run s (cost(s, ~exp(1))); }`,
  "processor sharing": `stage s : ps(1);
    workload { arrive poisson(0.7); }
    server { run s (cost(s, ~h2(1, 4))); }`,
  "a pool with a cache": `pool kv { cap 20; block 2; preempt lifo; }
    stage d : delay;
    workload { arrive poisson(0.5); session { turn; tool (~exp(1)); turn; } }
    server {
      hold kv (cost(kv, 4)) {
        run d (cost(d, ~exp(1)));
        grow kv (cost(kv, 2));
      } cache (cost(kv, 4));
    }`,
};

function aliveBytes({ client }: Interpreter["machine"]): number {
  Bun.gc(true);
  const kept = Object.values(client).reduce((sum, { values }) => sum + values.capacity, 0);
  return process.memoryUsage().heapUsed - 8 * kept;
}

test.each(Object.entries(PROGRAMS))("%s", (_, text) => {
  const interpreter = new Interpreter(compile(`fn main() { ${text} }`, { horizon: HORIZON }));
  const { machine } = interpreter;
  const until = (time: number): number => {
    while (machine.now < time && interpreter.step());
    return aliveBytes(machine);
  };
  const early = Math.max(until(EARLY / 2), until(EARLY));
  const late = Array.from(
    { length: PROBES },
    (__, i) => until(EARLY + (HORIZON - EARLY) * (i + 1) / PROBES),
  );
  expect(machine.events).toBeGreaterThan(60_000);
  expect(machine.client.response.values.capacity).toBeLessThan(2 * machine.turns);
  expect(Math.max(...late)).toBeLessThan(early + SLACK);
}, 60_000);
