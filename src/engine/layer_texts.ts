/** The WGSL of elementwise layers as one text, with the helpers that they may call in front. */
import fireText from "../../shaders/fire.wgsl" with { type: "text" };
import squashText from "../../shaders/squash.wgsl" with { type: "text" };
import type { PointwiseLayer } from "../layers/mod.ts";

/** `fire` and `after_fire` always; `exact_exp`, `exact_tanh`, `exact_sigmoid` where one is called. */
export function layerTexts(layers: readonly PointwiseLayer[]): string {
  const texts = layers.map(({ wgsl }) => wgsl);
  const squash = texts.some((text) => /\bexact_(exp|tanh|sigmoid|reciprocal)\b/.test(text));
  return [fireText, ...(squash ? [squashText] : []), ...texts].join("\n");
}

/** Whether two layers declare the same name, so that their texts cannot stand in one module. */
export function shareNames(layers: readonly PointwiseLayer[]): boolean {
  const names = layers.flatMap(({ wgsl }) => {
    const code = wgsl.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, "");
    const declared = /\b(?:fn|const|override|struct|alias|var\s*<\s*private\s*>)\s+(\w+)/g;
    // A const inside a function counts too: at worst the layers run in kernels of their own.
    return [...new Set([...code.matchAll(declared)].map(([, name]) => name!))];
  });
  return new Set(names).size < names.length;
}
