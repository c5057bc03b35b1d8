/**
 * `serq run`: one run, several with other seeds, or a sweep over an input. Virtual time costs real
 * time: a long run shows how far it is, and Ctrl-C gives the report so far.
 */
import { nextTurn } from "../base/clock.ts";
import { onSignal, say, VERSION, writeOut } from "../runtime/mod.ts";
import {
  Interpreter,
  jsonOf,
  type Program,
  type Report,
  reportOf,
  showNumber,
} from "../serq/mod.ts";
import { Progress } from "./progress.ts";
import { compileFile, corpusOf } from "./serq_files.ts";
import type { Flags } from "./serq_flags.ts";
import { fixed, percentilesOf, reportText, table } from "./serq_report.ts";

const SLICE_MS = 50;
const SLICE_EVENTS = 512;
const INTERRUPTED = 130;

/** Set by Ctrl-C. */
let interrupted = false;

export async function run(flags: Flags): Promise<number> {
  onSignal("SIGINT", () => {
    interrupted = true;
  });
  if (flags.sweep !== null) await sweep(flags);
  else if (flags.replications > 1) await replicate(flags);
  else await once(flags);
  return interrupted ? INTERRUPTED : 0;
}

async function once(flags: Flags): Promise<void> {
  const program = compileFile(flags);
  const interpreter = await simulate(program, flags);
  if (flags.iterations) await writeOut(iterationsText(interpreter));
  const report = reportOf(interpreter, flags.percentiles);
  if (interrupted) say(`interrupted at time ${showNumber(report.end)}; the report so far:`);
  await writeOut(flags.json ? `${jsonOf(report, VERSION)}\n` : reportText(report));
}

/** Runs in slices, so that signals and progress get their turn. */
async function simulate(program: Program, flags: Flags): Promise<Interpreter> {
  const corpus = corpusOf(program, flags);
  const interpreter = new Interpreter(program, { corpus, traceIterations: flags.iterations });
  const progress = new Progress("time", program.horizon);
  let sliceStart = performance.now();
  for (let count = 1; !interrupted && interpreter.step(); count += 1) {
    if (count % SLICE_EVENTS !== 0 || performance.now() - sliceStart < SLICE_MS) continue;
    progress.update(Number(interpreter.machine.now.toPrecision(4)));
    await nextTurn();
    sliceStart = performance.now();
  }
  progress.end();
  interpreter.finish();
  return interpreter;
}

/** One line an iteration: when, who, how long, and `session:mode:tokens` for each job. */
function iterationsText({ machine }: Interpreter): string {
  return (machine.iterationTrace ?? []).map(({ start, end, stage, batch }) => {
    const jobs = batch.map(({ session, decode, tokens }) =>
      `${session}:${decode ? "decode" : "prefill"}:${showNumber(tokens)}`
    );
    return `${showNumber(start)} ${stage} ${showNumber(end - start)} ${jobs.join(" ")}\n`;
  }).join("");
}

/** Means over runs with other seeds, and how sure they are. */
async function replicate(flags: Flags): Promise<void> {
  const reports = await replications(flags, []);
  if (flags.json) {
    await writeOut(`[${reports.map((report) => jsonOf(report, VERSION)).join(",\n")}]\n`);
    return;
  }
  const rows = metricsOf(reports[0]!).map(([name]) => {
    const values = reports.map((report) => new Map(metricsOf(report)).get(name) ?? NaN);
    const { mean, halfWidth } = interval(values);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return [name, fixed(mean, 4), `±${fixed(halfWidth, 4)}`, fixed(least, 4), fixed(most, 4)];
  });
  const head = `replications: ${reports.length} seeds ${reports[0]!.seed} to ${
    reports.at(-1)!.seed
  }`;
  const lines = table(["mean of", "mean", "95% CI", "min", "max"], rows);
  await writeOut([head, "", ...lines, ""].join("\n"));
}

async function replications(
  flags: Flags,
  extra: readonly (readonly [string, number])[],
): Promise<Report[]> {
  const reports: Report[] = [];
  for (let k = 0; k < flags.replications && !interrupted; k += 1) {
    const program = compileFile(flags, extra);
    program.seed += k;
    reports.push(reportOf(await simulate(program, flags), flags.percentiles));
  }
  return reports;
}

async function sweep(flags: Flags): Promise<void> {
  const { name, values } = flags.sweep!;
  const rows: { value: number; reports: Report[] }[] = [];
  for (const value of values) {
    if (interrupted) break;
    rows.push({ value, reports: await replications(flags, [[name, value]]) });
  }
  if (flags.json) {
    const texts = rows.map(({ value, reports }) => {
      const list = reports.map((report) => jsonOf(report, VERSION)).join(",");
      return `{${JSON.stringify(name)}:${value},"reports":[${list}]}`;
    });
    await writeOut(`[${texts.join(",\n")}]\n`);
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
  await writeOut([...table([name, ...names], lines), ""].join("\n"));
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
