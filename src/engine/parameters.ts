/** The plan's parameters packed for the device: weights as vec4 over outputs, coefficients in one array. */
import type { ConvOp, DenseOp, Plan, PlasticOp, TapsOp } from "../model/plan.ts";

export interface Parameters {
  /** vec4f, node after node; each node pads its outputs to four. Whole rows of a texture. */
  readonly weights: Float32Array;
  /** A row of the weights as a texture has 2^weightShift vec4s. */
  readonly weightShift: number;
  /** By node: first vec4 of its weights. */
  readonly weightsAt: ReadonlyMap<number, number>;
  /**
   * By node: first vec4 of its coefficients, [coefficients][quads of elements], or of its bias, among the
   * weights: the same numbers as in `coefs`, to be read four at once.
   */
  readonly quadsAt: ReadonlyMap<number, number>;
  /** Coefficients, biases, pool scales, delays (as numbers), synapses with delays, fast weights. */
  readonly coefs: Float32Array;
  /** By node: first of its coefficients. */
  readonly coefsAt: ReadonlyMap<number, number>;
}

/** Quads of outputs in one dense block or one conv group. */
export function quadsOf(op: DenseOp | ConvOp): number {
  return Math.ceil((op.op === "dense" ? op.outputs : op.outChannels / op.groups) / 4);
}

export function packParameters(plan: Plan): Parameters {
  const weightParts: Float32Array[] = [];
  const weightsAt = new Map<number, number>();
  const coefParts: Float32Array[] = [];
  const coefsAt = new Map<number, number>();
  const quadsAt = new Map<number, number>();
  let vectors = 0;
  let scalars = 0;
  const addVectors = (packed: Float32Array): number => {
    weightParts.push(packed);
    vectors += packed.length / 4;
    return vectors - packed.length / 4;
  };
  for (const { index, op, size } of plan.nodes) {
    let coefs: Float32Array | null = null;
    switch (op.op) {
      case "dense":
      case "conv": {
        const outputs = op.op === "dense" ? op.outputs : op.outChannels / op.groups;
        weightsAt.set(index, addVectors(padRows(op.weights, outputs)));
        coefs = op.bias;
        if (coefs !== null) quadsAt.set(index, addVectors(padRows(coefs, coefs.length)));
        break;
      }
      case "pool":
        coefs = op.scale;
        break;
      case "pointwise":
        coefs = op.coefficients;
        quadsAt.set(index, addVectors(padRows(coefs, size)));
        break;
      case "delay":
        coefs = Float32Array.from(op.steps);
        break;
      case "permute":
        coefs = Float32Array.from(op.from);
        break;
      case "taps":
        coefs = packTaps(op);
        break;
      case "plastic":
        coefs = concatenate([op.weights, op.alpha, op.rates], plasticLength(op));
        break;
    }
    coefsAt.set(index, scalars);
    if (coefs !== null) {
      coefParts.push(coefs);
      scalars += coefs.length;
    }
  }
  const weightShift = Math.min(12, Math.ceil(Math.log2(Math.max(1, vectors))));
  const rows = Math.max(1, Math.ceil(vectors / 2 ** weightShift));
  return {
    weights: concatenate(weightParts, rows * 2 ** weightShift * 4),
    weightShift,
    weightsAt,
    quadsAt,
    coefs: concatenate(coefParts, Math.max(4, scalars)),
    coefsAt,
  };
}

/** starts, then source, delay and weight of each synapse, then the bias; whole numbers as numbers. */
function packTaps({ starts, sources, delays, weights, bias }: TapsOp): Float32Array {
  const synapses = new Float32Array(3 * weights.length);
  weights.forEach((weight, k) => synapses.set([sources[k]!, delays[k]!, weight], 3 * k));
  const length = starts.length + synapses.length + (bias?.length ?? 0);
  return concatenate([Float32Array.from(starts), synapses, ...(bias ? [bias] : [])], length);
}

function plasticLength({ weights, alpha, rates }: PlasticOp): number {
  return weights.length + alpha.length + rates.length;
}

/** [rows][width] → [rows][quads·4], zeros behind each row. */
function padRows(values: Float32Array, width: number): Float32Array {
  const wide = Math.ceil(width / 4) * 4;
  if (wide === width) return values;
  const rows = values.length / width;
  const padded = new Float32Array(rows * wide);
  for (let row = 0; row < rows; row++) {
    padded.set(values.subarray(row * width, (row + 1) * width), row * wide);
  }
  return padded;
}

function concatenate(parts: readonly Float32Array[], length: number): Float32Array {
  const whole = new Float32Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
