/**
 * The length of a time step, in seconds (NUMERICS §5): the flag, else the file's metadata, else
 * inferred from gains that were made to be 1 with it, else 1e-4. Anything but the flag is noted.
 */
import { GanglionError } from "../base/errors.ts";
import type { Dialect } from "./dialects.ts";
import type { FlatGraph, Notes } from "./flat_graph.ts";
import type { NirField } from "./nir.ts";
import { tensorOf } from "./nir_schema.ts";
import type { Discretization, DtSource } from "./plan.ts";

export const DT_DEFAULT = 1e-4;

/** How far r·dt/τ may be from 1 for a file to count as made with that dt. */
const GAIN_MARGIN = 1e-3;
/** A dt so long that some τ is shorter than this many steps was never meant. */
const STEPS_PER_TAU_MIN = 1.5;

export interface TimeStep {
  readonly dt: number;
  readonly source: DtSource;
}

export function chooseDt(
  graph: FlatGraph,
  metadata: ReadonlyMap<string, NirField>,
  flag: number | undefined,
  dialect: Dialect | null,
  notes: Notes,
): TimeStep {
  if (flag !== undefined) {
    if (!(flag > 0 && Number.isFinite(flag))) {
      throw new GanglionError("usage", `dt must be a positive number of seconds, got ${flag}`);
    }
    noteOtherDt(flag, metadataDt(metadata, null), "its metadata say", notes);
    const hinted = dialect?.dt[0] === "gains" ? dialectDt(graph, dialect) : inferDt(graph);
    noteOtherDt(flag, hinted, IN_GAINS, notes);
    return { dt: flag, source: "flag" };
  }
  const written = metadataDt(metadata, notes);
  const inferred = inferDt(graph);
  if (written !== null) {
    notes.info("dt_metadata", `dt = ${written} s, from the file's metadata`);
    noteOtherDt(written, inferred, IN_GAINS, notes);
    return { dt: written, source: "metadata" };
  }
  const framework = dialect === null ? null : dialectDt(graph, dialect);
  if (dialect !== null && framework !== null) {
    notes.info("dialect", `dt ${framework} s: ${dialect.dt[1]}`);
    if (inferred !== null && Math.abs(inferred / framework - 1) > GAIN_MARGIN) {
      notes.warn(
        "dialect_dt",
        `${dialect.title} reads this file with dt = ${framework} s, but every r·dt/tau is 1 with ` +
          `${inferred} s; give --dt if it was made with that`,
      );
    }
    return { dt: framework, source: "dialect" };
  }
  if (inferred !== null) {
    notes.warn(
      "dt_inferred",
      `dt = ${inferred} s, with which every r·dt/tau is 1; give --dt to say otherwise`,
    );
    return { dt: inferred, source: "inferred" };
  }
  notes.warn("dt_default", `dt = ${DT_DEFAULT} s, for the file does not say; give --dt to set it`);
  return { dt: DT_DEFAULT, source: "default" };
}

const IN_GAINS = "its gains were made with";

/** Warns when the file gives away another dt than the one that is taken. */
function noteOtherDt(dt: number, hinted: number | null, how: string, notes: Notes): void {
  if (hinted === null || Math.abs(hinted / dt - 1) <= GAIN_MARGIN) return;
  notes.warn(
    "other_dt",
    `The file was probably made with another dt than ${dt} s: ${how} ${hinted} s`,
  );
}

/**
 * Warns when the times of a model look like steps, not seconds, and of a tau that is shorter than a step.
 * (Under euler that one is an error, where the decay is computed.)
 */
export function noteSteps(
  graph: FlatGraph,
  dt: number,
  discretization: Discretization,
  dialect: Dialect | null,
  notes: Notes,
): void {
  const all = gains(graph);
  const short = new Map(all.filter(({ tau }) => tau > 0 && tau < dt).map((one) => [one.node, one]));
  // A framework that counts steps has a rule of its own.
  const silent = discretization === "euler" || dialect?.dt[0] === 1;
  for (const { node, tauField, tau } of silent ? [] : short.values()) {
    notes.warn(
      "tau_short",
      `${tauField} = ${tau} s is shorter than a step of ${dt} s: the file was probably made with a ` +
        "shorter one; give it with --dt",
      node,
    );
  }
  const taus = all.map(({ tau }) => tau);
  if (taus.length > 0 && taus.every((tau) => tau >= 1) && dt < 1e-2) {
    notes.warn(
      "tau_in_steps",
      `Every tau is at least 1 while dt is ${dt} s: the file may count time in steps (--dt 1)`,
    );
  }
}

/** The dt that a framework takes for a file, or null when it would ask. */
function dialectDt(graph: FlatGraph, { dt: [value] }: Dialect): number | null {
  if (value !== "gains") return value;
  let least = Infinity;
  for (const { tau, gain, field } of gains(graph)) {
    if (field === "r") least = Math.min(least, tau * stepsOf(gain));
  }
  return least > 0 && Number.isFinite(least) ? tidy(least) : null;
}

/** u = dt/tau with exp(−u)/u = r, by Newton's rule on u·exp(u) = 1/r. */
function stepsOf(r: number): number {
  let u = Math.log1p(1 / r);
  for (let k = 0; k < 20; k++) u -= (u - Math.exp(-u) / r) / (1 + u);
  return u;
}

/** Null where there is none, or nonsense, which is noted. */
function metadataDt(metadata: ReadonlyMap<string, NirField>, notes: Notes | null): number | null {
  const entry = metadata.get("dt");
  if (entry === undefined) return null;
  const value = typeof entry === "string" ? Number(entry) : entry.data[0]!;
  const single = typeof entry === "string" || entry.data.length === 1;
  if (single && value > 0 && Number.isFinite(value)) return value;
  notes?.warn(
    "dt_metadata_ignored",
    "The metadata entry dt is no positive number and was left out",
  );
  return null;
}

interface Gain {
  readonly node: string;
  /** `tau`, `tau_mem` or `tau_syn`. */
  readonly tauField: string;
  readonly tau: number;
  /** `r` or `w_in`. */
  readonly field: string;
  readonly gain: number;
}

/** The dt that makes every gain 1, or null when there is no such dt or nothing hints at one. */
function inferDt(graph: FlatGraph): number | null {
  const all = gains(graph);
  if (all.length === 0 || all.every(({ gain }) => gain === 1)) return null;
  let [least, most] = [Infinity, -Infinity];
  for (const { tau, gain } of all) {
    const dt = tau / gain;
    if (!(dt > 0)) return null;
    least = Math.min(least, dt);
    most = Math.max(most, dt);
  }
  const dt = tidy((least + most) / 2);
  const fits = all.every(({ tau, gain }) =>
    Math.abs((gain * dt) / tau - 1) <= GAIN_MARGIN && tau / dt >= STEPS_PER_TAU_MIN
  );
  return fits ? dt : null;
}

/** Every pair of a time constant and the gain that goes with it. */
function gains(graph: FlatGraph): Gain[] {
  const found: Gain[] = [];
  for (const [name, node] of graph.nodes) {
    const pairs = node.type === "LIF" || node.type === "LI"
      ? [["tau", "r"]]
      : node.type === "CubaLIF" || node.type === "CubaLI"
      ? [["tau_mem", "r"], ["tau_syn", "w_in"]]
      : [];
    for (const [tauField, field] of pairs as [string, string][]) {
      const taus = tensorOf(node, tauField).data;
      const values = tensorOf(node, field).data;
      for (let i = 0; i < Math.max(taus.length, values.length); i++) {
        const tau = taus.length === 1 ? taus[0]! : taus[i]!;
        const gain = values.length === 1 ? values[0]! : values[i]!;
        found.push({ node: name, tauField, tau, field, gain });
      }
    }
  }
  return found;
}

/** Rounding of the file's f32 undone: the short decimal number that dt was, when one is that near. */
function tidy(dt: number): number {
  for (const digits of [1, 2, 3, 4, 5]) {
    const short = Number(dt.toPrecision(digits));
    if (Math.abs(short / dt - 1) < 1e-6) return short;
  }
  return dt;
}
