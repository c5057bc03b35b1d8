/**
 * Every shell block and every TypeScript program of every page runs as pasted, in order, in a folder
 * that looks like a checkout. What cannot run says why in the page, and is counted here.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { startServer } from "../support/server_process.ts";
import { type Block, blocksOf, pages } from "./markdown.ts";
import { checkout } from "./checkout.ts";

const LIMIT_MS = 240_000;
const runs = new Set(["sh", "bash", "ts"]);
/** Pages whose blocks a test of their own runs. */
const OWN: readonly string[] = [];
const folderOf = (page: string): string => page.includes("/") ? page.replace(/\/[^/]*$/, "") : ".";

const blocks = pages().filter((page) => !OWN.includes(page)).flatMap(blocksOf)
  .filter(({ language }) => runs.has(language));
const byPage = Map.groupBy(blocks, ({ page }) => page);

test("blocks have languages that are known here", () => {
  const languages = new Set(pages().flatMap(blocksOf).map(({ language }) => language));
  const silent = ["python", "json", "text", "nginx", "wgsl", "prometheus", "yaml", "serq", "html"];
  expect([...languages].filter((each) => !runs.has(each) && !silent.includes(each))).toEqual([]);
});

test("few blocks have an excuse", () => {
  expect(blocks.length).toBeGreaterThan(20);
  expect(blocks.filter(({ excuse }) => excuse !== null).length).toBeLessThan(blocks.length / 3);
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
