/** f32 values as JSON text: short, and parsing gives the same f32. NaN and infinities are `null`. */

export function f32Text(value: number): string {
  if (value === 1) return "1";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  if (!Number.isFinite(value)) return "null";
  if (Number.isInteger(value)) return String(value);
  const scale = scaleOf(Math.abs(value));
  if (scale > 0) {
    // A whole number over a power of ten prints with as few digits as it has.
    const eight = Math.round(value * scale) / scale;
    if (Math.fround(eight) === value) return String(eight);
    const nine = Math.round(value * scale * 10) / (scale * 10);
    if (Math.fround(nine) === value) return String(nine);
  }
  return String(Number(value.toPrecision(9))); // nine digits always suffice
}

/** The power of ten that gives eight digits before the point; 0 outside the common range. */
function scaleOf(size: number): number {
  if (size < 1e-3) return 0;
  if (size < 1) return size < 1e-2 ? 1e10 : size < 1e-1 ? 1e9 : 1e8;
  if (size < 1e3) return size < 10 ? 1e7 : size < 100 ? 1e6 : 1e5;
  return 0;
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
  let text = "[";
  if (axis === shape.length - 1) {
    for (let i = from; i < to; i++) text += i === from ? f32Text(values[i]!) : `,${f32Text(values[i]!)}`;
  } else {
    const size = (to - from) / shape[axis]!;
    for (let at = from; at < to; at += size) {
      if (at > from) text += ",";
      text += axisText(values, shape, axis + 1, at, at + size);
    }
  }
  return `${text}]`;
}
