/** docs/serq.md: every program in it runs, and its list of diagnostics is whole. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile, Interpreter, reportOf } from "../../src/serq/mod.ts";
import { EXAMPLES } from "./corpus.ts";

const PAGE = fileURLToPath(new URL("../../docs/serq.md", import.meta.url));
const GOLDEN = fileURLToPath(new URL("../golden/serq/messages.txt", import.meta.url));
const text = readFileSync(PAGE, "utf8");

/** Blocks marked `serq NAME=VALUE …`: a horizon, and what observations end with. */
const BLOCKS = [...text.matchAll(/^```serq (.*)\n([^]*?)^```$/gm)].map((
  [, options = "", program = ""],
) => ({
  options: Object.fromEntries(
    options.split(" ").map((option) => option.split("=") as [string, string]),
  ),
  program,
}));

function run(program: string, horizon: number) {
  const interpreter = new Interpreter(compile(program, { horizon }), { integrity: true });
  interpreter.run();
  return interpreter;
}

test("the page has programs, and each runs", () => {
  expect(BLOCKS.length).toBeGreaterThanOrEqual(4);
  for (const { options: { horizon, ...wanted }, program } of BLOCKS) {
    const { machine } = run(program, Number(horizon));
    for (const [name, value] of Object.entries(wanted)) {
      const values = machine.observations.find((o) => o.name === name)!.values.values();
      expect([name, values.at(-1)]).toEqual([name, Number(value)]);
    }
  }
});

test("each example runs, the pulled prefill by its timeline", () => {
  for (const { text: program } of EXAMPLES) {
    expect(run(program, 20).machine.events).toBeGreaterThan(0);
  }
  const pull = EXAMPLES.find(({ file }) => file === "llmd_nixl_pull.sq")!;
  const { observes } = reportOf(run(pull.text, 20));
  const means = Object.entries(observes).map(([name, { mean }]) => [name, mean]);
  expect(Object.fromEntries(means)).toEqual({
    prefilled_at: 2,
    read_at: 4.5,
    ttft: 5.5,
    response: 7.5,
  });
});

const START = /<!-- diagnostics[^>]*-->\n/;
const END = "<!-- end of diagnostics -->";

/** `code`, then the message and its help as the golden file shows them. */
function listOfDiagnostics(): string {
  const entries = readFileSync(GOLDEN, "utf8").split(/^=== /m).slice(1);
  const lines = entries.map((entry) => {
    const [code] = entry.split("\n");
    const message = entry.split("\n---\n")[1]!;
    const [first = ""] = message.split("\n");
    const help = /^help: (.*)$/m.exec(message)?.[1];
    const what = first.replace(/^program\.sq: (\d+:\d+: )?/, "");
    return `- **${code}**: ${what}${help === undefined ? "" : ` — ${help}`}`;
  });
  return `\n${lines.join("\n")}\n\n`;
}

test("the list of diagnostics is whole", () => {
  const [before = "", rest = ""] = text.split(START);
  const start = START.exec(text)![0];
  const after = rest.slice(rest.indexOf(END));
  const wanted = before + start + listOfDiagnostics() + after;
  if (process.env.UPDATE_GOLDEN) writeFileSync(PAGE, wanted);
  else expect(plain(text)).toBe(plain(wanted));
});

/** The formatter breaks long lines of a page as it likes. */
function plain(page: string): string {
  return page.replaceAll(/\s+/g, " ");
}
