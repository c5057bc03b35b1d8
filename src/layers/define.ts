/**
 * What an elementwise layer is: a name, its state with rest values, its coefficients, a WGSL function
 * and the twin of that function in TypeScript. Everything else (bindings, loops, slots, packing)
 * belongs to the skeletons and is the same for all layers. Built-in neurons are made this way too.
 */

export interface LayerState {
  readonly name: string;
  /** The value each element starts from; never assumed to be zero elsewhere. */
  readonly rest: number;
}

export interface PointwiseLayer {
  readonly name: string;
  /**
   * Text of the shader file. It must define
   * `fn <name>_step(x: f32, state: ptr<function, array<f32, S>>, coef: ptr<function, array<f32, C>>,
   * mode: u32) -> f32` with S = max(1, states) and C = max(1, coefficients), may call `exact(f32)`
   * and `snap(f32)`, and has no bindings.
   */
  readonly wgsl: string;
  readonly state: readonly LayerState[];
  /** Names of the per-element coefficients, in the order of `coef`. */
  readonly coefficients: readonly string[];
  /**
   * `spike`: returns 0 or 1. `count`: whole numbers from 0. `real`: anything. `same`: what came in (a
   * plain sum).
   */
  readonly emits: "spike" | "count" | "real" | "same";
  /**
   * One element, one step: the twin of the WGSL function, the same order of operations, every
   * rounding spelled with `Math.fround`. Reads and writes `state`, returns what leaves.
   */
  readonly step: (x: number, state: Float32Array, coef: Float32Array, mode: number) => number;
}

/** Mode bits that the built-in neurons understand. */
export const MODE_GE = 1; // fire at v >= threshold instead of v > threshold
export const MODE_RESET_SUBTRACT = 2; // v -= threshold
export const MODE_RESET_NONE = 4; // v is left alone (wins over subtract)
export const MODE_CUBA_OLD = 8; // the membrane sees the current of the step before
export const MODE_RESET_NEXT = 16; // the step after a spike subtracts the threshold, at its end
export const MODE_JOIN_FIRST = 32; // the input joins the current before the current decays
export const MODE_CLAMP = 64; // the membrane stops at -threshold
