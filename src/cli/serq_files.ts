/** The files of a serQ program: its text, libraries beside it, an instance, a trace. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  compile,
  compileForReading,
  type CompileOptions,
  evaluateConstant,
  type Lowered,
  parseInstance,
  type Program,
  readTrace,
  type TraceTurn,
} from "../serq/mod.ts";
import type { Flags } from "./serq_flags.ts";

/** A file that cannot be read, in words: exit code 1. */
export class FileError extends Error {}

export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as { code?: string };
    const reason = code === "ENOENT" ? "no such file" : code === "EISDIR" ? "is a folder" : code;
    throw new FileError(`${path}: cannot be read (${reason})`);
  }
}

/** Libraries are found relative to the file that uses them. */
function library(path: string, from: string): { text: string; name: string } | null {
  const name = join(dirname(from), path);
  return existsSync(name) ? { text: readText(name), name } : null;
}

/** What the flags and the instance file say, as the compiler takes it; flags win. */
export function compileOptions(
  flags: Flags,
  extra: readonly (readonly [string, number])[] = [],
): CompileOptions {
  const instance = flags.instance === null
    ? { inputs: new Map<string, number>(), settings: {} as Readonly<Record<string, number>> }
    : parseInstance(readText(flags.instance), flags.instance);
  const inputs = new Map(instance.inputs);
  for (const [name, text] of flags.set) inputs.set(name, evaluateConstant(text));
  for (const [name, value] of [...flags.inputs, ...extra]) inputs.set(name, value);
  const { settings } = instance;
  return {
    name: flags.file,
    horizon: flags.horizon ?? settings.horizon ?? null,
    warmup: flags.warmup ?? settings.warmup ?? 0,
    seed: flags.seed ?? settings.seed ?? 1,
    arrivals: flags.arrivals ?? settings.arrivals ?? null,
    inputs,
    definitions: new Map(flags.def),
    library,
  };
}

export function compileFile(
  flags: Flags,
  extra: readonly (readonly [string, number])[] = [],
): Program {
  const program = compile(readText(flags.file), compileOptions(flags, extra));
  if (flags.trace !== null) program.trace = flags.trace;
  return program;
}

export function lowerFile(flags: Flags): Lowered {
  return compileForReading(readText(flags.file), compileOptions(flags));
}

/** The sessions of the program's trace; none without one. */
export function corpusOf({ trace }: Program, flags: Flags): TraceTurn[][] {
  if (trace === null || trace === undefined) return [];
  const path = flags.trace ?? join(dirname(flags.file), trace);
  return readTrace(readText(path));
}
