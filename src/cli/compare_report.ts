/** What `compare` found, as text for people and JSON for programs. */
import type { Membrane } from "../membrane.ts";
import type { Plan } from "../model/mod.ts";
import type { Difference, Place } from "./difference.ts";

export interface Found {
  readonly plan: Plan;
  readonly difference: Difference;
  /** Steps by which theirs come later, where that alone makes the recording equal. */
  readonly shift: number | null;
  readonly membrane: Membrane | null;
  readonly tolerance: number;
  /** There is an axis that counts recordings. */
  readonly batch: boolean;
}

/** A spike that hangs on so few units in the last place is a matter of rounding. */
const ROUNDING_ULPS = 64;

export function compareJson({ plan, difference, shift, membrane, tolerance }: Found): string {
  const { first, ...counts } = difference;
  return `${
    JSON.stringify(
      {
        equal: first === null,
        tolerance,
        model: plan.name,
        digest: plan.digest,
        differ: counts.count,
        of: counts.of,
        recordings_that_differ: counts.recordings,
        largest_difference: counts.largest,
        first: first === null ? null : { ...first, index: indexOf(plan, first.neuron) },
        membrane,
        theirs_later_by_steps: shift,
      },
      null,
      2,
    )
  }\n`;
}

export function compareText(found: Found): string {
  const { difference, tolerance } = found;
  const { first, count, of, largest } = difference;
  const within = tolerance === 0 ? "" : ` within ${tolerance}`;
  if (first === null) {
    return `equal${within}: ${of} values, largest difference ${number(largest)}\n`;
  }
  const rows: readonly (readonly [string, string])[] = [
    ["different", `${count} of ${of} values${within}, the largest by ${number(largest)}`],
    ["first", placeText(found, first)],
    ["ours", number(first.ours)],
    ["theirs", number(first.theirs)],
    ...membraneRows(found),
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(11)} ${value}`);
  const hint = hintOf(found, first);
  return `${[...lines, ...(hint === null ? [] : ["", hint])].join("\n")}\n`;
}

function placeText({ plan, batch, difference }: Found, { recording, step, neuron }: Place): string {
  const where = batch ? `recording ${recording}, ` : "";
  const index = plan.outputShape.length > 1 ? ` [${indexOf(plan, neuron).join(", ")}]` : "";
  const others = batch ? ` (${difference.recordings} recordings differ)` : "";
  return `${where}step ${step}, neuron ${neuron}${index}${others}`;
}

function membraneRows({ membrane }: Found): [string, string][] {
  if (membrane === null) return [];
  const { node, v, threshold, distance, ulps } = membrane;
  const rows: [string, string][] = [["membrane", `${number(v)} of "${node}" before its reset`]];
  if (threshold === null) return rows;
  const side = distance! > 0 ? "above" : distance! < 0 ? "below" : "exactly at";
  const away = distance === 0 ? "" : `${number(Math.abs(distance!))} `;
  const last = ulps === null ? "" : `, ${Math.abs(ulps)} units in the last place`;
  rows.push(["threshold", `${number(threshold)}; the membrane is ${away}${side} it${last}`]);
  return rows;
}

/** What the numbers suggest, where they suggest something. */
function hintOf({ shift, membrane, difference }: Found, { step }: Place): string | null {
  if (shift !== null) {
    const steps = `${Math.abs(shift)} step${Math.abs(shift) === 1 ? "" : "s"}`;
    return `Theirs are ours, ${steps} ${shift > 0 ? "later" : "earlier"}.`;
  }
  if (membrane?.distance === 0) {
    return "The membrane meets the threshold exactly: try the other --compare.";
  }
  const ulps = membrane?.ulps ?? Infinity;
  if (Math.abs(ulps) <= ROUNDING_ULPS) {
    return "The membrane is that near to the threshold: another order of rounding may decide.";
  }
  const spikes = membrane !== null && membrane.threshold !== null;
  if (spikes && step > 0 && difference.count > 1) {
    return "The membrane is far from the threshold: the model is read differently. See --reset, " +
      "--compare,\n--discretization and --dt, and ganglion inspect for what was assumed.";
  }
  return null;
}

function indexOf({ outputShape }: Plan, neuron: number): number[] {
  const index: number[] = [];
  let rest = neuron;
  for (const axis of outputShape.toReversed()) {
    index.unshift(rest % axis);
    rest = Math.floor(rest / axis);
  }
  return index;
}

/** Nine digits tell any two f32 apart. */
function number(value: number): string {
  return String(Number(value.toPrecision(9)));
}
