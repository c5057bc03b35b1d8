/** The flags that say how a model file is read, as options of the model lane; and what it told us. */
import { GanglionError } from "../base/errors.ts";
import { limitsOf } from "../config.ts";
import type { LoadOptions } from "../load_model.ts";
import type { Plan } from "../model/mod.ts";
import { say } from "../runtime/mod.ts";
import { type Call, given } from "./command.ts";
import type { InputChoice } from "./input_files.ts";

/** Only what was given: what was not is left to a run folder, else to the model lane. */
export function loadOptions(call: Call): LoadOptions {
  const { settings } = call;
  const options = {
    dt: settings.dt,
    discretization: settings.discretization,
    compare: settings.compare,
    reset: settings.reset,
    dialect: settings.dialect,
    gain: settings.gain,
    spikes: settings.spikes,
    form: settings.form,
    late: settings.late,
    synapse: settings.synapse,
    rest: settings.rest,
    clamp: settings.clamp === undefined ? undefined : settings.clamp === "on",
    ifGain: settings["if-gain"],
    cubaOrder: settings["cuba-order"],
    flattenBatch: given(call, "flatten-batch"),
    strict: given(call, "strict"),
    cut: given(call, "cut")?.map(readCut),
  };
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(entries), limits: limitsOf(settings), isolated: true };
}

/** The flags that say how an input file is read. */
export function inputChoice({ settings }: Call): InputChoice {
  return { binUs: settings["bin-us"], array: settings.array };
}

function readCut(text: string): readonly [string, string] {
  const parts = text.split(":");
  if (parts.length !== 2 || parts.includes("")) {
    throw new GanglionError("usage", `--cut takes two node names as A:B, not "${text}"`);
  }
  return [parts[0]!, parts[1]!];
}

/** Says what was assumed or repaired. */
export function sayNotes(plan: Plan, sayLine: (line: string) => void = say): void {
  for (const { level, code, node, text } of plan.notes) {
    if (code === "dialect") continue; // asked for; inspect lists them
    const where = node === undefined || text.includes(`"${node}"`) ? "" : `node "${node}": `;
    sayLine(`${level === "warning" ? "warning: " : ""}${plan.name}: ${where}${text}`);
  }
}

/** The one or two files a command works on. Throws `usage` for fewer or more. */
export function takePositionals(
  given: readonly string[],
  wanted: readonly string[],
): readonly string[] {
  if (given.length === wanted.length) return given;
  const missing = wanted.slice(given.length);
  throw new GanglionError(
    "usage",
    missing.length > 0
      ? `${missing.join(" and ")} must be given`
      : `There is one argument too many: ${given[wanted.length]}`,
  );
}
