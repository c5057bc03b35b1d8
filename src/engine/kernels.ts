/**
 * Plan node → WGSL text: a skeleton from shaders/, the layer's functions, and the constants and
 * accessors that join them. Pure text; every kernel depends only on the layout, so equal text is an
 * equal pipeline. Floats never appear as literals that matter: parameters are read from buffers.
 */
import convText from "../../shaders/conv.wgsl" with { type: "text" };
import delayText from "../../shaders/delay.wgsl" with { type: "text" };
import denseText from "../../shaders/dense.wgsl" with { type: "text" };
import maxPoolText from "../../shaders/max_pool.wgsl" with { type: "text" };
import passOnText from "../../shaders/pass_on.wgsl" with { type: "text" };
import poolText from "../../shaders/pool.wgsl" with { type: "text" };
import commitSkeleton from "../../shaders/skeleton_commit.wgsl" with { type: "text" };
import emitSkeleton from "../../shaders/skeleton_emit.wgsl" with { type: "text" };
import linearSkeleton from "../../shaders/skeleton_linear.wgsl" with { type: "text" };
import pointwiseSkeleton from "../../shaders/skeleton_pointwise.wgsl" with { type: "text" };
import { GanglionError } from "../base/errors.ts";
import { wordsOf } from "../base/numeric.ts";
import { layerNamed } from "../layers/mod.ts";
import type {
  ConvOp,
  DenseOp,
  MaxPoolOp,
  PlanEdge,
  PlanNode,
  PoolOp,
  StateField,
} from "../model/plan.ts";
import type { KernelChoice } from "./choice.ts";
import { layerTexts } from "./layer_texts.ts";
import { fanInText, type KernelParts, plasticKernel, tapsKernels } from "./history_kernels.ts";
import { type Constants, joinKernel, type Kernel, restLiteral, TURNS_MAX } from "./kernel_text.ts";
import type { Layout } from "./layout.ts";
import { type Parameters, quadsOf } from "./parameters.ts";

/** A state field recorded by a pointwise kernel: where it goes within a row's output. */
export interface FieldProbe {
  readonly field: string;
  readonly offset: number;
}

const WORKGROUP_MAX = 64;

export class KernelWriter {
  readonly #layout: Layout;
  readonly #parameters: Parameters;

  readonly #weights: KernelChoice["weights"];

  constructor(
    layout: Layout,
    parameters: Parameters,
    weights: KernelChoice["weights"] = "buffer",
  ) {
    this.#layout = layout;
    this.#parameters = parameters;
    this.#weights = weights;
  }

  /** The kernels of one node, to be run in this order. */
  write(node: PlanNode, probes: readonly FieldProbe[] = []): Kernel[] {
    switch (node.op.op) {
      case "dense":
      case "conv":
      case "pool":
      case "max_pool":
        return this.#linear(node, node.op);
      case "pointwise":
      case "delay":
      case "permute":
      case "connect":
        return [this.#pointwise(node, probes)];
      case "taps":
        return tapsKernels(node, node.op, this.#parts(node));
      case "plastic":
        return [plasticKernel(node, node.op, this.#parts(node))];
      case "input":
        return [];
    }
  }

  /**
   * Keeps a node's output for the next step, after every node of its cycle has run; null where `write`
   * may do it at once because no reader stands behind the node.
   */
  commit(node: PlanNode): Kernel | null {
    const last = lastOf(node);
    if (last === undefined || !this.#isReadBehind(node)) return null;
    const words = this.#layout.widths[node.index]!;
    const workgroup = workgroupOf(words);
    const constants: Constants = {
      WORKGROUP: workgroup,
      WORDS: words,
      TARGET: this.#layout.targets[node.index]!,
      LAST: last.offset,
    };
    return {
      label: `commit ${node.name}`,
      code: this.#join(constants, [commitSkeleton]),
      groups: Math.ceil(words / workgroup),
      perStep: false,
    };
  }

  #isReadBehind(node: PlanNode): boolean {
    return this.#layout.plan.nodes.some(({ index, inputs }) =>
      index > node.index && inputs.some(({ from, previous }) => previous && from === node.index)
    );
  }

  /** Where `write` keeps the output for the next step itself. */
  #lastConstants(node: PlanNode): Constants {
    const last = this.#isReadBehind(node) ? undefined : lastOf(node);
    return { HAS_LAST: last !== undefined, LAST: last?.offset ?? 0 };
  }

  /** Copies a node's words of every step to `offset` of each row's output; never of the model's input. */
  emit(node: PlanNode, offset: number, stamps: boolean): Kernel {
    const words = this.#layout.widths[node.index]!;
    const workgroup = workgroupOf(words);
    const constants: Constants = {
      WORKGROUP: workgroup,
      WORDS: words,
      TARGET: this.#layout.targets[node.index]!,
      OUTPUT: offset,
      STAMPS: stamps,
    };
    return {
      label: `emit ${node.name}`,
      code: this.#join(constants, [emitSkeleton]),
      groups: Math.ceil(words / workgroup),
      perStep: true,
    };
  }

  #parts(node: PlanNode): KernelParts {
    return {
      layout: this.#layout,
      coefs: this.#parameters.coefsAt.get(node.index)!,
      turnsMax: TURNS_MAX,
      edges: node.inputs.map((edge, k) => this.#edge(edge, k)),
      fanIn: fanInText(node, this.#parameters.coefsAt.get(node.index)!),
      targets: { TARGET: this.#layout.targets[node.index]!, ...this.#lastConstants(node) },
      workgroupOf,
      join: (constants, parts) => this.#join(constants, parts),
    };
  }

  #linear(node: PlanNode, op: DenseOp | ConvOp | PoolOp | MaxPoolOp): Kernel[] {
    const { constants, text, quads, units, unitTurns } = linearShape(node, op);
    if (unitTurns > TURNS_MAX) {
      throw new GanglionError(
        "model_unsupported",
        `Node "${node.name}": one slice of its window takes ${unitTurns} loop turns, ` +
          `more than ${TURNS_MAX} are safe on every driver`,
        { node: node.name },
      );
    }
    const workgroup = workgroupOf(quads);
    const perSegment = Math.max(1, Math.floor(TURNS_MAX / unitTurns));
    const kernels: Kernel[] = [];
    for (let begin = 0; begin < units; begin += perSegment) {
      const end = Math.min(units, begin + perSegment);
      const all: Constants = {
        ...constants,
        WORKGROUP: workgroup,
        QUADS: quads,
        SIZE: node.size,
        TARGET: this.#layout.targets[node.index]!,
        WEIGHTS: this.#parameters.weightsAt.get(node.index) ?? 0,
        SEGMENT_FIRST: begin,
        SEGMENT_BEGIN: begin,
        SEGMENT_END: end,
        SEGMENT_LAST: end === units,
        ...this.#lastConstants(node),
      };
      if (op.op === "pool") {
        all["HAS_SCALE"] = op.scale !== null;
        all["SCALE"] = this.#parameters.coefsAt.get(node.index)!;
      } else if (op.op !== "max_pool") {
        all["HAS_BIAS"] = op.bias !== null;
        all["BIAS"] = this.#parameters.coefsAt.get(node.index)!;
      }
      kernels.push({
        label: node.name,
        code: this.#join(all, [this.#source(node.inputs[0]!), text, linearSkeleton]),
        groups: Math.ceil(quads / workgroup),
        perStep: true,
      });
    }
    return kernels;
  }

  #pointwise(node: PlanNode, probes: readonly FieldProbe[]): Kernel {
    const bits = node.kind === "spike";
    const elements = bits ? 32 : 4;
    const groups = Math.ceil(node.size / elements);
    const workgroup = workgroupOf(groups);
    const constants: Constants = {
      WORKGROUP: workgroup,
      GROUPS: groups,
      ELEMENTS: elements,
      SIZE: node.size,
      SIZE_WORDS: wordsOf(node.size),
      TILE_STEPS: this.#layout.tile,
      TARGET: this.#layout.targets[node.index]!,
      EMITS_BITS: bits,
      ...this.#lastConstants(node),
    };
    const body = node.op.op === "delay"
      ? this.#delayBody(node, constants)
      : node.op.op === "pointwise"
      ? this.#layerBody(node, probes)
      : passOnText;
    const edges = node.inputs.map((edge, k) => this.#edge(edge, k));
    return {
      label: node.name,
      code: this.#join(constants, [
        ...edges,
        fanInText(node, this.#parameters.coefsAt.get(node.index)!),
        body,
        pointwiseSkeleton,
      ]),
      groups: Math.ceil(groups / workgroup),
      perStep: false,
      ...(node.op.op === "pointwise" ? { layers: [layerNamed(node.op.layer)] } : {}),
    };
  }

  #delayBody(node: PlanNode, constants: Constants): string {
    if (node.op.op !== "delay") throw new Error("not a delay");
    const ring = this.#layout.rings.get(node.index)!;
    constants["RING"] = ring.offset;
    constants["RING_STEPS"] = ring.steps;
    constants["RING_WORDS"] = this.#layout.ringWords;
    constants["DELAY_MAX"] = node.op.stepsMax;
    constants["DELAYS"] = this.#parameters.coefsAt.get(node.index)!;
    constants["RING_FIELD"] = node.state.find((field) => field.name === "ring")!.offset;
    return delayText;
  }

  /** open, advance and shut of a layer: its state and coefficients live in private arrays meanwhile. */
  #layerBody(node: PlanNode, probes: readonly FieldProbe[]): string {
    if (node.op.op !== "pointwise") throw new Error("not a layer");
    const layer = layerNamed(node.op.layer);
    const coefsAt = this.#parameters.coefsAt.get(node.index)!;
    const fields = layer.state.map(({ name }) => node.state.find((field) => field.name === name)!);
    const load = fields.map((field, k) =>
      `  own[${k}] = select(bitcast<f32>(state[row.read + ${field.offset}u + i]), ` +
      `${restLiteral(field.rest)}, row.rest);`
    );
    const coefs = layer.coefficients.map((_, k) =>
      `  own_coefs[${k}] = coefs[${coefsAt + k * node.size}u + i];`
    );
    const store = fields.map((field, k) =>
      `  state[row.write + ${field.offset}u + i] = bitcast<u32>(own[${k}]);`
    );
    const record = probes.map(({ field, offset }) => {
      const k = layer.state.findIndex(({ name }) => name === field);
      return `  output[row.output + ${offset}u + t * SIZE + i] = bitcast<u32>(own[${k}]);`;
    });
    const states = Math.max(1, layer.state.length);
    const counts = Math.max(1, layer.coefficients.length);
    return `${layerTexts([layer])}
var<private> own: array<f32, ${states}>;
var<private> own_coefs: array<f32, ${counts}>;

fn open(row: Row, i: u32) {
${[...load, ...coefs].join("\n")}
}

fn advance(row: Row, i: u32, t: u32, x: f32) -> f32 {
  var held = own;
  var given = own_coefs;
  let y = ${layer.name}_step(x, &held, &given, ${node.op.mode}u);
  own = held;
${record.join("\n")}
  return y;
}

fn shut(row: Row, i: u32, end: u32) {
${store.join("\n")}
}
`;
  }

  /** `edge_k(row, i, t)`: the value that an incoming edge brings. */
  #edge(edge: PlanEdge, k: number): string {
    return `fn edge_${k}(row: Row, i: u32, t: u32) -> f32 {\n${this.#edgeBody(edge)}\n}\n`;
  }

  #edgeBody({ from, previous }: PlanEdge): string {
    const source = this.#layout.plan.nodes[from]!;
    const bit = "f32((word >> (i & 31u)) & 1u)";
    if (previous) {
      const { offset } = lastOf(source)!;
      return source.kind === "spike"
        ? `  let word = select(state[row.read + ${offset}u + (i >> 5u)], 0u, row.rest);\n  return ${bit};`
        : `  return select(bitcast<f32>(state[row.read + ${offset}u + i]), 0.0, row.rest);`;
    }
    if (source.kind === "input") {
      const { inputWords, inputBitWords } = this.#layout;
      return `  if (row.bits) {
    let word = upload[row.input + t * ${inputBitWords}u + (i >> 5u)];
    return ${bit};
  }
  return bitcast<f32>(upload[row.input + t * ${inputWords}u + i]);`;
    }
    const at = `row.scratch + ${this.#layout.targets[from]!}u + ` +
      `(t - now.tile) * ${this.#layout.widths[from]!}u`;
    return source.kind === "spike"
      ? `  let word = scratch[${at} + (i >> 5u)];\n  return ${bit};`
      : `  return bitcast<f32>(scratch[${at} + i]);`;
  }

  /** locate_source, source_is_bits, source_word and source_value of a linear layer's one edge. */
  #source({ from, previous }: PlanEdge): string {
    const source = this.#layout.plan.nodes[from]!;
    let array = "scratch";
    let bits = source.kind === "spike" ? "true" : "false";
    let base = `row.scratch + ${this.#layout.targets[from]!}u + ` +
      `(t - now.tile) * ${this.#layout.widths[from]!}u`;
    let silent = "false";
    if (previous) {
      array = "state";
      base = `row.read + ${lastOf(source)!.offset}u`;
      silent = "row.rest";
    } else if (source.kind === "input") {
      const { inputWords, inputBitWords } = this.#layout;
      array = "upload";
      bits = "source_packed";
      base = `row.input + t * select(${inputWords}u, ${inputBitWords}u, row.bits)`;
    }
    return `var<private> source_base: u32;
var<private> source_silent: bool;
var<private> source_packed: bool;

fn locate_source(row: Row, t: u32) {
  source_base = ${base};
  source_silent = ${silent};
  source_packed = row.bits;
}

fn source_is_bits() -> bool {
  return ${bits};
}

fn source_word(k: u32) -> u32 {
  return select(${array}[source_base + k], 0u, source_silent);
}

fn source_value(j: u32) -> f32 {
  if (source_is_bits()) {
    return f32((source_word(j >> 5u) >> (j & 31u)) & 1u);
  }
  return bitcast<f32>(source_word(j));
}
`;
  }

  #join(constants: Constants, parts: readonly string[]): string {
    return joinKernel(this.#layout, this.#parameters, this.#weights, constants, parts);
  }
}

function lastOf(node: PlanNode): StateField | undefined {
  return node.state.find((field) => field.name === "last");
}

interface LinearShape {
  readonly constants: Constants;
  readonly text: string;
  readonly quads: number;
  /** Length of the outermost loop, which may be cut into segments, and the turns of one of its steps. */
  readonly units: number;
  readonly unitTurns: number;
}

function linearShape(node: PlanNode, op: DenseOp | ConvOp | PoolOp | MaxPoolOp): LinearShape {
  if (op.op === "dense") {
    const blockQuads = quadsOf(op);
    return {
      constants: {
        BLOCKS: op.blocks,
        INPUTS: op.inputs,
        OUTPUTS: op.outputs,
        BLOCK_QUADS: blockQuads,
      },
      text: denseText,
      quads: op.blocks * blockQuads,
      units: wordsOf(op.inputs),
      unitTurns: 33,
    };
  }
  const window: Constants = {
    IN_H: op.inSize[0],
    IN_W: op.inSize[1],
    OUT_H: op.outSize[0],
    OUT_W: op.outSize[1],
    KERNEL_H: op.kernel[0],
    KERNEL_W: op.kernel[1],
    STRIDE_Y: op.stride[0],
    STRIDE_X: op.stride[1],
    PAD_Y: op.pad[0],
    PAD_X: op.pad[1],
  };
  if (op.op === "max_pool") {
    // A maximum is not cut into segments.
    const unitTurns = 4 * op.kernel[0] * (op.kernel[1] + 1) + 4;
    return {
      constants: window,
      text: maxPoolText,
      quads: Math.ceil(node.size / 4),
      units: 1,
      unitTurns,
    };
  }
  if (op.op === "pool") {
    return {
      constants: window,
      text: poolText,
      quads: Math.ceil(node.size / 4),
      units: op.kernel[0],
      unitTurns: 4 * (op.kernel[1] + 2),
    };
  }
  const inPerGroup = op.inChannels / op.groups;
  const groupQuads = quadsOf(op);
  return {
    constants: {
      ...window,
      DILATION_Y: op.dilation[0],
      DILATION_X: op.dilation[1],
      IN_PER_GROUP: inPerGroup,
      OUT_PER_GROUP: op.outChannels / op.groups,
      GROUP_QUADS: groupQuads,
    },
    text: convText,
    quads: op.groups * groupQuads * op.outSize[0] * op.outSize[1],
    units: inPerGroup,
    unitTurns: op.kernel[0] * (op.kernel[1] + 1) + 1,
  };
}

/** The smallest power of two that covers `count`, at most WORKGROUP_MAX. */
function workgroupOf(count: number): number {
  let size = 1;
  while (size < count && size < WORKGROUP_MAX) size *= 2;
  return size;
}
