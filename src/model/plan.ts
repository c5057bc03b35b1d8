/**
 * The plan: a model made ready to run, as plain data. Compiling a model writes it; the WebGPU engine,
 * the reference and the CPU executor play it; `inspect` prints it. It holds no functions and no
 * device objects, and knows nothing of slots, frames or sessions.
 *
 * Nodes stand in execution order of one time step. All values of a node are flat, row-major, time
 * left out; `size` is the number of values a step.
 */
import { layerNamed } from "../layers/mod.ts";

/**
 * What travels on the edges that leave a node: one bit a value; small integers as f32; any f32; or,
 * for the model input alone, decided for every frame (0/1 values travel as bits).
 */
export type EdgeKind = "spike" | "count" | "real" | "input";

/** An incoming edge. `previous` marks a cut edge: it reads the output of the step before, 0 at first. */
export interface PlanEdge {
  readonly from: number;
  readonly previous: boolean;
}

/** y = W x + b. `weights` is in-major: [blocks][inputs][outputs]; blocks > 1 is NIR's `weight [..., out, in]`. */
export interface DenseOp {
  readonly op: "dense";
  readonly blocks: number;
  readonly inputs: number;
  readonly outputs: number;
  readonly weights: Float32Array;
  readonly bias: Float32Array | null;
}

/**
 * Cross-correlation, channels first. Conv1d is a Conv2d of height 1. `weights` is
 * [groups][inChannels/groups][kernel y][kernel x][outChannels/groups]. `pad` is the padding before
 * each axis (after it, positions outside the input read as 0).
 */
export interface ConvOp {
  readonly op: "conv";
  readonly inChannels: number;
  readonly outChannels: number;
  readonly groups: number;
  readonly inSize: readonly [number, number];
  readonly outSize: readonly [number, number];
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly pad: readonly [number, number];
  readonly dilation: readonly [number, number];
  readonly weights: Float32Array;
  readonly bias: Float32Array | null;
}

/** Sum over a window, times `scale` (a one-element array with f32(1/window)) for average pooling. */
export interface PoolOp {
  readonly op: "pool";
  readonly channels: number;
  readonly inSize: readonly [number, number];
  readonly outSize: readonly [number, number];
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly pad: readonly [number, number];
  readonly scale: Float32Array | null;
}

/**
 * An elementwise layer, stateful or not: neurons, Threshold, Scale, and the plain sum of several
 * edges. `coefficients` is [layer.coefficients.length][size]; `mode` are the layer's mode bits.
 */
export interface PointwiseOp {
  readonly op: "pointwise";
  /** Name of a built-in layer, or of one that `defineLayer` made known. */
  readonly layer: string;
  readonly mode: number;
  readonly coefficients: Float32Array;
}

/** y(t) = x(t - steps[i]), 0 before the start. Every entry of `steps` is >= 1 or 0 (a wire). */
export interface DelayOp {
  readonly op: "delay";
  readonly steps: Uint32Array;
  readonly stepsMax: number;
}

/** The largest value of a window; positions outside the input do not count. */
export interface MaxPoolOp extends Omit<PoolOp, "op" | "scale"> {
  readonly op: "max_pool";
}

/** y[i] = x[from[i]]. */
export interface PermuteOp {
  readonly op: "permute";
  readonly from: Uint32Array;
}

/** Of two incoming edges s and r: `and` is s * r, `iand` is s * (1 - r). */
export interface ConnectOp {
  readonly op: "connect";
  readonly how: "and" | "iand";
}

/**
 * Synapses with weights and delays of their own: output j adds w * x(t - delay)[source] over its
 * synapses, `starts[j]` up to `starts[j + 1]`, in their order; the bias last. `stepsMax` is the longest
 * delay, at least 1.
 */
export interface TapsOp {
  readonly op: "taps";
  readonly inputs: number;
  readonly outputs: number;
  readonly starts: Uint32Array;
  readonly sources: Uint32Array;
  readonly delays: Uint32Array;
  readonly weights: Float32Array;
  readonly bias: Float32Array | null;
  readonly stepsMax: number;
}

/**
 * Fast weights: its two edges bring what a population emits now (post) and emitted the step before
 * (pre). First the trace learns, `hebb` [size][size], pre in rows; then y = post (W + alpha hebb), which
 * the population sees a step later. `rates` are the rule's numbers, see src/layers/fast_weights.ts.
 */
export interface PlasticOp {
  readonly op: "plastic";
  readonly rule: "decaying" | "oja" | "modulated" | "retroactive";
  readonly size: number;
  readonly weights: Float32Array;
  readonly alpha: Float32Array;
  readonly rates: Float32Array;
}

export type PlanOp =
  | { readonly op: "input" }
  | DenseOp
  | ConvOp
  | PoolOp
  | MaxPoolOp
  | PointwiseOp
  | PermuteOp
  | ConnectOp
  | DelayOp
  | TapsOp
  | PlasticOp;

/** One array of a node's state that is versioned with the row. `offset` counts u32 words in the row. */
export interface StateField {
  /** `v`, `i`, … as the layer declares them, or `last` for the output that a cut edge reads. */
  readonly name: string;
  /** `bits`: spikes packed 32 a word, bit 0 first; `u32`: head and fill of a ring of past inputs. */
  readonly type: "f32" | "bits" | "u32";
  readonly offset: number;
  readonly words: number;
  /** Rest value of every element, as f32 (0 for bits and u32). */
  readonly rest: number;
}

export interface PlanNode {
  readonly index: number;
  /** Unique; nested graphs give prefixed names `outer.inner`. */
  readonly name: string;
  /** NIR type of the node, or `Sum` for a junction that the compiler put in. */
  readonly type: string;
  readonly inputs: readonly PlanEdge[];
  /** Shape without time; `size` is its product. */
  readonly shape: readonly number[];
  readonly size: number;
  readonly kind: EdgeKind;
  readonly op: PlanOp;
  readonly state: readonly StateField[];
}

/** A run of nodes: alone over all steps of a frame, or a cycle whose nodes run step by step together. */
export interface PlanBlock {
  readonly kind: "feedforward" | "recurrent";
  /** Indices into `nodes`, in execution order, contiguous. */
  readonly nodes: readonly number[];
}

/** Something the reader or compiler assumed, repaired or warns of. */
export interface PlanNote {
  readonly level: "info" | "warning";
  /** Stable, machine-readable: `dt_default`, `dt_inferred`, `if_gain`, `repaired_edge`, `cut_edge` … */
  readonly code: string;
  /** Node concerned, when there is one. */
  readonly node?: string;
  readonly text: string;
}

export type DtSource = "flag" | "metadata" | "dialect" | "inferred" | "default";
export type Discretization = "euler" | "exact";

/** Frameworks whose arithmetic is known: dialects.ts. */
export type DialectName =
  | "snntorch"
  | "norse"
  | "sparx"
  | "sinabs"
  | "rockpool"
  | "spyx"
  | "spikingjelly"
  | "lava";

/** How the file was read: NUMERICS §5. All are resolved, none is `auto` here but `ifGain`. */
export interface ReadingOptions {
  readonly compare: "gt" | "ge";
  /** `subtract_next`: the step after a spike subtracts the threshold, at its end. */
  readonly reset: "v_reset" | "zero" | "subtract" | "subtract_next" | "none";
  readonly ifGain: "auto" | "r" | "r_dt";
  readonly cubaOrder: "new" | "old";
  /** Whether Flatten's dims count a batch axis. */
  readonly flattenBatch: boolean;
  /** The framework whose choices hold where nothing else was asked for, or `none`. */
  readonly dialect: DialectName | "none";
  /**
   * What multiplies a neuron's input. `file`: (1 − d)·r, and w_in for a CubaLIF. `unit`: 1, and v_leak
   * is added as it is. `no_r`: 1 − d, r is not looked at but in a CubaLIF; an IF adds its input.
   * `threshold`: 1, with the threshold divided by the file's gain. `fold`: the file's gain, multiplied
   * into the weights before the neuron.
   */
  readonly gain: "file" | "unit" | "no_r" | "threshold" | "fold";
  /** `decay`: d·v + k·x. `box`: v + k·(x − v), where the gain allows it. Equal but for rounding. */
  readonly form: "decay" | "box";
  /** `many`: a neuron gives as many spikes a step as there are thresholds in its membrane. */
  readonly spikes: "one" | "many";
  /** What hands on its values in the step after: no one, the neurons that fire, or the weights. */
  readonly late: "none" | "spikes" | "weights";
  /** An input joins a synaptic current after the current's decay, or before and decays with it. */
  readonly synapse: "after" | "before";
  /** Where state starts: at 0, or at the node's v_leak or v_reset where that is one value. */
  readonly rest: "zero" | "v_leak" | "v_reset";
  /** Membranes of IF neurons stop at −threshold. */
  readonly clamp: boolean;
}

export interface Plan {
  readonly name: string;
  /** SHA-256, hex, of the model's canonical content (graph, parameters, dt, options). */
  readonly digest: string;
  readonly dt: number;
  readonly dtSource: DtSource;
  readonly discretization: Discretization;
  readonly options: ReadingOptions;
  readonly sampleShape: readonly number[];
  readonly sampleSize: number;
  readonly outputShape: readonly number[];
  readonly outputSize: number;
  /** `nodes[0]` is the model input (op `input`). */
  readonly nodes: readonly PlanNode[];
  readonly blocks: readonly PlanBlock[];
  /** Index of the node whose values leave the model (always an own node, never the input). */
  readonly output: number;
  /** u32 words of versioned state a row. */
  readonly stateWords: number;
  readonly notes: readonly PlanNote[];
}

/**
 * Values that a session may record: `<node>.s` (spikes leaving the node), `<node>.y` (other values
 * leaving it), and `<node>.<state>` for each f32 state field of an elementwise layer, after the step (a
 * membrane after reset).
 */
export interface Probe {
  readonly name: string;
  readonly node: number;
  /** null: the node's output; else the state field's name. */
  readonly field: string | null;
  readonly size: number;
  readonly shape: readonly number[];
}

/** Spikes, one or several a step and element. */
function givesSpikes({ kind, op }: PlanNode): boolean {
  return kind === "spike" || (op.op === "pointwise" && layerNamed(op.layer).emits === "count");
}

/** Every probe of a plan, in plan order. */
export function probesOf(plan: Plan): Probe[] {
  const probes: Probe[] = [];
  for (const node of plan.nodes) {
    if (node.op.op === "input") continue;
    const { name, index, size, shape } = node;
    const suffix = givesSpikes(node) ? "s" : "y";
    probes.push({ name: `${name}.${suffix}`, node: index, field: null, size, shape });
    for (const field of node.state) {
      if (node.op.op === "pointwise" && field.type === "f32" && field.name !== "last") {
        probes.push({ name: `${name}.${field.name}`, node: index, field: field.name, size, shape });
      }
    }
  }
  return probes;
}
