/** How a file is read where NIR leaves a choice: what may be asked for, and what holds when it is not. */
import { closest } from "../base/closest.ts";
import { GanglionError } from "../base/errors.ts";
import { type Dialect, DIALECT_NAMES, DIALECTS } from "./dialects.ts";
import type { DialectName, Discretization, ReadingOptions } from "./plan.ts";

export interface CompileOptions extends Partial<Omit<ReadingOptions, "dialect">> {
  /** Name of the model; the graph's own when not given. */
  readonly name?: string;
  /** Sets all options to what a framework computes; options that are given as well win. */
  readonly dialect?: DialectName;
  /** Seconds a time step; found out when not given (`dtSource` says how). */
  readonly dt?: number;
  /** `euler` (default): decay 1 - dt/tau; `exact`: exp(-dt/tau). */
  readonly discretization?: Discretization;
  /** Refuse what would otherwise be repaired with a warning. */
  readonly strict?: boolean;
  /** Edges in cycles that read the step before, as pairs of names. */
  readonly cut?: readonly (readonly [from: string, to: string])[];
}

export interface Settings extends ReadingOptions {
  readonly discretization: Discretization;
  readonly strict: boolean;
}

/** A choice that the dialect made. */
export interface DialectChoice {
  readonly option: string;
  readonly value: string;
  readonly why: string;
}

const CHOICES = {
  discretization: ["euler", "exact"],
  compare: ["gt", "ge"],
  reset: ["v_reset", "zero", "subtract", "subtract_next", "none"],
  ifGain: ["auto", "r", "r_dt"],
  cubaOrder: ["new", "old"],
  gain: ["file", "unit", "no_r", "threshold", "fold"],
  form: ["decay", "box"],
  spikes: ["one", "many"],
  late: ["none", "spikes", "weights"],
  synapse: ["after", "before"],
  rest: ["zero", "v_leak", "v_reset"],
} as const;

const DEFAULTS: Omit<Settings, "dialect" | "strict"> = {
  discretization: "euler",
  compare: "gt",
  reset: "v_reset",
  ifGain: "auto",
  cubaOrder: "new",
  flattenBatch: false,
  gain: "file",
  form: "decay",
  spikes: "one",
  late: "none",
  synapse: "after",
  rest: "zero",
  clamp: false,
};

/** All settings, and which of them the dialect made. Throws `usage` naming an option with no such choice. */
export function settle(
  options: CompileOptions,
): { settings: Settings; chosen: readonly DialectChoice[] } {
  for (const key of Object.keys(CHOICES) as (keyof typeof CHOICES)[]) {
    const value = options[key];
    const choices: readonly string[] = CHOICES[key];
    if (value !== undefined && !choices.includes(value)) {
      throw new GanglionError("usage", `${key} must be one of ${choices.join(", ")}, got ${value}`);
    }
  }
  const settled: Record<string, unknown> = { ...DEFAULTS };
  const chosen: DialectChoice[] = [];
  for (const [option, [value, why]] of Object.entries(dialectOf(options)?.choices ?? {})) {
    settled[option] = value;
    const given = options[option as keyof CompileOptions] !== undefined;
    if (!given) chosen.push({ option, value: String(value), why });
  }
  for (const option of Object.keys(DEFAULTS)) {
    settled[option] = options[option as keyof CompileOptions] ?? settled[option];
  }
  const { dialect = "none", strict = false } = options;
  const settings: Settings = { ...settled as unknown as typeof DEFAULTS, dialect, strict };
  if (settings.spikes === "many" && settings.reset === "subtract_next") {
    throw new GanglionError("usage", "reset subtract_next goes with one spike a step: spikes one");
  }
  return { settings, chosen };
}

/** The row of the dialect that is asked for. Throws `usage` for one that does not exist. */
export function dialectOf({ dialect }: CompileOptions): Dialect | null {
  if (dialect === undefined) return null;
  if (Object.hasOwn(DIALECTS, dialect)) return DIALECTS[dialect];
  const near = closest(dialect, DIALECT_NAMES);
  throw new GanglionError(
    "usage",
    `There is no dialect ${dialect}${near ? `; did you mean ${near}?` : ""} ` +
      `Known: ${DIALECT_NAMES.join(", ")}`,
  );
}
