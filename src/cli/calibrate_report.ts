/** What `calibrate` found: the serQ program, and the report with what the program predicts. */
import { type CostFit, type OwnCost, writeProgram } from "../calibrate/mod.ts";
import type { ServerModel } from "../load/mod.ts";
import { compile, Interpreter, reportOf } from "../serq/mod.ts";
import { table } from "./serq_report.ts";

export interface Calibration {
  readonly model: ServerModel;
  /** Steps as clients meet them: with what the server does for each chunk. */
  readonly served: CostFit;
  readonly own: OwnCost;
  /** Steps of the executor alone; null where there is only a URL. */
  readonly bare: CostFit | null;
  readonly density: number;
}

/** Shares of the capacity that the report predicts. */
const LOADS = [0.25, 0.5, 0.75, 0.9];
/** Frame periods that a prediction runs for; fewer where there are many sessions. */
const PERIODS_MAX = 500, PERIODS_MIN = 10;
const CHUNKS = 50_000;
/** Share of them that does not count. */
const WARMUP = 0.1;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const ms = (seconds: number): string => (1000 * seconds).toPrecision(4);

/** The model and what computes it, for people. */
export function nameOf({ id, executor }: ServerModel): string {
  return `${id} on ${executor.kind} (${executor.device})`;
}

export function programOf(
  { model, served, own, density }: Calibration,
  template: string,
  file = "FILE.sq",
): string {
  const { slots } = model;
  const constants = {
    step_base: served.base,
    step_row: served.row,
    own_least: own.least,
    own_more: own.more,
    slots,
    sessions: slots,
  };
  const sizes = served.points.map(({ rows }) => rows).join(", ");
  const heading = [
    `${nameOf(model)}: ${slots} slots, frames of ${model.frame} steps, ` +
    `inputs ${percent(density)} on.`,
    `Measured by ganglion calibrate with ${sizes} sessions; the line is at most ` +
    `${percent(served.worst)} off.`,
  ];
  const text = writeProgram(template, constants, heading);
  return text.replaceAll("examples/serq/stream_server.sq", file);
}

/** Frames a second of full steps. */
function capacityOf({ base, row }: CostFit, slots: number): number {
  return slots / (base + row * slots);
}

interface Prediction {
  readonly load: number;
  readonly period: number;
  readonly p50: number;
  readonly p99: number;
  readonly late: number;
}

/** What the program says, run as `serq run` does. */
function predict({ model, served }: Calibration, program: string): Prediction[] {
  const { slots } = model;
  const periods = Math.max(PERIODS_MIN, Math.min(PERIODS_MAX, CHUNKS / slots));
  return LOADS.map((load) => {
    const period = slots / (load * capacityOf(served, slots));
    const horizon = periods * period;
    const warmup = WARMUP * horizon;
    const inputs = new Map([["load", load]]);
    const interpreter = new Interpreter(compile(program, { horizon, warmup, inputs }));
    interpreter.run();
    const { latency, late } = reportOf(interpreter, [50]).observes;
    const { p50 } = latency!.percentiles!;
    return { load, period, p50: p50!, p99: latency!.p99, late: late!.mean };
  });
}

/** Sessions whose frames are done as fast as they last, at most as many as slots. */
function realTimeSessions({ model, served }: Calibration): number {
  const period = model.dt * model.frame;
  const { base, row } = served;
  if (base > period) return 0;
  return row === 0 ? model.slots : Math.min(model.slots, Math.floor((period - base) / row));
}

export function reportText(calibration: Calibration, program: string, file: string): string {
  const { model, served, own, bare } = calibration;
  const { slots, frame, dt } = model;
  const capacity = capacityOf(served, slots);
  const predictions = predict(calibration, program);
  const lines = [
    `${nameOf(model)}, ${slots} slots, frames of ${frame} steps`,
    "",
    ...(bare === null ? [] : [...fitLines("executor alone", bare), ""]),
    ...fitLines("served, a frame a chunk", served),
    "",
    `a chunk on an idle server: ${ms(own.p50)} ms, p90 ${ms(own.p90)} (${own.count} chunks); ` +
    `beside its step: ${ms(own.least)} + ${ms(own.more)} ms`,
    `capacity: ${capacity.toPrecision(4)} frames/s with ${slots} sessions` +
    (bare === null ? "" : `, ${percent(capacity / capacityOf(bare, slots))} of the executor's`),
    `in real time (a frame of ${ms(dt * frame)} ms): ${realTimeSessions(calibration)} sessions`,
    "",
    ...table(
      ["load", "period ms", "p50 ms", "p99 ms", "late"],
      predictions.map(({ load, period, p50, p99, late }) => [
        percent(load),
        ms(period),
        ms(p50),
        ms(p99),
        percent(late),
      ]),
    ),
    "",
    `serq run ${file} --horizon 60 --warmup 5 --percentiles 50,99 -- --load 0.5`,
  ];
  return `${lines.join("\n")}\n`;
}

function fitLines(what: string, { base, row, points }: CostFit): string[] {
  const rows = points.map(({ rows: size, seconds, p10, p90, count, fitted, error }) => [
    String(size),
    ...[ms(seconds), `${ms(p10)}-${ms(p90)}`, String(count), ms(fitted)],
    `${error < 0 ? "" : "+"}${percent(error)}`,
  ]);
  return [
    `${what}: step = ${ms(base)} + ${ms(row)} x sessions ms`,
    ...table(["sessions", "ms", "p10-p90", "n", "fitted", "error"], rows),
  ];
}

/** Times in seconds. */
export function reportJson(calibration: Calibration, program: string): string {
  const { model, served, own, bare, density } = calibration;
  const { slots } = model;
  const { id, frame, dt, executor } = model;
  const report = {
    model: { id, slots, frame, dt, executor },
    density,
    served,
    own,
    bare,
    capacity: {
      frames_per_second: capacityOf(served, slots),
      bare_frames_per_second: bare === null ? null : capacityOf(bare, slots),
      real_time_sessions: realTimeSessions(calibration),
    },
    predictions: predict(calibration, program),
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}
