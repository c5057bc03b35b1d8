/** Rules about the source itself. Each is tried on a planted fault before it is trusted. */
import { describe, expect, test } from "bun:test";
import { codeOf, readRootFile, readSources, type SourceFile } from "../tools/source_text.ts";

const LINES_MAX = 500;

interface Rule {
  readonly what: string;
  readonly instead: string;
  readonly applies: (path: string) => boolean;
  /** Looked for in code, comments and strings left out. */
  readonly banned: RegExp;
  readonly planted: readonly (readonly [path: string, text: string])[];
  readonly fine: readonly (readonly [path: string, text: string])[];
}

const under = (path: string, ...places: string[]): boolean =>
  places.some((place) => path === `src/${place}` || path.startsWith(`src/${place}/`));
const inSource = (path: string): boolean => path.startsWith("src/") && path.endsWith(".ts");

const RULES: readonly Rule[] = [
  {
    what: "time, chance and ids are injected",
    instead: "use the Clock or id source that was passed in",
    applies: (path) =>
      inSource(path) && !under(path, "base/clock.ts", "base/ids.ts", "runtime", "cli"),
    banned: new RegExp(
      [
        String.raw`\b(Date|performance)\s*\.\s*now\b`,
        String.raw`\bnew Date\(\s*\)`,
        String.raw`\bMath\s*\.\s*random\b`,
        String.raw`\b(setTimeout|setInterval|setImmediate)\b`,
        String.raw`\bcrypto\s*\.\s*(randomUUID|getRandomValues)\b`,
      ].join("|"),
    ),
    planted: [
      ["src/scheduler/loop.ts", "const now = Date.now();"],
      ["src/http/sse.ts", "setInterval(beat, 1);"],
      ["src/model/a.ts", "const id = crypto.randomUUID();"],
    ],
    fine: [
      ["src/base/clock.ts", "performance.now()"],
      ["src/scheduler/loop.ts", 'clock.now(); // not Date.now()\nconst a = "Date.now";'],
      ["src/http/routes.ts", "new Date(clock.wallMs())"],
    ],
  },
  {
    what: "the runtime is known to runtime/ and cli/ only",
    instead: "pass in what is needed",
    applies: (path) => inSource(path) && !under(path, "runtime", "cli"),
    banned: /(?<![.\w])(Deno|Bun)\b|(?<![.\w])process\s*(\.|\?\.|\[)/,
    planted: [
      ["src/engine/a.ts", "Deno.readFile(path)"],
      ["src/serve.ts", "if (process.env.HOME) {}"],
      ["src/serve.ts", "const onBun = typeof Bun !== 'undefined';"],
    ],
    fine: [
      ["src/cli/main.ts", "Deno.exit(1)"],
      ["src/engine/a.ts", "// On Deno. On Bun.\nchild.process.kill(); const bun = 1;"],
    ],
  },
  {
    what: "GPU types stay in engine/ and runtime/gpu.ts",
    instead: "talk to the Executor",
    applies: (path) => inSource(path) && !under(path, "engine", "runtime/gpu.ts"),
    banned: /\bGPU[A-Z]\w*/,
    planted: [["src/scheduler/a.ts", "function f(device: GPUDevice) {}"]],
    fine: [["src/engine/a.ts", "function f(device: GPUDevice) {}"]],
  },
  {
    what: "no test is left alone with .only",
    instead: "remove .only",
    applies: (path) => path.startsWith("tests/"),
    banned: /\b(test|it|describe)\s*\.\s*only\b/,
    planted: [["tests/a.test.ts", "test.only(name, run)"]],
    fine: [["tests/a.test.ts", "test(name, run)"]],
  },
];

/** One line for each line of a file that breaks a rule. */
function broken(rule: Rule, { path, text }: SourceFile): string[] {
  if (!rule.applies(path)) return [];
  return codeOf(text).split("\n").flatMap((line, index) => {
    const found = line.match(rule.banned)?.[0];
    return found === undefined ? [] : [`${path}:${index + 1} has ${found}: ${rule.instead}`];
  });
}

function tooLong({ path, text }: SourceFile): string[] {
  const lines = text.split("\n").length - 1;
  return lines > LINES_MAX ? [`${path} has ${lines} lines of at most ${LINES_MAX}`] : [];
}

/** A file opens by saying what it is. */
function withoutHeader({ path, text }: SourceFile): string[] {
  if (!/^(src|shaders|client|web)\//.test(path)) return [];
  return /^(\/\/ @ts-check\n)?(\/\*\*?|\/\/)[\s*]*[\w`]/.test(text)
    ? []
    : [`${path} does not begin with a comment`];
}

const sources = readSources();

describe.each(RULES.map((rule) => [rule.what, rule] as const))("%s", (_, rule) => {
  test("planted faults are caught, and nothing else", () => {
    for (const [path, text] of rule.planted) expect(broken(rule, { path, text })).toHaveLength(1);
    for (const [path, text] of rule.fine) expect(broken(rule, { path, text })).toEqual([]);
  });

  test("the repository keeps to it", () => {
    expect(sources.flatMap((file) => broken(rule, file))).toEqual([]);
  });
});

test(`no file is longer than ${LINES_MAX} lines`, () => {
  expect(tooLong({ path: "src/a.ts", text: "a\n".repeat(LINES_MAX + 1) })).toHaveLength(1);
  expect(tooLong({ path: "src/a.ts", text: "a\n".repeat(LINES_MAX) })).toEqual([]);
  expect(sources.flatMap(tooLong)).toEqual([]);
});

test("every source file and shader begins by saying what it is", () => {
  expect(withoutHeader({ path: "src/a.ts", text: "import {} from '';" })).toHaveLength(1);
  expect(withoutHeader({ path: "src/a.ts", text: "/** A list. */\n" })).toEqual([]);
  expect(withoutHeader({ path: "shaders/a.wgsl", text: "// Adds.\n" })).toEqual([]);
  expect(sources.flatMap(withoutHeader)).toEqual([]);
});

test("every folder of src/ has its line in ARCHITECTURE.md", () => {
  const page = readRootFile("ARCHITECTURE.md");
  const folders = new Set(
    sources.map(({ path }) => path.match(/^src\/([a-z_]+)\//)?.[1]).filter((name) =>
      name !== undefined
    ),
  );
  expect([...folders].filter((name) => !page.includes(`\`src/${name}\``))).toEqual([]);
});

test("every package has an exact version, and a line that says why it is here", () => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
    readRootFile("package.json"),
  ) as Record<string, Record<string, string>>;
  const packages = { ...dependencies, ...devDependencies, ...optionalDependencies };
  expect(Object.entries(packages).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version)))
    .toEqual([]);
  const page = readRootFile("CONTRIBUTING.md");
  expect(Object.keys(packages).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
