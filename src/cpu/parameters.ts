/** Puts a plan's parameters into the executor's memory as the vector kernels read them. */
import type { Plan } from "../model/plan.ts";
import { type MemoryMap, padded } from "./memory_map.ts";
import { packDense } from "./vector_code.ts";
import { packConv, tapTables } from "./vector_conv.ts";

export function loadParameters(plan: Plan, map: MemoryMap, buffer: ArrayBufferLike): void {
  const floats = new Float32Array(buffer);
  const ints = new Int32Array(buffer);
  for (const { index, op, size } of plan.nodes) {
    const { weights, extra } = map.parameters[index]!;
    if (op.op === "dense") {
      if (op.blocks === 1) floats.set(packDense(op), weights >>> 2);
      if (op.bias !== null) floats.set(op.bias, extra >>> 2);
    } else if (op.op === "conv") {
      floats.set(packConv(op), weights >>> 2);
      ints.set(tapTables(op), extra >>> 2);
    } else if (op.op === "pointwise") {
      setRows(floats, weights, op.coefficients, size);
    }
  }
}

/** Rows of `width` values, each filled up to whole vectors. */
function setRows(
  floats: Float32Array,
  at: number,
  values: Float32Array,
  width: number,
): void {
  for (let from = 0, to = at >>> 2; from < values.length; from += width, to += padded(width)) {
    floats.set(values.subarray(from, from + width), to);
  }
}
