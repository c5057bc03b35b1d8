/** The command line of `serq`: which flags each command takes, and what their values must be. */
import { closest } from "../base/closest.ts";

export const COMMANDS = {
  run: "simulates the program and prints its report",
  check: "says whether the program is right, and how large it is",
  ir: "prints the program's intermediate representation as JSON",
  draw: "draws the deployment as SVG",
} as const;

export type CommandName = keyof typeof COMMANDS;

/** Wrong usage: exit code 2. */
export class UsageError extends Error {
  readonly command: CommandName | null;

  constructor(message: string, command: CommandName | null) {
    super(message);
    this.command = command;
  }
}

interface Flag {
  /** Other ways to write it, as `ganglion` has it. */
  readonly also?: readonly string[];
  readonly value: string | null;
  readonly commands: readonly CommandName[];
  readonly about: string;
}

const ALL: readonly CommandName[] = ["run", "check", "ir", "draw"];
const RUNS: readonly CommandName[] = ["run", "ir"];

export const FLAGS: Readonly<Record<string, Flag>> = {
  horizon: { value: "T", commands: RUNS, about: "the time at which the run ends" },
  warmup: { value: "T", commands: RUNS, about: "statistics start then (default 0)" },
  seed: { value: "N", commands: RUNS, about: "the seed of all draws (default 1)" },
  arrivals: { value: "N", commands: RUNS, about: "so many open arrivals, then drain" },
  set: { value: "NAME=EXPR", commands: ALL, about: "the value of an input (args.number)" },
  def: { value: "NAME=EXPR", commands: ALL, about: "another body for an expression definition" },
  instance: { value: "FILE", commands: ALL, about: "inputs and settings from a file" },
  trace: { value: "FILE", commands: RUNS, about: "another trace than the program names" },
  replications: { value: "N", commands: ["run"], about: "N runs with seeds from --seed on" },
  sweep: { value: "NAME=A:B:STEP", commands: ["run"], about: "a run for each value of an input" },
  percentiles: {
    value: "P,...",
    commands: ["run"],
    about: "of every observation, e.g. 50,90,99 (default 99)",
  },
  json: { value: null, commands: ["run"], about: "the report as JSON" },
  iterations: {
    value: null,
    commands: ["run"],
    about: "every iteration of every engine, for debugging",
  },
  dump: { value: "DIR", commands: ["run"], about: "every observed value and gauge as CSV files" },
  out: {
    value: "PATH",
    also: ["-o", "--output"],
    commands: ["draw"],
    about: "where to write (default: stdout); also -o, --output",
  },
};

const ALSO: ReadonlyMap<string, string> = new Map(
  Object.entries(FLAGS).flatMap(([name, { also = [] }]) =>
    also.map((word) => [word, name] as const)
  ),
);

export interface Flags {
  readonly command: CommandName;
  readonly file: string;
  readonly horizon: number | null;
  readonly warmup: number | null;
  readonly seed: number | null;
  readonly arrivals: number | null;
  /** Expressions as written. */
  readonly set: readonly (readonly [string, string])[];
  readonly def: readonly (readonly [string, string])[];
  readonly instance: string | null;
  readonly trace: string | null;
  readonly replications: number;
  readonly sweep: { readonly name: string; readonly values: readonly number[] } | null;
  /** In percent, rising; empty: the report's own. */
  readonly percentiles: readonly number[];
  readonly json: boolean;
  readonly iterations: boolean;
  readonly dump: string | null;
  readonly out: string | null;
  /** After `--`: plain numbers. */
  readonly inputs: readonly (readonly [string, number])[];
}

export function readFlags(argv: readonly string[]): Flags {
  const [name, ...rest] = argv;
  const command = findCommand(name);
  const split = rest.indexOf("--");
  const own = split < 0 ? rest : rest.slice(0, split);
  const raw = collect(command, own);
  const one = (flag: string): string | undefined => raw.values.get(flag)?.at(-1);
  const refuse = (flag: string, value: string, wanted: string): never => {
    throw new UsageError(`invalid value \`${value}\` for --${flag}: ${wanted}`, command);
  };
  const number = (flag: string, fits: (value: number) => boolean, wanted: string) => {
    const text = one(flag);
    if (text === undefined) return null;
    const value = text.trim() === "" ? NaN : Number(text);
    return fits(value) ? value : refuse(flag, text, wanted);
  };
  const whole = (least: number) => (value: number) => Number.isSafeInteger(value) && value >= least;
  const pairs = (flag: string) =>
    (raw.values.get(flag) ?? []).map((text) => pair(text, flag, refuse));
  if (raw.files.length === 0) throw new UsageError("missing FILE", command);
  if (raw.files.length > 1) {
    throw new UsageError(`unexpected argument \`${raw.files[1]}\``, command);
  }
  const flags: Flags = {
    command,
    file: raw.files[0]!,
    horizon: number("horizon", (v) => v > 0 && v < Infinity, "a finite positive time"),
    warmup: number("warmup", (v) => v >= 0 && v < Infinity, "a finite nonnegative time"),
    seed: number("seed", whole(0), "an unsigned integer"),
    arrivals: number("arrivals", whole(1), "a positive integer"),
    set: pairs("set"),
    def: pairs("def"),
    instance: one("instance") ?? null,
    trace: one("trace") ?? null,
    replications: number("replications", whole(1), "a positive integer") ?? 1,
    sweep: readSweep(one("sweep"), refuse),
    percentiles: readPercentiles(one("percentiles"), refuse),
    json: raw.values.has("json"),
    iterations: raw.values.has("iterations"),
    dump: one("dump") ?? null,
    out: one("out") ?? null,
    inputs: split < 0 ? [] : readInputs(rest.slice(split + 1), command),
  };
  refuseSeveral(flags);
  return flags;
}

function findCommand(name: string | undefined): CommandName {
  if (name === undefined) throw new UsageError("missing COMMAND", null);
  if (Object.hasOwn(COMMANDS, name)) return name as CommandName;
  const near = closest(name, Object.keys(COMMANDS));
  const hint = near === undefined ? "" : `; did you mean \`${near}\`?`;
  throw new UsageError(`unknown command \`${name}\`${hint}`, null);
}

/** `--iterations` and `--dump` show one run. */
function refuseSeveral({ command, iterations, dump, sweep, replications }: Flags): void {
  const several = sweep !== null ? "sweep" : replications > 1 ? "replications" : null;
  const flag = iterations ? "iterations" : dump !== null ? "dump" : null;
  if (several === null || flag === null) return;
  throw new UsageError(`--${flag} is of one run, and --${several} makes several`, command);
}

function collect(
  command: CommandName,
  argv: readonly string[],
): { files: string[]; values: Map<string, string[]> } {
  const files: string[] = [];
  const values = new Map<string, string[]>();
  for (let i = 0; i < argv.length; i += 1) {
    const word = argv[i]!;
    if (!word.startsWith("-") || word === "-") {
      files.push(word);
      continue;
    }
    const equals = word.indexOf("=");
    const given = equals < 0 ? word : word.slice(0, equals);
    const name = ALSO.get(given) ?? given.slice(2);
    if (!word.startsWith("--") && !ALSO.has(given)) {
      throw new UsageError(`unknown option \`${word}\``, command);
    }
    const flag = Object.hasOwn(FLAGS, name) ? FLAGS[name]! : undefined;
    if (flag === undefined) {
      const near = closest(name, Object.keys(FLAGS));
      const hint = near === undefined ? "" : `; did you mean \`--${near}\`?`;
      throw new UsageError(`unknown option \`--${name}\`${hint}`, command);
    }
    if (!flag.commands.includes(command)) {
      throw new UsageError(`--${name} is not supported by \`${command}\``, command);
    }
    if (flag.value === null && equals >= 0) {
      throw new UsageError(`--${name} takes no value`, command);
    }
    let value = "";
    if (flag.value !== null) {
      const next = equals < 0 ? argv[++i] : word.slice(equals + 1);
      if (next === undefined) throw new UsageError(`missing value for --${name}`, command);
      value = next;
    }
    values.set(name, [...values.get(name) ?? [], value]);
  }
  return { files, values };
}

type Refuse = (flag: string, value: string, wanted: string) => never;

function pair(text: string, flag: string, refuse: Refuse): readonly [string, string] {
  const equals = text.indexOf("=");
  if (equals < 1) refuse(flag, text, "NAME=EXPR");
  return [text.slice(0, equals).trim(), text.slice(equals + 1)];
}

const SWEEP_MAX = 1000;

function readSweep(text: string | undefined, refuse: Refuse): Flags["sweep"] {
  if (text === undefined) return null;
  const [name, range] = pair(text, "sweep", refuse);
  const parts = range.split(":").map(Number);
  const [first, last, step] = parts;
  if (parts.length !== 3 || !parts.every(Number.isFinite) || !(step! > 0) || last! < first!) {
    refuse("sweep", text, "NAME=A:B:STEP with A ≤ B and STEP > 0");
  }
  const count = Math.floor((last! - first!) / step! + 1e-9) + 1;
  if (count > SWEEP_MAX) refuse("sweep", text, `at most ${SWEEP_MAX} values`);
  // As 0.1 + 0.2 shows, sums of steps drift; twelve digits are what was meant.
  const values = Array.from(
    { length: count },
    (_, k) => Number((first! + k * step!).toPrecision(12)),
  );
  return { name, values };
}

function readPercentiles(text: string | undefined, refuse: Refuse): readonly number[] {
  if (text === undefined) return [];
  const values = text.split(",").map((word) => word.trim() === "" ? NaN : Number(word));
  if (!values.every((value) => value > 0 && value <= 100)) {
    refuse("percentiles", text, "numbers above 0 and at most 100, with commas between");
  }
  return [...new Set(values)].toSorted((a, b) => a - b);
}

/** `--name value` or `--name=value`, a number or inf. */
function readInputs(
  words: readonly string[],
  command: CommandName,
): (readonly [string, number])[] {
  const inputs: (readonly [string, number])[] = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i]!;
    if (!word.startsWith("--")) throw new UsageError(`unexpected argument \`${word}\``, command);
    const equals = word.indexOf("=");
    const name = equals < 0 ? word.slice(2) : word.slice(2, equals);
    const text = equals < 0 ? words[++i] : word.slice(equals + 1);
    if (text === undefined) throw new UsageError(`missing value for --${name}`, command);
    const value = text === "inf" ? Infinity : text.trim() === "" ? NaN : Number(text);
    if (Number.isNaN(value)) {
      throw new UsageError(`invalid value \`${text}\` for --${name}: a number or inf`, command);
    }
    inputs.push([name, value]);
  }
  return inputs;
}

export function usage(command: CommandName | null): string {
  if (command === null) return `serq ${Object.keys(COMMANDS).join("|")} FILE [options]`;
  const flags = Object.entries(FLAGS).filter(([, flag]) => flag.commands.includes(command));
  const texts = flags.map(([name, { value }]) => `[--${name}${value === null ? "" : ` ${value}`}]`);
  return `serq ${command} FILE ${texts.join(" ")} [-- --NAME VALUE]`;
}

export function helpText(): string {
  const commands = Object.entries(COMMANDS).map(([name, about]) => `  ${name.padEnd(6)} ${about}`);
  const flags = Object.entries(FLAGS).map(([name, { value, about, commands: of }]) => {
    const text = `--${name}${value === null ? "" : ` ${value}`}`;
    return `  ${text.padEnd(24)} ${about} (${of.length === ALL.length ? "all" : of.join(", ")})`;
  });
  return [
    "serq runs a serving deployment, written as a program, as a discrete-event simulation.",
    "",
    "Usage: serq COMMAND FILE [options] [-- --NAME VALUE ...]",
    "",
    "Commands:",
    ...commands,
    "",
    "Options:",
    ...flags,
    "",
    "Exit codes: 0 done; 1 the program is wrong or its run fails; 2 wrong usage.",
    "",
  ].join("\n");
}
