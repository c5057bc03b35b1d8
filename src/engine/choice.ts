/**
 * What may be chosen of a model's kernels for one device. Every choice gives the same bits: only speed
 * depends on it. Tests force each; in service the tuner measures and picks (tuner.ts).
 */

import type { OpenDevice } from "./device.ts";

export interface KernelChoice {
  /** One workgroup a row runs the whole frame; or one dispatch a layer. */
  readonly path: "fused" | "layers";
  /** Invocations of a fused workgroup. */
  readonly lanes: number;
  /** Fused: elements that one invocation carries at most, in fours: 1, 2, 4 or 8. */
  readonly quads: number;
  /** Where weights are read from. */
  readonly weights: "buffer" | "texture";
  /**
   * Fused, how a dense layer walks binary model input: `bits` spike by spike, each step alone; `tlist`
   * every input that fires in the tile once, for all steps. The denser, the better for `tlist`.
   */
  readonly input: "bits" | "tlist";
  /** Whether convolutions and pools may be fused; their long text takes SwiftShader minutes to compile. */
  readonly windows: boolean;
}

/** Where nothing was measured: few wide invocations on a software driver, many narrow ones on a GPU. */
export function defaultChoice(device: Pick<OpenDevice, "software" | "name">): KernelChoice {
  return candidates(device)[0]!;
}

const GPU: KernelChoice = {
  path: "fused",
  lanes: 64,
  quads: 1,
  weights: "buffer",
  input: "bits",
  windows: true,
};

/** What is worth trying on a device, the likeliest best first. */
export function candidates(
  { software, name }: Pick<OpenDevice, "software" | "name">,
): KernelChoice[] {
  if (!software) {
    return [
      GPU,
      { ...GPU, weights: "texture" },
      { ...GPU, input: "tlist" },
      { ...GPU, path: "layers" },
      { ...GPU, lanes: 32, quads: 2 },
    ];
  }
  // llvmpipe reads a buffer element by element, a texel at once: 2.7 times as fast.
  if (/llvmpipe|lavapipe/i.test(name)) {
    const wide: KernelChoice = { ...GPU, lanes: 8, quads: 8, weights: "texture" };
    return [
      wide,
      { ...wide, quads: 4, input: "tlist" },
      { ...wide, path: "layers" },
      { ...wide, lanes: 16, quads: 4 },
    ];
  }
  // Others compile long texts slowly, and no faster kernels came of them.
  const wide: KernelChoice = { ...GPU, lanes: 16, quads: 4, windows: false };
  return [
    wide,
    { ...wide, path: "layers" },
    { ...wide, input: "tlist" },
    { ...wide, lanes: 8, quads: 8 },
  ];
}

/** A choice as one word for logs and profiles. */
export function choiceName({ path, lanes, quads, weights, input }: KernelChoice): string {
  return path === "layers" ? `layers-${weights}` : `fused-${lanes}x${quads}-${weights}-${input}`;
}
