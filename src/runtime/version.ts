/** Which Ganglion this is: the version of package.json and, in a checkout, the commit. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pkg from "../../package.json" with { type: "json" };

export const VERSION: string = pkg.version;

/** Root of the checkout or package. */
export const ROOT: string = join(import.meta.dirname ?? ".", "..", "..");

/** The commit of the checkout, or null where there is none (an installed package). */
export async function readCommit(): Promise<string | null> {
  const git = join(ROOT, ".git");
  const read = (path: string) => readFile(join(git, path), "utf8").catch(() => "");
  const head = (await read("HEAD")).trim();
  const ref = head.startsWith("ref: ") ? head.slice("ref: ".length) : null;
  if (ref === null) return hash(head);
  const packed = (await read("packed-refs")).split("\n").find((line) => line.endsWith(` ${ref}`));
  return hash((await read(ref)).trim()) ?? hash(packed?.split(" ", 1)[0] ?? "");
}

function hash(text: string): string | null {
  return /^[0-9a-f]{40,64}$/.test(text) ? text : null;
}
