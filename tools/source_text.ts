/**
 * Reads the repository's own source as text, for the tests that hold its rules: which files there
 * are, code without comments and strings, and what a file imports.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export interface SourceFile {
  /** From the root of the repository, with slashes: `src/base/clock.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  /** A path from the root of the repository, or a package: `src/base/clock.ts`, `hono`. */
  readonly target: string;
  readonly isPackage: boolean;
  readonly isTypeOnly: boolean;
}

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDERS = ["bin", "client", "src", "web", "shaders", "tests", "tools", "bench", "examples"];
const SOURCE = /\.(ts|mjs|css|wgsl)$|^web\/.*\.js$/;

const COMMENT = String.raw`\/\*[\s\S]*?\*\/|\/\/[^\n]*`;
const STRING = String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|` +
  "`(?:\\\\[\\s\\S]|[^`\\\\])*`";
const REGEX = String.raw`(?<=[(,=:[!&|?{};]\s*|return\s)\/(?![*/])` +
  String.raw`(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*`;
const TOKEN = new RegExp(`(${COMMENT})|(${STRING})|(${REGEX})`, "g");

const FROM = /\b(?:import|export)\s+(type\s)?[^"';=]*?\bfrom\s*["']([^"']+)["']/g;
const BARE = /\bimport\s*["']([^"']+)["']/g;
const CALL = /\bimport\s*\(\s*["']([^"']+)["']/g;
const WORKER = /\bnew URL\(\s*["'](\.[^"']+\.ts)["']\s*,\s*import\.meta\.url/g;

/** Every source file of the repository. */
export function readSources(): SourceFile[] {
  return FOLDERS.flatMap((folder) => {
    try {
      return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .map((name) => posix.join(folder, name.replaceAll("\\", "/")));
    } catch {
      return []; // a folder that is not there yet
    }
  }).filter((path) => SOURCE.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

/** The text of a file in the root folder. */
export function readRootFile(name: string): string {
  return readFileSync(join(ROOT, name), "utf8");
}

/** `text` with its comments blanked; lines stay where they are. */
export function withoutComments(text: string): string {
  return text.replace(
    TOKEN,
    (token, comment) => comment === undefined ? token : token.replace(/[^\n]/g, " "),
  );
}

/** `text` with comments, strings and regular expressions blanked. */
export function codeOf(text: string): string {
  return text.replace(TOKEN, (token) => token.replace(/[^\n]/g, " "));
}

/** Everything a file imports, re-exports or starts as a worker. */
export function importsOf({ path, text }: SourceFile): Import[] {
  const code = withoutComments(text);
  const resolve = (name: string, isTypeOnly: boolean): Import =>
    name.startsWith(".")
      ? { target: posix.join(posix.dirname(path), name), isPackage: false, isTypeOnly }
      : { target: name, isPackage: true, isTypeOnly };
  const from = [...code.matchAll(FROM)].map(([, type, name]) => resolve(name!, type !== undefined));
  const others = [BARE, CALL, WORKER]
    .flatMap((pattern) => [...code.matchAll(pattern)].map(([, name]) => resolve(name!, false)));
  return [...from, ...others];
}
