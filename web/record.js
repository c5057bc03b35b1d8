// @ts-check
/** Which values of a model a session of this page records, and in words which layers a picture leaves out. */
import { number, plural, sizeOf } from "./format.js";

/** @import { Graph, Session } from "./types.d.ts" */

/** Values a step that are recorded without asking. */
const RECORD_SPIKES_MAX = 1024;
const RECORD_MEMBRANES_MAX = 64;

/** What a picture of the model wants: spikes of its layers, membranes of its output. @param {Graph} graph */
export function recordOf({ layers, output, record }) {
  const sizes = new Map(record.map(({ name, shape }) => [name, sizeOf(shape)]));
  const names = [];
  let values = 0;
  for (const { name } of layers) {
    const size = sizes.get(`${name}.s`);
    if (size === undefined || name === output || values + size > RECORD_SPIKES_MAX) continue;
    values += size;
    names.push(`${name}.s`);
  }
  const membranes = sizes.get(`${output}.v`) ?? Infinity;
  return membranes <= RECORD_MEMBRANES_MAX ? [...names, `${output}.v`] : names;
}

/**
 * Which layers are shown, and why not the others; nothing where all are.
 * @param {Pick<Graph, "output" | "record">} graph
 * @param {Pick<Session, "record">} session
 * @param {ReadonlySet<string>} shown names of the values that have a band
 * @param {boolean} isOwn whether this page chose what the session records
 */
export function layersText({ output, record }, session, shown, isOwn) {
  const layers = record.map(({ name }) => name).filter((name) =>
    name.endsWith(".s") && name !== `${output}.s`
  );
  const seen = layers.filter((name) => shown.has(name));
  if (seen.length === layers.length) return "";
  const names = seen.map((name) => name.slice(0, -2)).join(", ");
  const what = `Spikes of ${seen.length} of ${plural(layers.length, "hidden layer")} are shown${
    names && `: ${names}`
  }.`;
  const isRecorded = layers.some((name) => session.record.includes(name) && !shown.has(name));
  const why = isRecorded
    ? "There is no room for more."
    : isOwn
    ? `This page records layers of at most ${number(RECORD_SPIKES_MAX)} neurons together.`
    : "Whoever opened the session records no others.";
  return `${what} ${why}`;
}
