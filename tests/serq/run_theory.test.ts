/**
 * Queueing theory: the mean of ten replications lies within its own 99 % confidence interval of the
 * formula. The seeds are fixed, so a failure is a change, not chance.
 */
import { describe, expect, test } from "bun:test";
import { compile } from "../../src/serq/compile.ts";
import { Interpreter } from "../../src/serq/interpreter.ts";
import { type Report, reportOf } from "../../src/serq/report.ts";

/** Student's t for 99 % with 9 degrees of freedom. */
const STUDENT = 3.25;
const SEEDS = 10;
const HORIZON = 8000;
const WARMUP = 800;

interface Estimate {
  readonly mean: number;
  /** Half width of the 99 % interval over replications. */
  readonly halfWidth: number;
}

/** Replications with ten seeds, and what `read` finds in each. */
function simulate(
  stage: string,
  arrive: string,
  server: string,
  read: (report: Report) => number,
): Estimate {
  const text = `fn main() { ${stage} workload { arrive ${arrive}; } server { ${server} } }`;
  const means = Array.from({ length: SEEDS }, (_, i) => {
    const program = compile(text, { horizon: HORIZON, warmup: WARMUP, seed: i + 1 });
    const interpreter = new Interpreter(program);
    interpreter.run();
    return read(reportOf(interpreter));
  });
  const mean = means.reduce((sum, value) => sum + value, 0) / SEEDS;
  const squares = means.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, halfWidth: STUDENT * Math.sqrt(squares / (SEEDS - 1) / SEEDS) };
}

const responseOf = (report: Report) => report.observes["response"]!.mean;

/** Response time of one visit to `s` with the work of a law. */
function response(stage: string, rate: number, law: string): Estimate {
  const visit = `set t = now; run s (cost(s, ${law})); observe response = now - t;`;
  return simulate(stage, `poisson(${rate})`, visit, responseOf);
}

function expectNear({ mean, halfWidth }: Estimate, formula: number): void {
  expect(Math.abs(mean - formula)).toBeLessThanOrEqual(halfWidth);
  // An interval that holds everything says nothing.
  expect(halfWidth).toBeLessThan(0.2 * formula);
}

/** The probability that an arrival at M/M/c waits. */
function erlangC(servers: number, load: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; k < servers; k++) {
    term *= load / k;
    sum += term;
  }
  const last = term * load / servers / (1 - load / servers);
  return last / (sum + last);
}

describe("queueing theory", () => {
  test("M/M/1", () => {
    expectNear(response("stage s : fifo;", 0.7, "~exp(1)"), 1 / (1 - 0.7));
  });
  test("Little's law", () => {
    const visit = "set t = now; run s (cost(s, ~exp(1))); observe response = now - t;";
    const ratio = simulate("stage s : fifo;", "poisson(0.5)", visit, (report) => {
      const { mean_number: number, throughput } = report.stages[0]!;
      return number / (throughput * responseOf(report));
    });
    expectNear(ratio, 1);
  });
  test("M/M/3", () => {
    const wait = erlangC(3, 2.1) / (3 - 2.1);
    expectNear(response("stage s : fifo(3);", 2.1, "~exp(1)"), 1 + wait);
  });
  test("M/D/1", () => {
    expectNear(response("stage s : fifo;", 0.7, "~det(1)"), 1 + 0.7 / (2 * (1 - 0.7)));
  });
  test("M/G/1, Pollaczek and Khinchine", () => {
    const second = 4 + 1; // squared coefficient of variation 4, mean 1
    expectNear(response("stage s : fifo;", 0.5, "~h2(1, 4)"), 1 + 0.5 * second / (2 * 0.5));
  });
  test("M/E2/1", () => {
    expectNear(response("stage s : fifo;", 0.6, "~erlang(2, 1)"), 1 + 0.6 * 1.5 / (2 * 0.4));
  });
  test("M/G/1 processor sharing is insensitive to the law", () => {
    for (const law of ["~exp(1)", "~h2(1, 4)", "~det(1)"]) {
      expectNear(response("stage s : ps(1);", 0.5, law), 1 / (1 - 0.5));
    }
  });
  test("M/G/inf", () => {
    const live = simulate(
      "stage s : delay; gauge live = queue(s);",
      "poisson(2)",
      "run s (cost(s, ~uniform(0, 3)));",
      (report) => report.gauges["live"]!.mean,
    );
    expectNear(live, 2 * 1.5);
  });
  test("closed network: one fifo server and a delay, by mean value analysis", () => {
    const think = 4;
    const service = 1;
    const population = 6;
    let queue = 0;
    let inside = 0;
    for (let n = 1; n <= population; n++) {
      inside = service * (1 + queue);
      queue = n * inside / (think + inside);
    }
    const visit =
      `run d (cost(d, ~exp(${think}))); set t = now; run s (cost(s, ~exp(${service})));`;
    const found = simulate(
      "stage s : fifo; stage d : delay;",
      `closed(${population})`,
      `${visit} observe response = now - t;`,
      responseOf,
    );
    expectNear(found, inside);
  });
  test("max-min sharing of one link is processor sharing", () => {
    const visit = "set t = now; run a, b (cost(a, b, ~exp(1))); observe response = now - t;";
    const link = "stage a : ps(1); stage b : ps(5); share maxmin;";
    expectNear(simulate(link, "poisson(0.5)", visit, responseOf), 1 / (1 - 0.5));
  });
});
