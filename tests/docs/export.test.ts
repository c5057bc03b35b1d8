/**
 * The Python of docs/export.md is the text whose files are kept in tests/fixtures/docs_export
 * (tests/oracles/docs_export.py ran it), and Ganglion computes from them what the framework did.
 */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { readRootFile } from "../../tools/source_text.ts";
import { ganglion, scratchFolder } from "../cli/command_line.ts";

const FIXTURES = join(ROOT, "tests/fixtures/docs_export");
const cases: { name: string; block: string }[] = JSON.parse(
  readFileSync(join(FIXTURES, "manifest.json"), "utf8"),
);
/** Norse's last layer gives sums, which PyTorch adds in another order; the others give spikes. */
const TOLERANCE: Record<string, string> = { norse: "1e-6" };

test("the page shows the Python that was run", () => {
  const page = readRootFile("docs/export.md");
  const blocks = [...page.matchAll(/```python\n([^]*?)```/g)].map((match) => match[1]!);
  expect(blocks).toEqual(cases.map(({ block }) => block));
});

test.each(cases)("what $name computes is what Ganglion computes", async ({ name }) => {
  using folder = scratchFolder();
  const [model, input, theirs] = ["model.nir", "input.npy", "theirs.npy"].map((file) => {
    const path = folder.path(file);
    writeFileSync(path, gunzipSync(readFileSync(join(FIXTURES, `${name}.${file}.gz`))));
    return path;
  });
  const { code, text } = await ganglion("bun", [
    "compare",
    model!,
    input!,
    theirs!,
    "--dialect",
    name,
    "--device",
    "cpu",
    "--tolerance",
    TOLERANCE[name] ?? "0",
  ]);
  expect(text).toStartWith("equal");
  expect(text).toContain("400 values");
  expect(code).toBe(0);
});
