/**
 * Who may import whom, as data. Arrows point one way: nothing below `http` knows of HTTP, nothing
 * above `engine` names the GPU, and the core needs no package.
 */
import { expect, test } from "bun:test";
import { importsOf, readSources, type SourceFile } from "../tools/source_text.ts";

interface Row {
  /** Folders and files under src/ (`shaders` stands beside it); `*` is everything. */
  readonly sources: readonly string[];
  readonly packages?: readonly string[];
}

const EXECUTOR = "engine/executor.ts";
const HOST_EXECUTOR: Row = { sources: ["base", "layers", "model", "host", EXECUTOR] };
/** Puts parts together; only these files may know all of them. */
const COMPOSITION: Row = { sources: ["*"] };
const COMPOSING = [
  "mod.ts",
  "serve.ts",
  "stream_server.ts",
  "choose_executor.ts",
  "cpu_thread.ts",
  "executor_thread.ts",
  "load_layers.ts",
  "load_model.ts",
  "load_run.ts",
  "membrane.ts",
  "run_recordings.ts",
];

const TABLE: Readonly<Record<string, Row>> = {
  base: { sources: [] },
  layers: { sources: ["base", "shaders"] },
  model: { sources: ["base", "layers"], packages: ["h5wasm", "node:crypto"] },
  run: { sources: ["base", "model"] },
  engine: { sources: ["base", "layers", "model", "shaders"] },
  host: { sources: ["base", "layers", "model"] },
  reference: HOST_EXECUTOR,
  cpu: HOST_EXECUTOR,
  thread: { sources: ["base", "model", EXECUTOR] },
  checkpoint: { sources: ["base", "model", EXECUTOR], packages: ["node:crypto"] },
  scheduler: { sources: ["base", "model", "checkpoint", EXECUTOR] },
  metrics: { sources: ["base", "scheduler"] },
  serq: { sources: ["base"] },
  load: { sources: ["base", "run"], packages: ["eventsource-parser"] },
  calibrate: { sources: ["base", "load", EXECUTOR] },
  http: {
    sources: ["base", "model", "checkpoint", "scheduler", "metrics"],
    packages: ["hono", "zod", "@hono/zod-openapi", "node:crypto"],
  },
  runtime: { sources: ["base", "package.json"], packages: ["bun-webgpu", "node:*"] },
  // A program of its own: the child process that reads a file nobody vouches for.
  "runtime/nir_process.ts": { sources: ["base", "model", "runtime"], packages: ["node:*"] },
  "runtime/worker.ts": { sources: ["base", "http/gateway.ts"], packages: ["hono"] },
  "config.ts": { sources: ["base"], packages: ["node:util"] },
  "golden_frame.ts": { sources: ["base", "model", "reference", EXECUTOR] },
  ...Object.fromEntries(COMPOSING.map((name) => [name, COMPOSITION])),
  cli: {
    sources: [
      "base",
      "model",
      "run",
      "serq",
      "load",
      "calibrate",
      "config.ts",
      "runtime",
      "engine/doctor.ts",
      ...COMPOSING,
    ],
    packages: ["node:*"],
  },
};

/** Types that everyone may use: the plan is data, the executor an interface. */
const TYPES_FOR_ALL = [
  "src/engine/executor.ts",
  "src/engine/readback.ts",
  "src/model/plan.ts",
];

/** Go to browsers: their own files and no package. */
const ALONE = ["client/", "web/"];

/** Folders beside src/ that see it from outside, through its doors. */
const OUTSIDERS = ["bench", "examples", "tools"];
/** Looks at every kernel that the engine can compose. */
const INSIDERS = ["tools/check_shaders.ts"];
const DOORS = /^src\/(mod\.ts|serve\.ts|[a-z_]+\/mod\.ts|base\/[a-z_]+\.ts)$/;

/** The row for a file: its own, else its folder's. */
function ruleOf(path: string): [name: string, row: Row | undefined] {
  const inside = path.slice("src/".length);
  const name = inside in TABLE ? inside : inside.split("/")[0]!;
  return [name, TABLE[name]];
}

function mayReach(row: Row, name: string, target: string): boolean {
  const inside = target.startsWith("src/") ? target.slice("src/".length) : target;
  return [name, ...row.sources].some((entry) =>
    entry === "*" || inside === entry || inside.startsWith(`${entry}/`)
  );
}

function mayUse(row: Row, name: string): boolean {
  return (row.packages ?? []).some((entry) =>
    entry.endsWith("*")
      ? name.startsWith(entry.slice(0, -1))
      : name === entry || name.startsWith(`${entry}/`)
  );
}

/** One line for each import that the table does not allow. */
function brokenImports(files: readonly SourceFile[]): string[] {
  const broken: string[] = [];
  for (const file of files) {
    const alone = ALONE.find((folder) => file.path.startsWith(folder));
    if (alone !== undefined && !file.path.endsWith(".d.ts")) {
      const foreign = importsOf(file).filter(({ target }) => !target.startsWith(alone));
      broken.push(
        ...foreign.map(({ target }) => `${file.path} imports ${target}: ${alone} may not`),
      );
      continue;
    }
    const outsider = OUTSIDERS.includes(file.path.split("/")[0]!) && !INSIDERS.includes(file.path);
    const ours = file.path.startsWith("src/") && !file.path.endsWith(".d.ts");
    if (!outsider && !ours) continue;
    const [name, row] = ruleOf(file.path);
    if (ours && row === undefined) {
      broken.push(`${file.path}: src/${name} has no row in the table`);
    }
    for (const { target, isPackage, isTypeOnly } of importsOf(file)) {
      if (outsider) {
        const open = DOORS.test(target) || (isTypeOnly && TYPES_FOR_ALL.includes(target));
        if (!isPackage && target.startsWith("src/") && !open) {
          broken.push(`${file.path} imports ${target}, which is no public door`);
        }
        continue;
      }
      if (row === undefined) break;
      if (isPackage ? mayUse(row, target) : mayReach(row, name, target)) continue;
      else if (isTypeOnly && TYPES_FOR_ALL.includes(target)) continue;
      else broken.push(`${file.path} imports ${target}: src/${name} may not`);
    }
  }
  return broken;
}

const plant = (path: string, text: string): string[] => brokenImports([{ path, text }]);

test("a planted import against the arrows is caught, however it is written", () => {
  const from = "src/scheduler/queue.ts";
  expect(plant(from, 'import { app } from "../http/app.ts";')).toEqual([
    "src/scheduler/queue.ts imports src/http/app.ts: src/scheduler may not",
  ]);
  const forms = [
    'import type { App } from "../http/app.ts";',
    'import "../http/app.ts";',
    'export * from "../http/app.ts";',
    'export {\n  a,\n  b,\n} from "../http/app.ts";',
    'const app = await import("../http/app.ts");',
    'type App = import("../http/app.ts").App;',
    'new Worker(new URL("../http/app.ts", import.meta.url));',
    'import { Hono } from "hono";',
    'import { readFileSync } from "node:fs";',
    'import { createDevice } from "../engine/device.ts";',
  ];
  for (const form of forms) expect([form, plant(from, form).length]).toEqual([form, 1]);
});

test("planted: outsiders behind a door, folders without a row", () => {
  expect(plant("bench/step.bench.ts", 'import { x } from "../src/engine/step.ts";')).toHaveLength(
    1,
  );
  expect(plant("bench/step.bench.ts", 'import { x } from "../src/engine/mod.ts";')).toEqual([]);
  expect(plant("client/a.ts", 'import { x } from "../src/mod.ts";')).toHaveLength(1);
  expect(plant("client/a.ts", 'import { x } from "hono";')).toHaveLength(1);
  expect(plant("client/a.ts", 'import { x } from "./b.ts";')).toEqual([]);
  expect(plant("src/novel/a.ts", 'import { x } from "../base/ids.ts";')).toHaveLength(1);
});

test("planted: a page that wants what no browser gets", () => {
  expect(plant("web/a.js", 'import { x } from "../src/base/npy.ts";')).toEqual([
    "web/a.js imports src/base/npy.ts: web/ may not",
  ]);
  expect(plant("web/a.js", 'import { x } from "hono";')).toHaveLength(1);
  expect(plant("web/a.js", 'import { x } from "./b.js";')).toEqual([]);
});

test("what the table allows is left alone", () => {
  const allowed = [
    ["src/scheduler/queue.ts", 'import type { Plan } from "../model/plan.ts";'],
    ["src/http/app.ts", 'import type { Executor } from "../engine/executor.ts";'],
    ["src/scheduler/queue.ts", '// import { app } from "../http/app.ts";'],
    ["src/layers/lif.ts", 'import code from "../../shaders/lif.wgsl" with { type: "text" };'],
    ["src/http/app.ts", 'import { cors } from "hono/cors";'],
    ["src/serve.ts", 'import { createEngine } from "./engine/mod.ts";'],
    ["tests/http/app.test.ts", 'import { app } from "../../src/http/app.ts";'],
  ] as const;
  for (const [path, text] of allowed) expect(plant(path, text)).toEqual([]);
});

test("the repository keeps to the table", () => {
  const files = readSources();
  expect(files.filter(({ path }) => path.startsWith("src/")).length).toBeGreaterThan(10);
  expect(brokenImports(files)).toEqual([]);
});
