/**
 * What a run over recordings adds up to: scores and predictions of each recording, how many are right,
 * and the firing rates of each layer. Holds one row of scores a recording and one count a neuron.
 */
import { GanglionError } from "../base/errors.ts";
import { type Plan, type Probe, probesOf } from "../model/mod.ts";
import { Readout, type ReadoutName } from "../run/mod.ts";
import type { RecordingPart } from "../run_recordings.ts";
import { readArray } from "./recordings.ts";

export interface LayerRate {
  readonly name: string;
  readonly neurons: number;
  readonly spikes: number;
  /** Spikes a neuron and step. */
  readonly perStep: number;
  /** Spikes a neuron and second, by the model's dt. */
  readonly hertz: number;
  /** Neurons that never fired. */
  readonly silent: number;
}

export class Tally {
  readonly readout: ReadoutName | null;
  /** `[N, classes]`; empty without a readout. */
  readonly scores: Float32Array;
  /** Null for a recording without a step. */
  readonly predictions: (number | null)[];
  /** Names of the probes that must be recorded for the rates. */
  readonly spikeProbes: readonly string[];
  readonly #plan: Plan;
  readonly #running = new Map<number, Readout>();
  readonly #counts: ReadonlyMap<string, Float64Array>;
  #steps = 0;

  constructor(plan: Plan, count: number, readout: ReadoutName | null, rates: boolean) {
    this.#plan = plan;
    this.readout = readout;
    this.scores = new Float32Array(readout === null ? 0 : count * plan.outputSize);
    this.predictions = new Array<null>(readout === null ? 0 : count).fill(null);
    const probes = rates ? spikeProbesOf(plan) : [];
    this.spikeProbes = probes.map(({ name }) => name);
    this.#counts = new Map(probes.map(({ name, size }) => [name, new Float64Array(size)]));
  }

  add({ recording, steps, outputs, last }: RecordingPart): void {
    this.#steps += steps;
    for (const [name, counts] of this.#counts) {
      const spikes = outputs.probes[name]!;
      for (let i = 0; i < spikes.length; i++) counts[i % counts.length]! += spikes[i]!;
    }
    if (this.readout === null) return;
    const classes = this.#plan.outputSize;
    const readout = this.#running.get(recording) ?? new Readout(this.readout, classes);
    this.#running.set(recording, readout);
    readout.push(outputs.data);
    if (!last) return;
    this.scores.set(readout.scores(), recording * classes);
    this.predictions[recording] = readout.prediction();
    this.#running.delete(recording);
  }

  /** The score by which a recording was decided. */
  bestScore(recording: number): number {
    return this.scores[recording * this.#plan.outputSize + (this.predictions[recording] ?? 0)]!;
  }

  rates(): LayerRate[] {
    return [...this.#counts].map(([probe, counts]) => {
      const neurons = counts.length;
      const spikes = counts.reduce((sum, count) => sum + count, 0);
      const perStep = this.#steps === 0 ? 0 : spikes / (neurons * this.#steps);
      const silent = counts.filter((count) => count === 0).length;
      const name = probe.slice(0, -".s".length);
      return { name, neurons, spikes, perStep, hertz: perStep / this.#plan.dt, silent };
    });
  }
}

/** The spikes of every layer of neurons. */
export function spikeProbesOf(plan: Plan): Probe[] {
  return probesOf(plan).filter(({ node, field }) => {
    const { kind, state } = plan.nodes[node]!;
    return field === null && kind === "spike" && state.length > 0;
  });
}

/** The true class of each recording. Throws `bad_array` where they do not fit. */
export async function readTrueClasses(
  path: string,
  count: number,
  classes: number,
): Promise<Float32Array> {
  const { shape, values } = await readArray(path);
  const fits = values.length === count && shape.length <= 1;
  if (!fits) {
    throw new GanglionError(
      "bad_array",
      `${path} has shape [${shape.join(", ")}]; there are ${count} recordings, so it must be ` +
        `[${count}]`,
      { path, shape },
    );
  }
  const odd = values.findIndex((each) => !Number.isInteger(each) || each < 0 || each >= classes);
  if (odd >= 0) {
    throw new GanglionError(
      "bad_array",
      `${path} holds ${values[odd]} at index ${odd}; classes are whole numbers from 0 to ` +
        `${classes - 1}`,
      { path, index: odd },
    );
  }
  return values;
}
