/** A kernel as text: what all kernels share in front, constants that the compiler knows, then its parts. */
import bindings from "../../shaders/bindings.wgsl" with { type: "text" };
import numericText from "../../shaders/numeric.wgsl" with { type: "text" };
import weightsBuffer from "../../shaders/weights_buffer.wgsl" with { type: "text" };
import weightsTexture from "../../shaders/weights_texture.wgsl" with { type: "text" };
import type { PointwiseLayer } from "../layers/mod.ts";
import type { KernelChoice } from "./choice.ts";
import {
  type Layout,
  OUTPUT_HEADER_WORDS,
  UPLOAD_HEADER_WORDS,
  UPLOAD_ROW_WORDS,
} from "./layout.ts";
import type { Parameters } from "./parameters.ts";

export interface Kernel {
  /** Node name and what it does, for messages and profiles. */
  readonly label: string;
  readonly code: string;
  /** Workgroups along x. */
  readonly groups: number;
  /** True: the grid's y is the steps of the pass; false: the kernel loops over them itself. */
  readonly perStep: boolean;
  /** The layers whose own text is part of the code. */
  readonly layers?: readonly PointwiseLayer[];
}

/**
 * Loop turns an invocation may take: lavapipe ends all loops after 65,535 in silence. Longer sums are
 * cut into segments that run one after another, in the same order.
 */
export const TURNS_MAX = 60_000;
export type Constants = Record<string, number | boolean>;

/** First word behind a row's header in the output buffer, where the model's outputs begin. */
export const OUTPUT_BEGIN = OUTPUT_HEADER_WORDS;

/** A kernel's whole text: constants, what all kernels share, then its own parts. */
export function joinKernel(
  layout: Layout,
  parameters: Parameters,
  weights: KernelChoice["weights"],
  constants: Constants,
  parts: readonly string[],
): string {
  const all: Constants = {
    STATE_WORDS: layout.stateWords,
    SCRATCH_WORDS: layout.scratchWords,
    UPLOAD_HEADER_WORDS,
    UPLOAD_ROW_WORDS,
    WEIGHT_SHIFT: parameters.weightShift,
    ...constants,
  };
  const lines = Object.entries(all).map(([name, value]) =>
    typeof value === "boolean"
      ? `const ${name}: bool = ${value};`
      : `const ${name}: u32 = ${value}u;`
  );
  const weightText = weights === "texture" ? weightsTexture : weightsBuffer;
  return [lines.join("\n"), bindings, weightText, numericText, ...parts].join("\n");
}

/** Rest values are data, but a select needs no rounding: their bits are given, not a decimal. */
export function restLiteral(rest: number): string {
  const bits = new Uint32Array(Float32Array.of(rest).buffer)[0]!;
  return `bitcast<f32>(${bits}u)`;
}
