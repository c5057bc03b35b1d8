/** Writes HDF5 files for tests, odd ones too: a tree of groups and datasets → bytes. */
import type { Group } from "h5wasm";

/** A dataset, as h5wasm's `create_dataset` takes it, without its name. */
export interface Leaf {
  readonly data: unknown;
  readonly shape?: readonly number[];
  readonly dtype?: string;
  readonly gzip?: boolean;
}

export interface Link {
  readonly link: "soft" | "hard" | "external";
  readonly to: string;
}

export type Tree = { readonly [name: string]: Tree | Leaf | Link };

let written = 0;

export async function writeH5(tree: Tree, libver?: string): Promise<Uint8Array> {
  const h5 = await import("h5wasm");
  const module = await h5.ready;
  const path = `/written-${written++}`;
  const file = new h5.File(path, "w", libver === undefined ? false : { libver } as never);
  fill(file, tree);
  file.flush();
  file.close();
  const bytes = module.FS.readFile(path) as Uint8Array;
  module.FS.unlink(path);
  return bytes;
}

function fill(group: Group, tree: Tree): void {
  for (const [name, entry] of Object.entries(tree)) {
    if ("link" in entry && typeof entry.link === "string") addLink(group, name, entry as Link);
    else if ("data" in entry) addLeaf(group, name, entry as Leaf);
    else {
      group.create_group(name);
      fill(group.get(name) as Group, entry as Tree);
    }
  }
}

function addLink(group: Group, name: string, { link, to }: Link): void {
  if (link === "soft") group.create_soft_link(to, name);
  else if (link === "hard") group.create_hard_link(to, name);
  else group.create_external_link("elsewhere.h5", to, name);
}

function addLeaf(group: Group, name: string, { data, shape, dtype, gzip }: Leaf): void {
  group.create_dataset({
    name,
    data: data as never,
    ...(shape === undefined ? {} : { shape: [...shape] }),
    ...(dtype === undefined ? {} : { dtype: dtype as never }),
    ...(gzip === true ? { chunks: [...shape!], compression: "gzip", compression_opts: 4 } : {}),
  } as never);
}

/** Short forms of the datasets that NIR files hold. */
export const text = (value: string): Leaf => ({ data: value, dtype: "S" });
export const floats = (shape: readonly number[], ...values: number[]): Leaf => ({
  data: Float32Array.from(values),
  shape,
});
export const whole = (...values: number[]): Leaf => ({
  data: BigInt64Array.from(values.map(BigInt)),
  shape: [values.length],
});
export const edges = (...pairs: [string, string][]): Leaf =>
  pairs.length === 0
    ? { data: new Float64Array(0), shape: [0] }
    : { data: pairs.flat(), shape: [pairs.length, 2], dtype: "S" };

/** The file of one LIF of `size` with the given fields in place of its own. */
export function lifFile(fields: Tree = {}, size = 1): Tree {
  const ones = (value: number): Leaf => floats([size], ...new Array<number>(size).fill(value));
  return {
    version: text("1.0.7"),
    node: {
      type: text("NIRGraph"),
      nodes: {
        input: { type: text("Input"), shape: whole(size) },
        lif: {
          type: text("LIF"),
          tau: ones(0.01),
          r: ones(1),
          v_leak: ones(0),
          v_threshold: ones(1),
          ...fields,
        },
        output: { type: text("Output"), shape: whole(size) },
      },
      edges: edges(["input", "lif"], ["lif", "output"]),
    },
  };
}
