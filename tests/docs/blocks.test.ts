/**
 * Every shell block and every TypeScript program of every page runs as pasted, in order, in a folder
 * that looks like a checkout. What cannot run says why in the page, and is counted here.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { readRootFile } from "../../tools/source_text.ts";
import { startServer } from "../support/server_process.ts";
import { type Block, blocksOf, pages } from "./markdown.ts";
import { checkout } from "./checkout.ts";

const LIMIT_MS = 240_000;
const runs = new Set(["sh", "bash", "ts"]);
/** Pages whose blocks a test of their own runs. */
const OWN: Readonly<Record<string, string>> = {
  "docs/client.md": "tests/client/examples.test.ts",
  "docs/curl.md": "tests/client/examples.test.ts",
  "examples/gestures/README.md": "tests/client/examples.test.ts",
  "examples/serq/README.md": "tests/serq/plans_page.test.ts",
};
const folderOf = (page: string): string => page.includes("/") ? page.replace(/\/[^/]*$/, "") : ".";

const blocks = pages().filter((page) => !(page in OWN)).flatMap(blocksOf)
  .filter(({ language }) => runs.has(language));
const byPage = Map.groupBy(blocks, ({ page }) => page);

test("blocks have languages that are known here", () => {
  const languages = new Set(pages().flatMap(blocksOf).map(({ language }) => language));
  const silent = ["python", "json", "text", "nginx", "wgsl", "prometheus", "yaml", "serq", "html"];
  expect([...languages].filter((each) => !runs.has(each) && !silent.includes(each))).toEqual([]);
});

test("tests of their own name the pages that they run", () => {
  for (const [page, file] of Object.entries(OWN)) {
    expect(readRootFile(file)).toContain(page.replace("README.md", ""));
  }
});

test("only these blocks have an excuse", () => {
  const excused = blocks.filter(({ excuse }) => excuse !== null);
  expect(blocks.length - excused.length).toBeGreaterThanOrEqual(20);
  expect(excused.map(({ page, text }) => `${page}: ${text.split("\n")[0]}`)).toMatchInlineSnapshot(`
    [
      "CONTRIBUTING.md: npm start   # installs what is missing and serves the example model",
      "README.md: npm start   # installs what is missing, serves a classifier of handwritten digits on port 8787",
      "README.md: npx ganglion load http://127.0.0.1:8787 --sessions 8 --period 20      # or --find-capacity",
      "bench/README.md: npm run bench -- engine                  # the whole grid on Deno, about 10 minutes",
      "docs/export.md: pip install snntorch==1.0.0 nir==1.0.8 nirtorch==2.6",
      "docs/export.md: pip install norse==1.1.0 nir==1.0.8 nirtorch==2.6",
      "docs/export.md: pip install sparxml==0.1.1 nir==1.0.8",
      "docs/load.md: npx ganglion serve examples/digits --slots 256 --device cpu",
      "examples/digits/README.md: python -c "import numpy as n; n.save('test.npy', n.unpackbits(n.load('examples/digits/test_set_bits.npy'), axis=-1, bitorder='little'))"",
      "examples/digits/README.md: python3.12 -m venv ../digits-venv",
      "tests/oracles/README.md: python3.12 -m venv ../oracle-venv",
      "tests/oracles/README.md: python3.12 -m venv ../fw-new   # snnTorch, Norse, sparx, spyx, SpikingJelly: nir 1.0.8, nirtorch 2.6",
    ]
  `);
});

describe.each([...byPage.keys()])("%s", (page) => {
  let setting: Promise<Setting> | null = null;
  const prepared = () => setting ??= prepare(byPage.get(page)!);
  afterAll(async () => {
    const { folder, server } = await (setting ?? { folder: null, server: null });
    await server?.kill();
    folder?.[Symbol.dispose]();
  });

  for (const { line, language, text, excuse } of byPage.get(page)!) {
    if (excuse !== null) continue;
    test(`the block of line ${line}`, async () => {
      const { folder, server } = await prepared();
      // A command about model.sq speaks of the program above it.
      const shown = blocksOf(page).findLast((each) => each.language === "serq" && each.line < line);
      if (shown !== undefined) writeFileSync(folder.path("model.sq"), shown.text);
      const { code, stdout, stderr } = language === "ts"
        ? await folder.program(text, folderOf(page), server?.url)
        : await folder.shell(text, server?.url);
      if (code !== 0) throw new Error(`exit code ${code}\n${text}\n${stdout}\n${stderr}`);
    }, LIMIT_MS);
  }
});

interface Setting {
  readonly folder: Awaited<ReturnType<typeof checkout>>;
  /** What answers where `npm start` would, for pages that speak of it. */
  readonly server: Awaited<ReturnType<typeof startServer>> | null;
}

async function prepare(blocks: readonly Block[]): Promise<Setting> {
  const called = blocks.some(({ text }) => text.includes("http://127.0.0.1:8787"));
  return {
    folder: await checkout(),
    server: called ? await startServer("bun", ["examples/digits", "--device", "cpu"]) : null,
  };
}
