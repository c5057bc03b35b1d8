/** What `infer` says of a run: as text for people, as JSON for programs, as a line on stderr. */
import type { Tally } from "./tally.ts";

export interface Ran {
  readonly tally: Tally;
  readonly count: number;
  readonly steps: number;
  readonly labels: readonly string[] | null;
  /** The true class of each recording. */
  readonly truth: Float32Array | null;
  readonly dt: number;
}

const WRONG_SHOWN = 10;
const PREDICTIONS_SHOWN = 20;

export function reportJson(ran: Ran): string {
  const { tally, count, steps, labels, truth, dt } = ran;
  const { readout, predictions, scores } = tally;
  const classes = scores.length / Math.max(1, predictions.length);
  return `${
    JSON.stringify(
      {
        recordings: count,
        steps,
        dt,
        readout,
        ...(readout === null ? {} : {
          predictions: predictions.map((prediction, i) => ({
            class: prediction,
            ...(labels === null || prediction === null ? {} : { label: labels[prediction] }),
            scores: [...scores.subarray(i * classes, (i + 1) * classes)],
          })),
        }),
        ...(truth === null ? {} : accuracyOf(ran)),
        layers: tally.rates(),
      },
      null,
      2,
    )
  }\n`;
}

export function reportText(ran: Ran): string {
  const { tally, count, steps, truth } = ran;
  const lines = [`recordings  ${count} of ${steps} steps`];
  if (truth !== null) {
    const { correct, accuracy, wrong } = accuracyOf(ran);
    lines.push(
      `readout     ${tally.readout}`,
      `accuracy    ${correct} of ${count} right, ${(100 * accuracy).toFixed(2)} %`,
    );
    const shown = wrong.slice(0, WRONG_SHOWN).map(({ recording, label, predicted }) =>
      `${recording} (${label}, taken for ${predicted})`
    );
    const more = wrong.length > shown.length ? `, and ${wrong.length - shown.length} more` : "";
    if (shown.length > 0) lines.push(`wrong       ${shown.join(", ")}${more}`);
  } else if (tally.readout !== null) lines.push(predictionLine(ran));
  const rates = rateLines(ran);
  if (rates.length > 0) lines.push("", ...rates);
  return `${lines.join("\n")}\n`;
}

/** `prediction: 7 (sum 13)`, or the first of many. */
export function predictionLine({ tally, labels, count }: Ran): string {
  const name = (prediction: number | null): string =>
    prediction === null ? "none" : labels?.[prediction] ?? `class ${prediction}`;
  const { readout, predictions } = tally;
  if (count === 1) {
    const score = Number(tally.bestScore(0).toPrecision(6));
    return `prediction  ${name(predictions[0]!)} (${readout} ${score})`;
  }
  const shown = predictions.slice(0, PREDICTIONS_SHOWN).map(name);
  return `predictions ${shown.join(", ")}${count > shown.length ? ", ..." : ""}`;
}

function accuracyOf({ tally, truth, labels, count }: Ran) {
  const name = (each: number | null) => each === null ? "none" : labels?.[each] ?? `class ${each}`;
  const wrong = tally.predictions.flatMap((predicted, recording) =>
    predicted === truth![recording] ? [] : [{
      recording,
      label: name(truth![recording]!),
      predicted: name(predicted),
    }]
  );
  const correct = count - wrong.length;
  return { correct, accuracy: count === 0 ? 0 : correct / count, wrong };
}

function rateLines({ tally, dt }: Ran): string[] {
  const rates = tally.rates();
  if (rates.length === 0) return [];
  const rows = [
    ["layer", "neurons", "spikes", "a neuron and step", `in Hz at dt ${dt} s`, "never fired"],
    ...rates.map(({ name, neurons, spikes, perStep, hertz, silent }) => [
      name,
      String(neurons),
      String(spikes),
      perStep.toPrecision(4),
      String(Number(hertz.toPrecision(4))),
      String(silent),
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)
    ).join("  ")
  );
}
