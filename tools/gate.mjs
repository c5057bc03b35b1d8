/**
 * The gate: `npm test` and CI run this, in this order, all stages to the end. Each stage prints its
 * name and seconds, and its output only when it failed. The last line counts the tests from the
 * JUnit file (an exit code alone would miss a test that ends the process); a failed stage counts as
 * a failed test.
 *
 * `npm test lint types` runs only the stages named, `npm test tests/base/` only those test files.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../bin/launch.mjs";
import { readJunit } from "./junit.mjs";

const CACHE = join(ROOT, ".cache");
const JUNIT = join(CACHE, "junit.xml");
const STATIC_STAGES_AT_ONCE = 2;
const STATIC_LIMIT_MS = 5 * 60_000;
const TESTS_LIMIT_MS = 40 * 60_000;
const TEST_LIMIT_MS = 60_000;
const LAST_OUTPUT_MS = 2_000;
const FILES_MIN = 20;

// Software drivers unless the caller says otherwise: the same bits on every machine.
const callerEnv = {
  ...process.env,
  NO_COLOR: "1",
  GANGLION_DRIVERS: process.env.GANGLION_DRIVERS || "software",
};
const deno = runtimeCommand("deno", callerEnv);
const bun = runtimeCommand("bun", callerEnv);
/** oxlint paints its output wherever CI is set, whatever NO_COLOR says. */
const plainEnv = { ...bun.env, CI: undefined };
const tool = (name) => join(ROOT, "node_modules", ".bin", name);

/** Runs a command in the repository; its output goes to `log`. True when it exits with 0. */
function command(log, file, args, { env = bun.env, limitMs = STATIC_LIMIT_MS } = {}) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => {
      log.push(`stopped after ${limitMs / 60_000} minutes\n`);
      child.kill("SIGKILL");
    }, limitMs);
    const done = (ok) => {
      clearTimeout(timer);
      resolve(ok);
    };
    child.stdout.on("data", (text) => log.push(text));
    child.stderr.on("data", (text) => log.push(text));
    child.on("error", (error) => {
      log.push(`${error.message}\n`);
      done(false);
    });
    child.on("close", (code) => done(code === 0));
    // What a test left running may hold our pipes open; it must not hold the gate.
    child.on("exit", () =>
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, LAST_OUTPUT_MS).unref());
  });
}

/**
 * A linter that sees no files, or lost its type information, passes in silence. So every run plants
 * two faults, which must be found, and looks at the number of files linted.
 */
async function oxlint(log) {
  const args = ["--type-aware", "--deny-warnings"];
  const ok = await command(log, tool("oxlint"), args, { env: plainEnv });
  const files = Number(log.join("").match(/ on (\d+) files/)?.[1] ?? 0);
  if (files < FILES_MIN) {
    log.push(`the linter saw ${files} files only\n`);
    return false;
  }
  return await plantedFaultsAreFound(log, args) && ok;
}

async function plantedFaultsAreFound(log, args) {
  const folder = join(CACHE, "planted");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const faults = {
    "floating.ts": "async function work() {}\nexport function start() {\n  work();\n}\n",
    "one.ts": 'import { two } from "./two.ts";\nexport const one = () => two();\n',
    "two.ts": 'import { one } from "./one.ts";\nexport const two = () => one();\n',
  };
  for (const [name, text] of Object.entries(faults)) writeFileSync(join(folder, name), text);
  const found = [];
  const files = Object.keys(faults).map((name) => join(folder, name));
  await command(found, tool("oxlint"), [...args, "--no-ignore", ...files], { env: plainEnv });
  const missing = ["no-floating-promises", "no-cycle"]
    .filter((rule) => !found.join("").includes(rule));
  if (missing.length === 0) return true;
  log.push(`the linter did not find what was planted: ${missing.join(", ")}\n`, ...found);
  return false;
}

/** Names the files only: `npx deno fmt` makes the differences. */
async function checkFormat(log) {
  const output = [];
  const ok = await command(output, deno.command, ["fmt", "--check"]);
  const lines = output.join("").split("\n");
  const files = lines.filter((line) => line.startsWith("from ")).map((line) => line.slice(5, -1));
  log.push(`not formatted; run: npx deno fmt\n`, ...(files.length > 0 ? files : lines).join("\n"));
  return ok;
}

async function all(...checks) {
  let ok = true;
  for (const check of checks) ok = await check() && ok;
  return ok;
}

const stages = [
  { name: "format", run: checkFormat },
  {
    name: "lint",
    run: (log) =>
      all(
        () => command(log, deno.command, ["lint"]),
        () => oxlint(log),
      ),
  },
  {
    name: "types",
    run: (log) =>
      all(
        () => command(log, tool("tsc"), ["--noEmit"]),
        () => command(log, deno.command, ["check", "-q", "src"]),
      ),
  },
  {
    name: "imports",
    run: (log) =>
      command(log, bun.command, [
        "test",
        "--only-failures",
        "tests/import_table.test.ts",
        "tests/tidy.test.ts",
      ]),
  },
  { name: "unused", run: (log) => command(log, tool("knip"), ["--no-config-hints"]) },
  {
    name: "shaders",
    needs: "tools/check_shaders.ts",
    run: (log) =>
      command(log, deno.command, [...deno.args, "tools/check_shaders.ts"], { env: deno.env }),
  },
  { name: "tests", alone: true, run: runTests },
];

async function runTests(log, counts, files) {
  rmSync(JUNIT, { force: true });
  mkdirSync(CACHE, { recursive: true });
  const args = ["test", "--only-failures", "--no-orphans", `--timeout=${TEST_LIMIT_MS}`];
  args.push("--reporter=junit", `--reporter-outfile=${JUNIT}`);
  const exitedWell = await command(log, bun.command, [...args, ...files], {
    limitMs: TESTS_LIMIT_MS,
  });
  const report = existsSync(JUNIT) ? readJunit(readFileSync(JUNIT, "utf8")) : undefined;
  const problems = report ? report.problems : ["there is no JUnit file: the tests did not finish"];
  for (const problem of problems) log.push(`${problem}\n`);
  if (report) Object.assign(counts, report);
  return exitedWell && problems.length === 0 && counts.failed === 0;
}

/** Runs one stage; the promise never rejects. */
async function runStage(stage, counts, files) {
  const began = performance.now();
  const log = [];
  const ok = await stage.run(log, counts, files).catch((error) => {
    log.push(`${error.stack}\n`);
    return false;
  });
  return { name: stage.name, ok, seconds: secondsSince(began), log };
}

function secondsSince(began) {
  return ((performance.now() - began) / 1000).toFixed(1);
}

/** Begins work in the order asked for, at most `limit` at a time. */
function limiter(limit) {
  let free = limit;
  const waiting = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/** Those named; all without a name; only the tests when test files are named. */
function chosenStages(names, files) {
  if (files.length > 0) names.push("tests");

  const unknown = names.filter((name) => !stages.some((stage) => stage.name === name));
  if (unknown.length > 0) {
    process.stderr.write(`no such stage: ${unknown.join(", ")}\n`);
    process.exit(2);
  }
  const chosen = stages.filter((stage) => names.length === 0 || names.includes(stage.name));
  const absent = chosen.filter((stage) => stage.needs && !existsSync(join(ROOT, stage.needs)));
  for (const stage of absent) process.stdout.write(`· ${stage.name}: there is no ${stage.needs}\n`);
  return chosen.filter((stage) => !absent.includes(stage));
}

async function main() {
  const began = performance.now();
  const words = process.argv.slice(2);
  const files = words.filter((word) => word.includes("/"));
  const chosen = chosenStages(words.filter((word) => !files.includes(word)), files);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let failedStages = 0;
  const report = ({ name, ok, seconds, log }) => {
    process.stdout.write(`${ok ? "✓" : "✗"} ${name} ${seconds} s\n`);
    if (ok) return;
    process.stdout.write(log.join("").replace(/\n*$/, "\n"));
    // Failed tests are counted one by one already.
    if (name !== "tests" || counts.failed === 0) failedStages += 1;
  };
  const inTurn = limiter(STATIC_STAGES_AT_ONCE);
  const results = chosen.filter((stage) => !stage.alone)
    .map((stage) => inTurn(() => runStage(stage, counts, files)));
  for (const result of results) report(await result);
  for (const stage of chosen.filter((each) => each.alone)) {
    report(await runStage(stage, counts, files));
  }

  const drivers = bun.env.VK_ICD_FILENAMES ?? "those of the system";
  process.stdout.write(`total ${secondsSince(began)} s; Vulkan drivers: ${drivers}\n`);
  const failed = counts.failed + failedStages;
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  process.stdout.write(`${counts.passed} passed, ${failed} failed${skipped}\n`);
  process.exitCode = failed > 0 ? 1 : 0;
}

await main();
