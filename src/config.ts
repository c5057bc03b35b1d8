/**
 * Every flag, in one table, and how a command's flags are read: from the command line, else from
 * `GANGLION_<NAME>`, else the default. The result is frozen and validated; anything wrong is a
 * `usage` error that names the flag and what it takes. Reads no file and starts nothing.
 */
import { parseArgs } from "node:util";
import { closest } from "./base/closest.ts";
import { GanglionError } from "./base/errors.ts";
import { type Limit, type LimitName, LIMITS, type Limits, makeLimits } from "./base/limits.ts";

interface Flag<T> {
  /** Shown after the flag's name; null: the flag stands alone. */
  readonly placeholder: string | null;
  readonly help: string;
  readonly fallback: T;
  readonly short?: string;
  /** May be given several times, or once with commas. `read` gets one word and makes a list of it. */
  readonly many?: boolean;
  /** Never printed. */
  readonly secret?: boolean;
  /** Throws a sentence without the flag's name. */
  readonly read: (text: string) => T;
}

type Extra = Pick<Flag<unknown>, "short" | "secret">;

function wholeNumber({ default: fallback, min, max }: Limit, help: string): Flag<number> {
  return {
    placeholder: "N",
    help: `${help} (${min} to ${max})`,
    fallback,
    read(text) {
      const value = Number(text);
      if (!/^\d+$/.test(text) || value < min || value > max) {
        throw new RangeError(`takes a whole number from ${min} to ${max}`);
      }
      return value;
    },
  };
}

function choice<const T extends string>(values: readonly T[], help: string): Flag<T | undefined> {
  return {
    placeholder: values.join("|"),
    help,
    fallback: undefined,
    read(text) {
      const value = values.find((each) => each === text);
      if (value === undefined) throw new RangeError(`takes ${values.join(", ")}`);
      return value;
    },
  };
}

function withDefault<T>(flag: Flag<T | undefined>, fallback: T): Flag<T> {
  return flag.fallback === undefined ? { ...flag, fallback } as Flag<T> : flag as Flag<T>;
}

function text(placeholder: string, help: string, extra: Extra = {}): Flag<string | undefined> {
  return { placeholder, help, fallback: undefined, read: (value) => value, ...extra };
}

function list(placeholder: string, help: string, extra: Extra = {}): Flag<readonly string[]> {
  return { placeholder, help, fallback: [], many: true, read: (value) => [value], ...extra };
}

function toggle(help: string, short?: string): Flag<boolean> {
  return {
    placeholder: null,
    help,
    fallback: false,
    ...(short === undefined ? {} : { short }),
    read(value) {
      if (/^(1|true|yes|on)$/i.test(value)) return true;
      if (/^(0|false|no|off)$/i.test(value)) return false;
      throw new RangeError("takes 1 or 0");
    },
  };
}

const COUNTS: Limit = { default: 8, min: 1, max: 65_535, why: "as many as a server has slots" };
const SEEDS: Limit = { default: 1, min: 0, max: 2 ** 48, why: "a key of the generator" };
const CPU_THREADS: Limit = { default: 0, min: 0, max: 64, why: "each has working memory" };
const PORT: Limit = { default: 8787, min: 0, max: 65_535, why: "TCP" };

const seconds: Flag<number | undefined> = {
  placeholder: "SECONDS",
  help: "time of one step, e.g. 1e-4; overrides what the file says",
  fallback: undefined,
  read(value) {
    const number = Number(value);
    if (value.trim() === "" || !Number.isFinite(number) || number <= 0) {
      throw new RangeError("takes a positive number of seconds");
    }
    return number;
  },
};

/** A number above 0, and at most `max`. */
function positive(placeholder: string, help: string, max = Infinity): Flag<number | undefined> {
  return {
    placeholder,
    help,
    fallback: undefined,
    read(value) {
      const number = Number(value);
      if (value.trim() === "" || !Number.isFinite(number) || number <= 0 || number > max) {
        throw new RangeError(`takes a number above 0${max === Infinity ? "" : `, at most ${max}`}`);
      }
      return number;
    },
  };
}

const tolerance: Flag<number> = {
  placeholder: "X",
  help: "largest difference that counts as equal",
  fallback: 0,
  read(value) {
    const number = Number(value);
    if (value.trim() === "" || !(number >= 0) || number === Infinity) {
      throw new RangeError("takes a number that is not negative");
    }
    return number;
  },
};

/** Limits with a flag of their own. */
const OWN_FLAG = ["slots", "frame", "sessionsMax", "checkpointSteps"];

const limitOverrides: Flag<Partial<Limits>> = {
  placeholder: "NAME=N",
  help: `sets a limit: ${Object.keys(LIMITS).filter((name) => !OWN_FLAG.includes(name)).join(" ")}`,
  fallback: {},
  many: true,
  read(value) {
    const [name = "", number = ""] = value.split("=", 2);
    if (!Object.hasOwn(LIMITS, name)) {
      const near = closest(name, Object.keys(LIMITS));
      throw new RangeError(`knows no limit "${name}"${near ? `; did you mean ${near}?` : ""}`);
    }
    const { read } = wholeNumber(LIMITS[name as LimitName], name);
    try {
      return { [name]: read(number) };
    } catch (error) {
      throw new RangeError(`of ${name} ${(error as Error).message}`);
    }
  },
};

export const FLAGS = {
  // What is served
  slots: wholeNumber(LIMITS.slots, "sessions that hold a slot at once"),
  frame: wholeNumber(LIMITS.frame, "most time steps a session advances in one step"),
  device: withDefault(
    choice(["auto", "webgpu", "cpu"], "what computes; auto: WebGPU where it works, else the CPU"),
    "auto",
  ),
  "cpu-threads": wholeNumber(
    CPU_THREADS,
    "threads of the CPU executor; 0: one a core, but one core is left to requests",
  ),
  "no-worker": toggle("computes in the server's own thread, which then waits for every step"),
  name: list(
    "ID",
    "id of a model in the API, in the order of the models; else the file's name without .nir, .h5, .hdf5 or .json",
  ),
  limit: limitOverrides,
  "state-dir": text("FOLDER", "keeps sessions there, and goes on with them at the next start"),
  "sessions-max": wholeNumber(
    LIMITS.sessionsMax,
    "open sessions of a model; idle ones leave their slots to others; 0: as many as slots",
  ),
  "checkpoint-every": wholeNumber(
    LIMITS.checkpointSteps,
    "time steps a session runs until its state is kept anew",
  ),
  // How the model file is read
  dt: seconds,
  discretization: choice(["euler", "exact"], "how differential equations become steps [euler]"),
  strict: toggle("refuses files that need a repair instead of warning"),
  compare: choice(["gt", "ge"], "a neuron fires when v > threshold, or v >= threshold [gt]"),
  reset: choice(
    ["v_reset", "zero", "subtract", "subtract_next", "none"],
    "where a membrane goes after a spike [v_reset]",
  ),
  "if-gain": choice(["auto", "r", "r_dt"], "gain of IF neurons: r, or r times dt [auto]"),
  "cuba-order": choice(["new", "old"], "CubaLIF uses the new or the old synaptic current [new]"),
  "flatten-batch": toggle("dimensions of Flatten count a batch axis"),
  cut: list("A:B", "cuts the cycle at the edge from node A to node B"),
  dialect: choice(
    ["snntorch", "norse", "sparx", "sinabs", "rockpool", "spyx", "spikingjelly", "lava"],
    "sets all reading options to what this framework computes; other flags win",
  ),
  gain: choice(
    ["file", "unit", "no_r", "threshold", "fold"],
    "what multiplies a neuron's input: as the file says, 1, without r, 1 with the threshold " +
      "divided instead, or folded into the weights [file]",
  ),
  spikes: choice(["one", "many"], "how many spikes a neuron may give in a step [one]"),
  form: choice(["decay", "box"], "d*v + k*x, or v + k*(x - v): equal but for rounding [decay]"),
  late: choice(
    ["none", "spikes", "weights"],
    "what hands on its values in the step after: nothing, neurons that fire, or weights [none]",
  ),
  synapse: choice(
    ["after", "before"],
    "an input joins a synaptic current after the current's decay, or before [after]",
  ),
  rest: choice(["zero", "v_leak", "v_reset"], "where the state of neurons starts [zero]"),
  clamp: choice(["on", "off"], "membranes of IF neurons stop at -threshold [off]"),
  // Who may talk to it
  host: withDefault(text("ADDRESS", "address to listen on"), "127.0.0.1"),
  port: wholeNumber(PORT, "port to listen on; 0 picks a free one"),
  "api-key": list(
    "KEY",
    "clients must send it as Authorization: Bearer KEY; GANGLION_API_KEY keeps it out of the process list",
    { secret: true },
  ),
  "cors-origin": text("ORIGIN", "pages of this origin may call the API, e.g. https://example.org"),
  insecure: toggle("listens beyond this machine without an --api-key"),
  // What it tells
  log: withDefault(
    choice(["json", "text", "off"], "one line a request to stderr; json makes all lines JSON"),
    "off",
  ),
  // What comes out
  output: text("FILE", "writes the result there instead of stdout", { short: "o" }),
  record: list("NODE.VALUE", "also returns an internal value; names are shown by inspect"),
  json: toggle("prints JSON instead of text"),
  labels: text("LABELS.npy", "the true class of each recording, to count what is right"),
  rates: toggle("prints how often the neurons of each layer fire"),
  tolerance,
  // What stands around a model
  "bin-us": positive("US", "events become counts, in time steps of so many microseconds"),
  array: text("NAME", "the array of an .npz archive that is the input"),
  plot: text("FILE.html", "writes a page with the spikes of all layers and what --record names"),
  encoded: toggle("the input is what the model takes: the run's encoder is left out"),
  readout: choice(
    ["max", "sum", "mean", "softmax_sum"],
    "how outputs over time become one score a class [the run's, else sum]",
  ),
  encoder: text("KIND:NAME=N,...", "how samples become input, e.g. rate:steps=25,seed=7"),
  force: toggle("overwrites what is there"),
  "class-names": list("NAME", "names of the classes, in order, for a run folder"),
  // What load is put on a server
  sessions: wholeNumber(COUNTS, "sessions at once; with --find-capacity the number to begin with"),
  period: withDefault(positive("MS", "time between two frames of a session, in ms"), 20),
  chunk: wholeNumber({ ...COUNTS, default: 1 }, "frames in a chunk"),
  target: positive("MS", "99th percentile that is in time [the time between two chunks]"),
  seconds: withDefault(positive("S", "longest measurement of a number of sessions", 86_400), 10),
  "find-capacity": toggle("searches the largest number of sessions that are served in time"),
  model: text("MODEL", "id of the model, where the server has several"),
  density: withDefault(positive("X", "share of the inputs that spike in a step", 1), 0.05),
  input: text("FILE", "sends these recordings, again and again, in place of random spikes"),
  seed: wholeNumber(SEEDS, "draws when each session sends, and its random spikes"),
  html: text("FILE", "also writes a page with plots, which needs nothing but itself"),
  help: toggle("prints this text", "h"),
  version: toggle("prints the version"),
  "print-config": toggle("prints the settings that hold, and where each is from, as JSON"),
};

type Flags = typeof FLAGS;
export type FlagName = keyof Flags;
type ValueOf<F> = F extends Flag<infer T> ? T : never;
export type Source = "flag" | "environment" | "default";

/** Every flag's value; a flag that the command does not take holds its default. */
export type Settings = { readonly [K in FlagName]: ValueOf<Flags[K]> };

/** A command's own defaults, where they are not the flag's. */
export type Defaults = Partial<Settings>;

export interface Reading {
  readonly settings: Settings;
  /** Only the flags that the command takes. */
  readonly sources: ReadonlyMap<FlagName, Source>;
  readonly positionals: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

export const environmentName = (flag: string): string =>
  `GANGLION_${flag.toUpperCase().replaceAll("-", "_")}`;

/** Flags that have no environment variable: they ask for an answer instead of setting something. */
export const ASKING: readonly FlagName[] = ["help", "version", "print-config"];

/**
 * Reads the flags that a command takes, where it has `defaults` of its own with those. Throws `usage`
 * for anything else.
 */
export function readSettings(
  names: readonly FlagName[],
  argv: readonly string[],
  env: Environment,
  defaults: Defaults = {},
): Reading {
  const { words, positionals } = readWords(names, argv);
  const settings: Record<string, unknown> = {
    ...Object.fromEntries(Object.entries(FLAGS).map(([name, { fallback }]) => [name, fallback])),
    ...defaults,
  };
  const sources = new Map<FlagName, Source>();
  for (const name of names) {
    const flag: Flag<unknown> = FLAGS[name];
    const given = words.get(name);
    const variable = environmentName(name);
    const fromEnv = ASKING.includes(name) ? undefined : env[variable] || undefined;
    if (given !== undefined) settings[name] = readFlag(`--${name}`, flag, given);
    else if (fromEnv !== undefined) settings[name] = readFlag(variable, flag, [fromEnv]);
    sources.set(name, given ? "flag" : fromEnv ? "environment" : "default");
  }
  return { settings: Object.freeze(settings) as Settings, sources, positionals };
}

/** The limits that a command's settings make. */
export function limitsOf({ limit, slots, frame, ...settings }: Settings): Limits {
  const sessionsMax = settings["sessions-max"];
  const checkpointSteps = settings["checkpoint-every"];
  return makeLimits({ ...limit, slots, frame, sessionsMax, checkpointSteps });
}

/** Variables that look like ours but set nothing, with what was probably meant. */
export function unknownVariables(env: Environment): string[] {
  const launcher = ["READBACK", "RUNTIME", "DRIVERS", "DRIVER_FILES", "LAUNCHER", "SETUP"];
  const known = new Set([
    ...Object.keys(FLAGS).map(environmentName),
    ...launcher.map((name) => `GANGLION_${name}`),
  ]);
  return Object.keys(env).filter((name) => name.startsWith("GANGLION_") && !known.has(name))
    .map((name) => {
      const near = closest(name, known);
      return `${name} sets nothing${near ? `; did you mean ${near}?` : ""}`;
    });
}

function readWords(
  names: readonly FlagName[],
  argv: readonly string[],
): { words: Map<string, string[]>; positionals: string[] } {
  const options = Object.fromEntries(names.map((name) => {
    const { placeholder, short }: Flag<unknown> = FLAGS[name];
    const type = placeholder === null ? "boolean" as const : "string" as const;
    return [name, short === undefined ? { type } : { type, short }];
  }));
  // Not strict: the messages below are better than those of either runtime.
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    if (!Object.hasOwn(options, name)) throw unknownFlag(rawName, names);
    const flag: Flag<unknown> = FLAGS[name as FlagName];
    const swallowed = !inlineValue && value !== undefined && /^-[^\d.]/.test(value);
    if (flag.placeholder !== null && (value === undefined || swallowed)) {
      throw usage(`${rawName} needs a value, ${rawName} ${flag.placeholder}: ${flag.help}`);
    }
    words.set(name, [...words.get(name) ?? [], value ?? "true"]);
  }
  return { words, positionals };
}

function readFlag(shownName: string, flag: Flag<unknown>, words: readonly string[]): unknown {
  const parts = flag.many
    ? words.flatMap((word) => word.split(",")).map((word) => word.trim()).filter(Boolean)
    : words.slice(-1);
  const values = parts.map((word) => {
    try {
      return flag.read(word);
    } catch (error) {
      const { message } = error as Error;
      const shown = flag.secret || message.includes('"') ? "" : `, not "${word}"`;
      throw usage(`${shownName} ${message}${shown}`);
    }
  });
  if (!flag.many) return values[0];
  return Array.isArray(flag.fallback) ? values.flat() : Object.assign({}, ...values);
}

function unknownFlag(rawName: string, names: readonly FlagName[]): GanglionError {
  const wanted = rawName.replace(/^-+/, "");
  if (Object.hasOwn(FLAGS, wanted)) return usage(`${rawName} is not a flag of this command`);
  const near = closest(wanted, names);
  return usage(`There is no flag ${rawName}${near ? `; did you mean --${near}?` : ""}`);
}

function usage(message: string): GanglionError {
  return new GanglionError("usage", message);
}
