/**
 * SHA-256 of what a plan computes: graph, parameters as f32, dt and options. Two files with the same
 * content have the same digest, whatever their compression, dtype or order of edges; names of the
 * model and notes do not count.
 */
import { createHash } from "node:crypto";
import { contentOf, layerNamed, LAYERS } from "../layers/mod.ts";
import type { Plan } from "./plan.ts";

export function digestOf(plan: Omit<Plan, "digest">): string {
  const hash = createHash("sha256");
  const arrays: (Float32Array | Uint32Array)[] = [];
  const { dt, discretization, options, sampleShape, outputShape, nodes, blocks, output } = plan;
  const text = JSON.stringify(
    { version: 1, dt, discretization, options, sampleShape, outputShape, nodes, blocks, output },
    (_key, value: unknown) => {
      if (!(value instanceof Float32Array) && !(value instanceof Uint32Array)) return value;
      arrays.push(value);
      return `${value.constructor.name}:${value.length}`;
    },
  );
  hash.update(text);
  // A layer of the user's is part of what the plan computes; the built-in ones are known by name.
  for (const { op } of nodes) {
    if (op.op === "pointwise" && !(op.layer in LAYERS)) {
      hash.update(contentOf(layerNamed(op.layer)));
    }
  }
  for (const array of arrays) {
    hash.update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  }
  return hash.digest("hex");
}
