/**
 * `serq run`: one run, several with other seeds, or a sweep over an input. Ctrl-C gives the report so
 * far: of one run up to that moment, of several the table of those that had ended.
 */
import { makeFolder, VERSION } from "../runtime/mod.ts";
import {
  Interpreter,
  jsonOf,
  type Program,
  type Report,
  reportOf,
  showNumber,
} from "../serq/mod.ts";
import { dump } from "./serq_dump.ts";
import { compileFile, corpusOf } from "./serq_files.ts";
import type { Flags } from "./serq_flags.ts";
import { Pace } from "./serq_pace.ts";
import { fixed, percentilesOf, reportText, table } from "./serq_report.ts";

const INTERRUPTED = 130;

export async function run(flags: Flags): Promise<number> {
  const pace = new Pace();
  try {
    if (flags.sweep !== null) await sweep(flags, pace);
    else if (flags.replications > 1) await replicate(flags, pace);
    else await once(flags, pace);
  } finally {
    pace.end();
  }
  return pace.interrupted ? INTERRUPTED : 0;
}

async function once(flags: Flags, pace: Pace): Promise<void> {
  const interpreter = interpreterOf(compileFile(flags), flags);
  // Where nothing can be written, the run need not be waited for.
  if (flags.dump !== null) await makeFolder(flags.dump);
  const whole = await pace.run(interpreter, "");
  const report = reportOf(interpreter, flags.percentiles);
  if (!whole) sayInterrupted(report, pace);
  if (flags.json) {
    const iterations = flags.iterations ? { iterations: iterationsOf(interpreter) } : {};
    await pace.write(`${jsonOf({ ...report, ...iterations }, VERSION)}\n`);
  } else {
    if (flags.iterations) await pace.write(iterationsText(interpreter));
    await pace.write(reportText(report));
  }
  if (flags.dump !== null) await dump(interpreter, flags.dump);
}

function sayInterrupted(report: Report, pace: Pace): void {
  pace.say(`interrupted at time ${showNumber(report.end)}; the report so far:`);
}

function interpreterOf(program: Program, flags: Flags): Interpreter {
  return new Interpreter(program, {
    corpus: corpusOf(program, flags),
    traceIterations: flags.iterations,
    dump: flags.dump !== null,
  });
}

/** For each iteration: when, who, how long, and what each job got. */
function iterationsOf({ machine }: Interpreter) {
  return machine.iterationTrace!.map(({ start, end, stage, batch }) => ({
    start,
    engine: stage,
    duration: end - start,
    batch: batch.map(({ session, decode, tokens }) => ({
      session,
      mode: decode ? "decode" : "prefill",
      tokens,
    })),
  }));
}

/** One line an iteration, with `session:mode:tokens` for each job. */
function iterationsText(interpreter: Interpreter): string {
  return iterationsOf(interpreter).map(({ start, engine, duration, batch }) => {
    const jobs = batch.map(({ session, mode, tokens }) =>
      `${session}:${mode}:${showNumber(tokens)}`
    );
    return `${showNumber(start)} ${engine} ${showNumber(duration)} ${jobs.join(" ")}\n`;
  }).join("");
}

/** Means over runs with other seeds, and how sure they are. */
async function replicate(flags: Flags, pace: Pace): Promise<void> {
  const reports = await replications(flags, pace, { extra: [], done: 0, runs: flags.replications });
  if (!await somethingEnded(flags, pace, reports)) return;
  if (flags.json) {
    await pace.write(`[${reports.whole.map((report) => jsonOf(report, VERSION)).join(",\n")}]\n`);
    return;
  }
  const { whole } = reports;
  const rows = metricsOf(whole[0]!).map(([name]) => {
    const values = whole.map((report) => new Map(metricsOf(report)).get(name) ?? NaN);
    const { mean, halfWidth } = interval(values);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return [name, fixed(mean, 4), `±${fixed(halfWidth, 4)}`, fixed(least, 4), fixed(most, 4)];
  });
  const head = `replications: ${whole.length} seeds ${whole[0]!.seed} to ${whole.at(-1)!.seed}`;
  const lines = table(["mean of", "mean", "95% CI", "min", "max"], rows);
  await pace.write([head, "", ...lines, ""].join("\n"));
}

interface Reports {
  readonly whole: Report[];
  /** Of the run that Ctrl-C met. */
  partial: Report | null;
}

/** Runs with seeds from `--seed` on. `done` of `runs` runs went before. */
async function replications(
  flags: Flags,
  pace: Pace,
  { extra, done, runs }: {
    readonly extra: readonly (readonly [string, number])[];
    readonly done: number;
    readonly runs: number;
  },
): Promise<Reports> {
  const reports: Reports = { whole: [], partial: null };
  for (let k = 0; k < flags.replications && !pace.interrupted; k += 1) {
    const program = compileFile(flags, extra);
    program.seed += k;
    const interpreter = interpreterOf(program, flags);
    const whole = await pace.run(interpreter, `run ${done + k + 1} of ${runs}, `);
    const report = reportOf(interpreter, flags.percentiles);
    if (whole) reports.whole.push(report);
    else reports.partial = report;
  }
  return reports;
}

/**
 * Says what Ctrl-C left. True when there is a table to show, or a list as JSON, which may be empty;
 * else it has shown the report of the first run so far.
 */
async function somethingEnded(flags: Flags, pace: Pace, reports: Reports): Promise<boolean> {
  const { whole, partial } = reports;
  if (partial === null) return true;
  if (whole.length > 0 || flags.json) {
    pace.say(`interrupted; runs that had ended: ${whole.length}`);
    return true;
  }
  sayInterrupted(partial, pace);
  await pace.write(reportText(partial));
  return false;
}

async function sweep(flags: Flags, pace: Pace): Promise<void> {
  const { name, values } = flags.sweep!;
  const rows: { value: number; reports: Report[] }[] = [];
  const runs = values.length * flags.replications;
  const all: Reports = { whole: [], partial: null };
  for (const [k, value] of values.entries()) {
    if (pace.interrupted) break;
    const done = k * flags.replications;
    const reports = await replications(flags, pace, { extra: [[name, value]], done, runs });
    all.whole.push(...reports.whole);
    all.partial = reports.partial;
    if (reports.whole.length > 0) rows.push({ value, reports: reports.whole });
  }
  if (!await somethingEnded(flags, pace, all)) return;
  if (flags.json) {
    const texts = rows.map(({ value, reports }) => {
      const list = reports.map((report) => jsonOf(report, VERSION)).join(",");
      return `{${JSON.stringify(name)}:${value},"reports":[${list}]}`;
    });
    await pace.write(`[${texts.join(",\n")}]\n`);
    return;
  }
  const names = metricsOf(rows[0]!.reports[0]!).map(([metric]) => metric);
  const lines = rows.map(({ value, reports }) => [
    showNumber(value),
    ...names.map((metric) => {
      const { mean, halfWidth } = interval(
        reports.map((report) => new Map(metricsOf(report)).get(metric) ?? NaN),
      );
      return reports.length > 1 ? `${fixed(mean, 4)} ±${fixed(halfWidth, 4)}` : fixed(mean, 4);
    }),
  ]);
  await pace.write([...table([name, ...names], lines), ""].join("\n"));
}

/** The numbers of a report that a table over runs shows. */
function metricsOf({ observes, gauges, stages }: Report): [string, number][] {
  const member = ({ name, index }: { name: string; index: number | null }) =>
    index === null ? name : `${name}[${index}]`;
  return [
    ...Object.entries(observes).flatMap(([name, observed]): [string, number][] => [
      [name, observed.mean],
      ...Object.entries(percentilesOf(observed)).map(([percentile, value]): [string, number] => [
        `${name} ${percentile}`,
        value,
      ]),
    ]),
    ...Object.entries(gauges).map(([name, { mean }]): [string, number] => [name, mean]),
    ...stages.map((stage): [string, number] => [`${member(stage)} util`, stage.utilization]),
  ];
}

/** 97.5 % points of Student's t with 1, 2, … degrees of freedom; the normal one beyond. */
const STUDENT = [
  ...[12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228],
  ...[2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086],
  ...[2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042],
];
const NORMAL = 1.96;

function interval(values: readonly number[]): { mean: number; halfWidth: number } {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  if (count < 2) return { mean, halfWidth: Infinity };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  return { mean, halfWidth: (STUDENT[count - 2] ?? NORMAL) * Math.sqrt(variance / count) };
}
