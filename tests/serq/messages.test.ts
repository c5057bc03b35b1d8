/**
 * Every text that a program is refused with, by a program that provokes it. The golden file holds
 * program and message; `UPDATE_GOLDEN=1` writes the messages anew, for review as a difference.
 */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  ARGUMENT_CODES,
  compile,
  type CompileOptions,
  evaluateConstant,
  LINK_CODES,
  PARSE_CODES,
  parseInstance,
  readTrace,
  SerqError,
} from "../../src/serq/mod.ts";

const GOLDEN = fileURLToPath(new URL("../golden/serq/messages.txt", import.meta.url));

interface Entry {
  readonly code: string;
  readonly program: string;
  readonly message: string;
}

function readGolden(): Entry[] {
  return readFileSync(GOLDEN, "utf8").split(/^=== /m).slice(1).map((entry) => {
    const [code = "", ...rest] = entry.split("\n");
    const [program = "", message = ""] = rest.join("\n").split("\n---\n");
    return { code, program: `${program}\n`, message: message.trimEnd() };
  });
}

function refusal(action: () => unknown): SerqError {
  try {
    action();
  } catch (error) {
    if (error instanceof SerqError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** Codes that need more than a program's text, and how they come about. */
const OTHERWISE: Readonly<Record<string, () => unknown>> = {
  too_many_tokens: () => compile(`fn main() { ${"let x = 1; ".repeat(30_000)}}`),
  too_deep: () => compile(`fn main() { let x = ${"(".repeat(300)}`),
  too_many_terms: () => compile(`fn main() { let x = ${"1 + ".repeat(2000)}1; }`),
  library_missing: () => compile('use "lib.sq"; fn main() { }'),
  library_item: () => compileWith({ library: () => ({ text: "let x = 1;", name: "lib.sq" }) }),
  instance_item: () => parseInstance("fn main() { }", "a.instance"),
  no_horizon: () => compile("fn main() { }"),
  warmup_horizon: () => compile("fn main() { }", { horizon: 1, warmup: 1 }),
  arrivals_open: () => compile("fn main() { }", { horizon: 1, arrivals: 3 }),
  unknown_argument: () => compileWith({ inputs: new Map([["x", 1]]) }),
  unknown_definition: () => compileWith({ definitions: new Map([["f", "1"]]) }),
  not_a_number: () => evaluateConstant("0 / 0"),
  trace_header: () => readTrace("session,turn\n"),
  trace_line: () => readTrace("session,turn,new,out,think\n1,1,x,0,0\n"),
};

function compileWith(options: CompileOptions): unknown {
  return compile('use "lib.sq"; fn main() { }', {
    library: () => ({ text: "", name: "l" }),
    ...options,
  });
}

test("each text is what the golden file says", () => {
  const entries = readGolden().map(({ code, program, message }) => {
    const error = refusal(() => compile(program, { horizon: 10 }));
    expect([code, error.code]).toEqual([code, code]);
    return { code, program, message, found: error.render() };
  });
  if (process.env.UPDATE_GOLDEN) {
    const texts = entries.map(({ code, program, found }) =>
      `=== ${code}\n${program}---\n${found}\n`
    );
    writeFileSync(GOLDEN, texts.join("\n"));
  } else {
    for (const { code, message, found } of entries) {
      expect(`${code}\n${found}`).toBe(`${code}\n${message}`);
    }
  }
});

test("texts that need more than a program", () => {
  for (const [code, action] of Object.entries(OTHERWISE)) {
    const error = refusal(action);
    expect([code, error.code]).toEqual([code, code]);
    expect(error.message.length).toBeGreaterThan(10);
  }
});

test("no text is without a program", () => {
  const shown = new Set([...readGolden().map(({ code }) => code), ...Object.keys(OTHERWISE)]);
  const missing = [...PARSE_CODES, ...LINK_CODES, ...ARGUMENT_CODES].filter((code) =>
    !shown.has(code)
  );
  expect(missing).toEqual([]);
});

test("an error in a definition says where it was used, one in a tab-indented line keeps its tabs", () => {
  const error = refusal(() =>
    compile(
      "fn main() {\n\tdef f(x) { x + nope }\n\tstage d : delay;\n\tworkload { }\n" +
        "\tserver { observe o = f(1); run d (cost(d, 1)); }\n}\n",
    )
  );
  expect(error.render()).toBe(
    "program.sq: 2:17: link error: unknown name `nope`\n" +
      "2 | \tdef f(x) { x + nope }\n  | \t               ^^^^",
  );
  const inside = refusal(() =>
    compile("fn main() {\n  def f(p) { used(p) + used(q) }\n  pool kv { }\n  gauge g = f(kv);\n}\n")
  );
  expect(inside.notes).toContain("in `f`, used at 4:13");
});
