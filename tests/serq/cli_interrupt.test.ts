/** Ctrl-C on `serq run`: soon obeyed, however short or long the runs are, and only whole runs are averaged. */
import { afterAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";

const folder = mkdtempSync(join(tmpdir(), "serq-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

writeFileSync(join(folder, "seed.sq"), readFileSync(join(ROOT, "examples/serq/seed.sq"), "utf8"));
writeFileSync(
  join(folder, "endless.sq"),
  `use "std/args";
fn main() {
  let rate = args.number("rate", 1);
  stage d : delay;
  workload { arrive poisson(rate); }
  server { run d (cost(d, 1)); observe o = now; }
}
`,
);

/** Longer than a start takes, on a busy machine too. */
const BEFORE_MS = 3000;
const LIMIT_MS = 60_000;

async function interrupted(runtime: string, ...args: string[]) {
  const launcher = join(ROOT, "bin/serq.mjs");
  const child = spawn("node", [launcher, "--runtime", runtime, "run", ...args], { cwd: folder });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (text) => stdout += text);
  child.stderr.on("data", (text) => stderr += text);
  const timer = setTimeout(() => child.kill("SIGINT"), BEFORE_MS);
  const [code] = await once(child, "close");
  clearTimeout(timer);
  expect(code).toBe(130);
  return { stdout, stderr };
}

const ENDLESS = ["endless.sq", "--horizon", "1e12"];
const MANY = ["seed.sq", "--horizon", "10", "--replications", "10000000"];
const SO_FAR = /^run: horizon 1000000000000 end \d/;

describe.each(["deno", "bun"])("on %s", (runtime) => {
  test("one run gives the report so far", async () => {
    const { stdout, stderr } = await interrupted(runtime, ...ENDLESS);
    expect(stderr).toMatch(/^interrupted at time \d\S*; the report so far:\n$/);
    expect(stdout).toMatch(SO_FAR);
  }, LIMIT_MS);

  test("many short runs end, and those that had ended are averaged", async () => {
    const { stdout, stderr } = await interrupted(runtime, ...MANY);
    const [, ended] = /^interrupted; runs that had ended: (\d+)\n$/.exec(stderr)!;
    expect(stdout).toStartWith(`replications: ${ended} seeds 1 to ${ended}\n`);
    // A part of a run would have another mean.
    expect(stdout).toMatch(/^finished +6\.0000 +±0\.0000 +6\.0000 +6\.0000$/m);
    expect(stdout).toMatch(/^llm util +0\.3000 +±0\.0000 +0\.3000 +0\.3000$/m);
  }, LIMIT_MS);

  test("a sweep whose first run had not ended gives its report so far", async () => {
    const { stdout, stderr } = await interrupted(runtime, ...ENDLESS, "--sweep", "rate=1:3:1");
    expect(stderr).toMatch(/^interrupted at time \d\S*; the report so far:\n$/);
    expect(stdout).toMatch(SO_FAR);
  }, LIMIT_MS);

  test("as JSON, several runs are a list of those that had ended", async () => {
    const { stdout, stderr } = await interrupted(
      ...[runtime, ...ENDLESS, "--replications", "3", "--json"] as const,
    );
    expect(stderr).toBe("interrupted; runs that had ended: 0\n");
    expect(JSON.parse(stdout)).toEqual([]);
  }, LIMIT_MS);
});

test("a sweep has rows for the values that had runs", async () => {
  const sweep = ["--sweep", "rate=0:9:1", "--replications", "100000"];
  writeFileSync(
    join(folder, "set.sq"),
    `use "std/args";
fn main() {
  let rate = args.number("rate", 1);
  stage d : delay;
  workload { arrive batch(1); }
  server { run d (cost(d, 1)); observe o = rate; }
}
`,
  );
  const { stdout, stderr } = await interrupted("bun", "set.sq", "--horizon", "9", ...sweep);
  expect(stderr).toMatch(/^interrupted; runs that had ended: [1-9]\d*\n$/);
  expect(stdout).toMatch(/^rate +o +o p99 +d util\n[- ]+\n0 +0\.0000 ±0\.0000 /);
}, LIMIT_MS);
