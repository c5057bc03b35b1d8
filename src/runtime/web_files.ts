/**
 * The files that browsers get: those of `web/`, and the two packages that they use, as they lie in the
 * checkout. Read once at start; nothing is fetched from elsewhere and nothing is built.
 */
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT } from "./version.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Name below `/web/` → module of a package. */
const PACKAGES: Readonly<Record<string, string>> = {
  "uplot.js": "uplot/dist/uPlot.iife.min.js",
  "uplot.css": "uplot/dist/uPlot.min.css",
  "eventsource_parser.js": "eventsource-parser",
};

export interface WebFile {
  /** Without a folder: `main.js`. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export async function readWebFiles(): Promise<WebFile[]> {
  const folder = join(ROOT, "web");
  const names = (await readdir(folder)).filter((name) => extname(name) in TYPES);
  const paths = [
    ...names.map((name) => [name, join(folder, name)] as const),
    ...Object.entries(PACKAGES).map(([name, specifier]) =>
      [name, fileURLToPath(import.meta.resolve(specifier))] as const
    ),
  ];
  return await Promise.all(paths.map(async ([name, path]) => ({
    name,
    type: TYPES[extname(name)]!,
    bytes: new Uint8Array(await readFile(path)),
  })));
}
