// @ts-check
/** Where the layers of a model stand in its picture: columns by depth, rows where a column has several. */

/** @import { Layer } from "./types.d.ts" */

/**
 * A layer stands right of everything it takes from; what arrives a step late does not count. One that
 * takes nothing but late values stands just left of who takes its own.
 * @param {readonly Layer[]} layers in the order in which they run
 */
export function layOut(layers) {
  const sources = new Map(
    layers.map(({ name, from, late }) => [name, from.filter((each) => !late.includes(each))]),
  );
  /** @type {Map<string, number>} */
  const columns = new Map();
  for (const [name, from] of sources) {
    columns.set(name, 1 + Math.max(-1, ...from.map((each) => columns.get(each) ?? -1)));
  }
  for (const { name, late } of layers) {
    if (late.length === 0 || sources.get(name)?.length !== 0) continue;
    const takers = layers.filter(({ name: taker }) => sources.get(taker)?.includes(name));
    const nearest = Math.min(...takers.map((taker) => columns.get(taker.name) ?? 1));
    if (Number.isFinite(nearest)) columns.set(name, Math.max(0, nearest - 1));
  }
  /** @type {Map<string, { column: number, row: number }>} */
  const places = new Map();
  /** @type {Map<number, number>} */
  const heights = new Map();
  for (const [name, from] of sources) {
    const column = columns.get(name) ?? 0;
    const rows = from.map((each) => places.get(each)?.row ?? 0);
    const row = Math.max(heights.get(column) ?? 0, rows.length === 0 ? 0 : Math.min(...rows));
    places.set(name, { column, row });
    heights.set(column, row + 1);
  }
  return {
    places,
    columns: 1 + Math.max(0, ...columns.values()),
    rows: Math.max(1, ...heights.values()),
  };
}
