/** A run folder's record in words, for `inspect`. */
import type { RunRecord } from "../run/mod.ts";

const NAMES_WIDTH = 84;

export function runText(
  { model, variables, encoder, readout, labels, dt, frame, call, options }: RunRecord,
): string {
  const { kind, ...parameters } = encoder;
  const rows: readonly (readonly [name: string, value: string | undefined])[] = [
    ["model", model],
    ["variables", variables],
    ["encoder", [kind, ...pairs(parameters)].join(" ")],
    ["readout", readout],
    ["labels", labels === undefined ? undefined : shorten(labels)],
    ["dt", dt === undefined ? undefined : `${dt} s`],
    ["frame", frame === undefined ? undefined : `${frame} steps`],
    ["call", call && pairs(call).join(" ")],
    ["options", options && pairs(options).join(" ")],
  ];
  const lines = rows.filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `  ${name.padEnd(11)}${value}`);
  return `${["Run", ...lines].join("\n")}\n`;
}

function pairs(values: object): string[] {
  return Object.entries(values).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
}

function shorten(names: readonly string[]): string {
  const text = names.join(", ");
  return text.length <= NAMES_WIDTH ? text : `${text.slice(0, NAMES_WIDTH)} ... (${names.length})`;
}
