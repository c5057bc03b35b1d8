/** How a file is read where NIR leaves a choice: what may be asked for, and what holds when it is not. */
import { GanglionError } from "../base/errors.ts";
import type { Discretization, ReadingOptions } from "./plan.ts";

export interface CompileOptions extends Partial<ReadingOptions> {
  /** Name of the model; the graph's own when not given. */
  readonly name?: string;
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

const CHOICES = {
  discretization: ["euler", "exact"],
  compare: ["gt", "ge"],
  reset: ["v_reset", "zero", "subtract", "none"],
  ifGain: ["auto", "r", "r_dt"],
  cubaOrder: ["new", "old"],
} as const;

/** All settings, defaults filled in. Throws `usage` naming an option with no such choice. */
export function settle(options: CompileOptions): Settings {
  for (const key of Object.keys(CHOICES) as (keyof typeof CHOICES)[]) {
    const value = options[key];
    const choices: readonly string[] = CHOICES[key];
    if (value !== undefined && !choices.includes(value)) {
      throw new GanglionError("usage", `${key} must be one of ${choices.join(", ")}, got ${value}`);
    }
  }
  return {
    discretization: options.discretization ?? "euler",
    compare: options.compare ?? "gt",
    reset: options.reset ?? "v_reset",
    ifGain: options.ifGain ?? "auto",
    cubaOrder: options.cubaOrder ?? "new",
    flattenBatch: options.flattenBatch ?? false,
    strict: options.strict ?? false,
  };
}
