// @ts-check
/**
 * A pen on a pad of square cells: strokes → how much of each cell is inked, 0 to 1. Soft edges, as a
 * scan of handwriting has them. And the ten digits as strokes, in cells of an 8 × 8 pad, to begin with.
 */

/** @typedef {readonly (readonly [x: number, y: number])[]} Stroke a line through points, in cells */

/** Cells closer to the line than this are all ink; the ink fades out over `EDGE` more. */
const CORE = 0.36;
const EDGE = 0.8;

/**
 * Adds a piece of a stroke to a pad.
 * @param {Float32Array} cells row after row, changed in place
 * @param {number} columns
 * @param {readonly [number, number]} from
 * @param {readonly [number, number]} to
 */
export function ink(cells, columns, from, to) {
  for (let i = 0; i < cells.length; i++) {
    const x = i % columns + 0.5;
    const y = Math.floor(i / columns) + 0.5;
    const value = 1 - (distance(x, y, from, to) - CORE) / EDGE;
    cells[i] = Math.min(1, Math.max(cells[i] ?? 0, value));
  }
}

/**
 * @param {readonly Stroke[]} strokes
 * @param {number} rows
 * @param {number} columns
 */
export function inkAll(strokes, rows, columns) {
  const cells = new Float32Array(rows * columns);
  for (const stroke of strokes) {
    for (let i = 0; i < stroke.length; i++) {
      const to = stroke[i];
      if (to !== undefined) ink(cells, columns, stroke[i - 1] ?? to, to);
    }
  }
  return cells;
}

/**
 * From a point to a piece of a line.
 * @param {number} x
 * @param {number} y
 * @param {readonly [number, number]} from
 * @param {readonly [number, number]} to
 */
function distance(x, y, [ax, ay], [bx, by]) {
  const dx = bx - ax;
  const dy = by - ay;
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : ((x - ax) * dx + (y - ay) * dy) / length;
  const at = Math.min(1, Math.max(0, along));
  return Math.hypot(x - ax - at * dx, y - ay - at * dy);
}

/** @type {readonly (readonly Stroke[])[]} */
export const DIGITS = [
  [[[4, 0.5], [2.2, 1.5], [1.6, 4], [2.2, 6.5], [4, 7.4], [5.6, 6.3], [6, 4], [5.5, 1.6], [
    4,
    0.5,
  ]]],
  [[[2.6, 2.6], [4.4, 0.6], [4.2, 7.4]]],
  [[[2, 1.8], [3.4, 0.6], [5, 1.4], [4.8, 3.2], [3.2, 5.4], [1.8, 7.2], [3.6, 7], [6, 7.3]]],
  [[[1.9, 0.9], [4, 0.6], [5.3, 1.8], [3.6, 3.7], [5.4, 5.2], [4.6, 7], [2, 7.2]]],
  [[[3.8, 0.5], [2.4, 2.8], [1.4, 4.8], [4, 5], [6.2, 4.6]], [[4.6, 3], [4, 7.5]]],
  [[[5.6, 0.7], [2.8, 0.8], [2.3, 3.4], [4.4, 3.2], [5.4, 4.8], [4.6, 6.8], [2.2, 7.2]]],
  [[[4, 0.5], [2.6, 2.4], [2, 5], [2.8, 7], [4.6, 7.2], [5.4, 5.6], [4.2, 4.4], [2.4, 5]]],
  [[[1.8, 0.9], [4, 0.7], [5.8, 0.9], [4.6, 3.6], [3.4, 7.4]], [[2.4, 4], [5.8, 3.8]]],
  [
    [[4.8, 1], [3.2, 0.6], [2.4, 1.8], [3.6, 3.4], [5, 5.2], [4.6, 7], [3, 7.2], [2.4, 5.8], [
      3.8,
      3.6,
    ]],
    [[3.8, 3.6], [5.2, 2], [4.8, 1]],
  ],
  [[[5.2, 1.4], [3.6, 0.6], [2.2, 2], [3, 3.6], [5, 3.2], [5.4, 1.2], [5.2, 4.6], [4.4, 6.8], [
    2.2,
    7.2,
  ]]],
];
