/** Keeps a page that is made from data: writes it, or with `--check` says when it is stale. */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";

export function readPage(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
}

export function keepPage(path: string, wanted: string, tool: string): void {
  const file = new URL(`../${path}`, import.meta.url);
  if (!process.argv.includes("--check")) return writeFileSync(file, wanted);
  if (readFileSync(file, "utf8") === wanted) return;
  console.error(`${path} is stale: run ${tool}`);
  process.exitCode = 1;
}
