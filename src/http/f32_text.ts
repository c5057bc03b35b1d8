/**
 * f32 values as JSON text: as many digits as the value needs as a double, so that it is the same
 * number for who parses f32 and for who parses doubles. NaN and infinities are `null`.
 */

export function f32Text(value: number): string {
  if (value === 1) return "1";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  return Number.isFinite(value) ? String(value) : "null";
}

/** Values as nested arrays of a shape, row-major. */
export function nestedText(values: Float32Array, shape: readonly number[]): string {
  return axisText(values, shape, 0, 0, values.length);
}

/** One axis: the values from `from` to `to`, which it divides evenly. */
function axisText(
  values: Float32Array,
  shape: readonly number[],
  axis: number,
  from: number,
  to: number,
): string {
  if (axis === shape.length) return f32Text(values[from]!);
  // Joined at once: text that grows by every value would be a tree of as many pieces.
  const parts: string[] = [];
  if (axis === shape.length - 1) {
    for (let i = from; i < to; i++) parts.push(f32Text(values[i]!));
  } else {
    const size = (to - from) / shape[axis]!;
    for (let at = from; at < to; at += size) {
      parts.push(axisText(values, shape, axis + 1, at, at + size));
    }
  }
  return `[${parts.join(",")}]`;
}
