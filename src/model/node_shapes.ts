/** Shapes of single nodes that need no window: weights of dense layers, Flatten, and equality. */
import type { NirNode } from "./nir.ts";
import { invalidNode, shapeText } from "./nir_error.ts";
import { tensorOf, wholesOf } from "./nir_schema.ts";

export interface NodeShapes {
  readonly in: readonly number[];
  readonly out: readonly number[];
}

/** weight [..., out, in] takes [..., in] and gives [..., out]. */
export function denseShapes(name: string, node: NirNode): NodeShapes {
  const weight = tensorOf(node, "weight").shape;
  if (weight.length < 2) {
    throw invalidNode(name, `the weight must be [...,out,in], not ${shapeText(weight)}`, {
      field: "weight",
    });
  }
  const lead = weight.slice(0, -2);
  const out = [...lead, weight.at(-2)!];
  if (node.type === "Affine") {
    const bias = tensorOf(node, "bias").shape;
    if (tensorOf(node, "bias").data.length !== 1 && !sameShape(bias, out)) {
      throw invalidNode(
        name,
        `the bias ${shapeText(bias)} does not fit the output ${shapeText(out)}`,
        {
          field: "bias",
        },
      );
    }
  }
  return { in: [...lead, weight.at(-1)!], out };
}

/** Merges the axes start_dim to end_dim, both included; `batch`: the file counts a batch axis. */
export function flattened(
  name: string,
  node: NirNode,
  shape: readonly number[],
  batch: boolean,
): readonly number[] {
  const axis = (field: string): number => {
    const [given, more] = wholesOf(node, field)!;
    if (more !== undefined) throw invalidNode(name, `${field} must be one number`, { field });
    const index = given! < 0 ? given! + shape.length : given! - (batch ? 1 : 0);
    if (index >= 0 && index < shape.length) return index;
    throw invalidNode(
      name,
      `${field} ${given} is no axis of ${shapeText(shape)}; axes count ` +
        `${batch ? "the batch (turn flattenBatch off" : "no batch (turn flattenBatch on"} ` +
        "if the file counts otherwise)",
      { field },
    );
  };
  const [start, end] = [axis("start_dim"), axis("end_dim")];
  if (start > end) {
    throw invalidNode(name, `it flattens from axis ${start} to the earlier axis ${end}`);
  }
  const merged = shape.slice(start, end + 1).reduce((product, each) => product * each, 1);
  return [...shape.slice(0, start), merged, ...shape.slice(end + 1)];
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((axis, i) => axis === b[i]);
}
