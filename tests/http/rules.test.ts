/** docs/api_rules.md and docs/asks.md name tests that are there, and give a reason where none is. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { sharedFile } from "../model/helpers.ts";

/** Its titles are made from data: the file is enough. */
const MADE_FROM_DATA = ["tests/contract/contract.test.ts"];

function rows(page: string): string[][] {
  const text = readFileSync(join(ROOT, "docs", page), "utf8");
  return text.split("\n").filter((line) => /^\| [^-]/.test(line))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))
    .filter(([first]) => first !== "rule" && first !== "thread");
}

test.each([["api_rules.md", 45], ["asks.md", 70]] as const)("%s", (page, least) => {
  const all = rows(page);
  expect(all.length).toBeGreaterThanOrEqual(least);
  const missing = all.filter(([, , file, title]) => {
    if (file === "none") return title === "";
    const path = join(ROOT, file!.replaceAll("`", ""));
    if (!existsSync(path)) return true;
    return !MADE_FROM_DATA.some((each) => path.endsWith(each)) &&
      !readFileSync(path, "utf8").includes(title!);
  });
  expect(missing).toEqual([]);
});

test("every rule has a test", () => {
  expect(rows("api_rules.md").filter(([, , file]) => file === "none")).toEqual([]);
});

test("docs/asks.md has every thread of its list, where that lies beside the repository", () => {
  const list = sharedFile("research/serving/ASKS.md");
  if (list === null) return; // a clone without the reference material beside it
  const page = readFileSync(join(ROOT, "docs/asks.md"), "utf8");
  const told = new Set(page.match(/#\d+/g));
  const lines = new TextDecoder().decode(list).split("\n");
  const threads = lines.filter((line) => /^\| [^-]/.test(line))
    .flatMap((line) => line.split("|")[1]!.match(/#\d+/g) ?? []);
  expect(threads.length).toBeGreaterThan(150);
  expect(threads.filter((each) => !told.has(each))).toEqual([]);
});

test("the rules are numbered without holes", () => {
  const numbers = rows("api_rules.md").map(([number]) => number!);
  for (const part of ["3", "4"]) {
    const own = numbers.filter((each) => each.startsWith(`${part}.`));
    expect(own).toEqual(own.map((_, i) => `${part}.${i + 1}`));
  }
});
