/** Small models and the folder of real files, for the tests of the model lane. */
import { expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { type ErrorCode, GanglionError } from "../../src/base/errors.ts";
import {
  type CompileOptions,
  compilePlan,
  type GraphLike,
  graphOf,
  type Plan,
} from "../../src/model/mod.ts";

/** The folder of reference material beside the repository; absent in a plain clone. */
const SHARED = new URL("../../../shared/", import.meta.url);

/** A file of it, or null. */
export function sharedFile(path: string): Uint8Array | null {
  const url = new URL(path, SHARED);
  return existsSync(url) ? new Uint8Array(readFileSync(url)) : null;
}

export const PAPER = [
  "braille_noDelay_bias_zero.nir",
  "braille_noDelay_bias_zero_subgraph.nir",
  "braille_noDelay_noBias_subtract.nir",
  "braille_noDelay_noBias_subtract_subgraph.nir",
  "cnn_sinabs.nir",
  "lif_norse.nir",
  "lif_rockpool.nir",
  "two_lif_neurons.nir",
];

/** A bundled file of the NIR paper, or null. */
export const paperFile = (name: string): Uint8Array | null => sharedFile(`nir/paper/${name}`);

/** The file that most tests of reading start from; made here when the real ones are absent. */
export async function someFile(): Promise<Uint8Array> {
  const { lifFile, writeH5 } = await import("./h5_write.ts");
  return paperFile("lif_norse.nir") ?? await writeH5(lifFile());
}

export function lif(size: number, fields: object = {}): object {
  const all = (value: number): number[] => new Array<number>(size).fill(value);
  return {
    type: "LIF",
    tau: all(0.01),
    r: all(1),
    v_leak: all(0),
    v_threshold: all(1),
    ...fields,
  };
}

export function linear(inputs: number, outputs: number, value = 0.5): object {
  const row = new Array<number>(inputs).fill(value);
  return { type: "Linear", weight: new Array<number[]>(outputs).fill(row) };
}

/** Nodes and edges given as `a>b c>d`; an Input and an Output of `size` are added around. */
export function model(
  nodes: Readonly<Record<string, object>>,
  edges: string,
  size = 1,
  outSize = size,
): GraphLike {
  return {
    nodes: {
      input: { type: "Input", shape: [size] },
      ...nodes,
      output: { type: "Output", shape: [outSize] },
    },
    edges: edges.trim().split(/\s+/).map((edge) => edge.split(">")),
  };
}

export function plan(graph: GraphLike, options: CompileOptions = { dt: 1e-3 }): Plan {
  return compilePlan(graphOf(graph), options);
}

/** Each node as `name(source + ~late)`, in plan order. */
export function wiring({ nodes }: Plan): string[] {
  return nodes.map(({ name, inputs }) => {
    const from = inputs.map((edge) => `${edge.previous ? "~" : ""}${nodes[edge.from]!.name}`);
    return `${name}(${from.join(" + ")})`;
  });
}

export const codes = ({ notes }: Plan): string[] => notes.map(({ code }) => code);

/** Runs `action`, which must fail with `code` and with every one of `words` in its message. */
export async function fails(
  action: () => unknown,
  code: ErrorCode,
  ...words: string[]
): Promise<GanglionError> {
  let error: unknown;
  try {
    await action();
  } catch (thrown) {
    error = thrown;
  }
  if (!(error instanceof GanglionError)) {
    throw new Error(`expected the error ${code}, got ${String(error)}`, { cause: error });
  }
  expect(error.code).toBe(code);
  for (const word of words) expect(error.message).toContain(word);
  return error;
}
