/**
 * The page of `infer --plot`: what went in, the spikes of every layer, recorded values as traces, what came
 * out. Of the first recording, which is held whole within a limit; the rest of a batch runs as always.
 */
import { GanglionError } from "../base/errors.ts";
import { type Plan, type Probe, probesOf } from "../model/mod.ts";
import type { RecordingPart } from "../run_recordings.ts";
import { chartSvg, COLOURS } from "./chart.ts";
import { predictionLine, type Ran } from "./infer_report.ts";
import { cards, figure, pageHtml } from "./page.ts";
import { rasterSvg } from "./raster.ts";
import type { RecordingFile } from "./recordings.ts";
import { spikeProbesOf } from "./tally.ts";

/** Values of the first recording that are held. */
const VALUES_MAX = 2 ** 27;
/** Lines of a chart that can be told apart. */
const TRACES_MAX = COLOURS.length;
/** Points of a line: twice the pixels. */
const POINTS_MAX = 1800;

/** One value of the model over the first recording. */
interface Held {
  readonly title: string;
  /** Of the plan; null for the input. */
  readonly node: number | null;
  readonly size: number;
  readonly isSpikes: boolean;
  /** `[steps, size]` */
  readonly values: Float32Array;
}

export class Plot {
  /** Names that must be recorded for it. */
  readonly record: readonly string[];
  readonly #plan: Plan;
  readonly #file: RecordingFile;
  readonly #held = new Map<string, Held>();

  /** Throws `usage` when the recording is too long to be drawn. */
  constructor(plan: Plan, file: RecordingFile, recorded: readonly string[]) {
    this.#plan = plan;
    this.#file = file;
    const spikes = spikeProbesOf(plan).map(({ name }) => name);
    const probes = probesOf(plan).filter(({ name }) =>
      spikes.includes(name) || recorded.includes(name)
    );
    this.record = probes.map(({ name }) => name);
    const isOutput = ({ node, field }: Probe) => node === plan.output && field === null;
    const sizes = probes.reduce((sum, { size }) => sum + size, plan.outputSize + plan.sampleSize);
    if (file.steps * sizes > VALUES_MAX) {
      throw new GanglionError(
        "usage",
        `--plot holds ${file.steps * sizes} values of the first recording, at most ${VALUES_MAX} ` +
          "are drawn: give a shorter one",
      );
    }
    for (const probe of probes) {
      if (isOutput(probe)) continue;
      this.#hold(probe, titleOf(probe.name), spikes.includes(probe.name));
    }
    const isSpikes = plan.nodes[plan.output]!.kind === "spike";
    const output = { name: "output", node: plan.output, size: plan.outputSize };
    this.#hold(output, "Output", isSpikes);
  }

  add({ recording, at, outputs }: RecordingPart): void {
    if (recording !== 0) return;
    for (const [name, { values, size }] of this.#held) {
      values.set(name === "output" ? outputs.data : outputs.probes[name]!, at * size);
    }
  }

  async page(ran: Ran, source: string): Promise<string> {
    const { steps, count, labels, tally, dt } = ran;
    const input = count === 0 ? new Float32Array(0) : await this.#file.read(0);
    const { sampleSize, name } = this.#plan;
    const first: Held = {
      title: "Input",
      node: null,
      size: sampleSize,
      isSpikes: input.every((value) => Number.isInteger(value) && value >= 0),
      values: input,
    };
    const all = [first, ...this.#held.values()];
    const seconds = Number((steps * dt).toPrecision(4));
    return pageHtml({
      title: `${name}: ${source}`,
      lead: `${steps} steps of ${dt} s, ${seconds} s in all` +
        (count > 1 ? `; the first of ${count} recordings` : ""),
      parts: [
        cards([
          ...(tally.readout === null ? [] : [{
            name: "Prediction",
            value: predictionLine({ ...ran, count: Math.min(1, count) }).split(/\s+/)[1] ?? "none",
            remark: `by ${tally.readout} of the outputs`,
          }]),
          ...all.filter(({ isSpikes }) => isSpikes).map((held) => {
            const { total, silent } = countsOf(held);
            return {
              name: held.title,
              value: total.toLocaleString("en-US"),
              remark: `spikes; ${silent} of ${held.size} never fire`,
            };
          }),
        ]),
        ...all.map((held, i) => this.#figureOf(held, steps, i, labels)),
      ],
    });
  }

  #hold(
    { name, node, size }: Pick<Probe, "name" | "node" | "size">,
    title: string,
    isSpikes: boolean,
  ): void {
    const values = new Float32Array(this.#file.count === 0 ? 0 : this.#file.steps * size);
    this.#held.set(name, { title, node, size, isSpikes, values });
  }

  /** Spikes of each neuron whose values these are; null where they are of no neurons. */
  #spikesOf({ node, size }: Held): Float64Array | null {
    const spikes = [...this.#held.values()].find((each) =>
      each.isSpikes && each.node === node && each.size === size
    );
    return spikes === undefined ? null : countsOf(spikes).each;
  }

  #figureOf(held: Held, steps: number, i: number, labels: readonly string[] | null): string {
    const { title, size, isSpikes, values } = held;
    const names = title === "Output" && labels !== null ? labels : undefined;
    if (!isSpikes) return traces(held, this.#spikesOf(held), steps, names);
    const { total } = countsOf(held);
    const rate = Number((total / Math.max(1, size * steps)).toPrecision(3));
    const svg = rasterSvg({
      label: `Spikes of ${title}`,
      steps,
      neurons: size,
      values,
      names,
      colour: COLOURS[i % COLOURS.length]!,
    });
    return figure(
      title,
      svg,
      `${size} ${size === 1 ? "row" : "rows"}, a mark a spike; ${rate} a row and step.`,
    );
  }
}

/** `hidden.v` as `hidden: v`; the spikes of a layer by its name. */
const titleOf = (name: string): string =>
  name.replace(/\.s$/, "").replace(/\.([a-z_0-9]+)$/i, ": $1");

function countsOf({ size, values }: Held) {
  const each = new Float64Array(size);
  for (let i = 0; i < values.length; i++) each[i % size]! += values[i]!;
  return {
    each,
    total: each.reduce((sum, count) => sum + count, 0),
    silent: each.filter((count) => count === 0).length,
  };
}

/** The lines of the neurons that fire most, else those that move most; in their order. */
function traces(
  held: Held,
  spikes: Float64Array | null,
  steps: number,
  names: readonly string[] | undefined,
): string {
  const { title, size, values } = held;
  const spans = Array.from({ length: size }, (_, i) => {
    let [least, most] = [Infinity, -Infinity];
    for (let at = i; at < values.length; at += size) {
      least = Math.min(least, values[at]!);
      most = Math.max(most, values[at]!);
    }
    return { i, least, most };
  });
  const fired = (i: number): number => spikes?.[i] ?? 0;
  const shown = [...spans]
    .sort((a, b) => fired(b.i) - fired(a.i) || (b.most - b.least) - (a.most - a.least))
    .slice(0, TRACES_MAX).sort((a, b) => a.i - b.i);
  const stride = Math.max(1, Math.ceil(steps / POINTS_MAX));
  const least = Math.min(0, ...shown.map((each) => each.least));
  const most = Math.max(0, ...shown.map((each) => each.most));
  const svg = chartSvg({
    label: `Values of ${title}`,
    x: { label: "steps", from: 0, to: Math.max(1, steps - 1) },
    y: { label: title, from: least, to: most === least ? least + 1 : most },
    series: shown.map(({ i }) => ({
      name: names?.[i] ?? String(i),
      points: Array.from(
        { length: Math.ceil(steps / stride) },
        (_, k) => [k * stride, values[k * stride * size + i]!] as const,
      ),
    })),
  });
  const which = size > shown.length
    ? `The ${shown.length} of ${size} that ${spikes === null ? "move" : "fire"} most, by number.`
    : "All values, by number.";
  return figure(title, svg, stride === 1 ? which : `${which} Every ${stride}th step is drawn.`);
}
