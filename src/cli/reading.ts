/** The flags that say how a model file is read, as options of the model lane; and what it told us. */
import { GanglionError } from "../base/errors.ts";
import { limitsOf, type Settings } from "../config.ts";
import type { LoadOptions } from "../load_model.ts";
import type { Plan } from "../model/mod.ts";
import { say } from "../runtime/mod.ts";

export function loadOptions(settings: Settings): LoadOptions {
  const { dt, discretization, compare, reset, strict } = settings;
  return {
    ...(dt === undefined ? {} : { dt }),
    ...(discretization === undefined ? {} : { discretization }),
    ...(compare === undefined ? {} : { compare }),
    ...(reset === undefined ? {} : { reset }),
    ...(settings["if-gain"] === undefined ? {} : { ifGain: settings["if-gain"] }),
    ...(settings["cuba-order"] === undefined ? {} : { cubaOrder: settings["cuba-order"] }),
    flattenBatch: settings["flatten-batch"],
    strict,
    cut: settings.cut.map(readCut),
    limits: limitsOf(settings),
    isolated: true,
  };
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
  for (const { level, node, text } of plan.notes) {
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
