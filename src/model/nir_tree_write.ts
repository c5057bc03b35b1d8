/**
 * A plain tree → the bytes of an HDF5 file, the other way round from `nir_file.ts`. Arrays are stored
 * whole and uncompressed; whole numbers as int64, texts as variable-length UTF-8.
 */
import type { Group } from "h5wasm";
import { loadLibrary } from "./nir_file.ts";

export type WriteValue =
  | { readonly kind: "floats"; readonly shape: readonly number[]; readonly data: Floats }
  | { readonly kind: "wholes"; readonly shape: readonly number[]; readonly data: Floats }
  | { readonly kind: "texts"; readonly shape: readonly number[]; readonly data: readonly string[] };
type Floats = Float32Array | Float64Array;

export interface WriteTree {
  readonly [name: string]: WriteTree | WriteValue;
}

let written = 0;

export async function writeTree(tree: WriteTree): Promise<Uint8Array> {
  const h5 = await loadLibrary();
  const module = await h5.ready;
  const path = `/written-${written++}`;
  const file = new h5.File(path, "w");
  try {
    fillGroup(file, tree);
    file.flush();
    file.close();
    return module.FS.readFile(path) as Uint8Array;
  } finally {
    module.FS.unlink(path);
  }
}

function fillGroup(group: Group, tree: WriteTree): void {
  for (const [name, entry] of Object.entries(tree)) {
    if (isValue(entry)) writeDataset(group, name, entry);
    else {
      group.create_group(name);
      fillGroup(group.get(name) as Group, entry);
    }
  }
}

function isValue(entry: WriteTree | WriteValue): entry is WriteValue {
  return typeof entry.kind === "string";
}

function writeDataset(group: Group, name: string, { kind, shape, data }: WriteValue): void {
  const options = kind === "texts"
    // A single text is 0-d; the library takes the text itself for that.
    ? { data: shape.length === 0 ? data[0] : [...data], dtype: "S", shape: dims(shape) }
    : kind === "wholes"
    ? { data: BigInt64Array.from(data, (each) => BigInt(each)), shape: [...shape], dtype: "<q" }
    : { data, shape: [...shape] };
  group.create_dataset({ name, ...options } as Parameters<Group["create_dataset"]>[0]);
}

function dims(shape: readonly number[]): number[] | undefined {
  return shape.length === 0 ? undefined : [...shape];
}
