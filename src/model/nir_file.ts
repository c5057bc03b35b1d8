/**
 * Bytes of an HDF5 file → a plain tree. Loads h5wasm when first asked, for `nir_tree_write.ts` too.
 * What must hold: sizes are judged from metadata before a value is read; links are refused; every
 * open has its own in-memory name, removed in `finally`. A damaged file may still hang or trap the
 * library (it is C in WebAssembly), so untrusted bytes are read in a child process
 * (`runtime/nir_process.ts`). Knows nothing of what a node means.
 */
import { GanglionError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";
import type { Dataset, Group } from "h5wasm";

export type NirLimits = Pick<Limits, "modelBytesMax" | "modelNodesMax" | "modelDepthMax">;

export interface TreeNumbers {
  readonly kind: "numbers";
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array;
}

export interface TreeStrings {
  readonly kind: "strings";
  readonly shape: readonly number[];
  readonly data: readonly string[];
}

/** A value of a type that no NIR field has; judged where it stands. */
export interface TreeOther {
  readonly kind: "other";
  readonly what: string;
}

export interface TreeGroup {
  readonly kind: "group";
  readonly entries: ReadonlyMap<string, TreeEntry>;
}

export type TreeEntry = TreeGroup | TreeNumbers | TreeStrings | TreeOther;

const SIGNATURE = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a];

/** Groups and datasets per allowed node: a node has a group, a type and at most eight fields. */
const ENTRIES_PER_NODE = 16;

/** HDF5's class numbers. */
const INTEGER = 0, FLOAT = 1, STRING = 3, ENUM = 8;

interface Budget {
  readonly limits: NirLimits;
  bytes: number;
  entries: number;
}

let opened = 0;
let library: Promise<typeof import("h5wasm")> | null = null;

/** Reads the whole file. Throws `model_unreadable` when it is damaged, too large or uses links. */
export async function readTree(bytes: Uint8Array, limits: NirLimits): Promise<TreeGroup> {
  checkSignature(bytes, limits);
  const h5 = await loadLibrary();
  const module = await h5.ready;
  const path = `/nir-${opened++}`;
  try {
    module.FS.writeFile(path, bytes);
    const file = new h5.File(path, "r");
    try {
      return readGroup(h5, file, "", 0, { limits, bytes: 0, entries: 0 });
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof GanglionError) throw error;
    throw unreadable(`The HDF5 reader gave up: ${reason(error)}`, {}, error);
  } finally {
    try {
      module.FS.unlink(path);
    } catch {
      // A reader that trapped may refuse even this; the next open uses another name.
    }
  }
}

/** The HDF5 library, set to throw its errors. */
export function loadLibrary(): Promise<typeof import("h5wasm")> {
  library ??= import("h5wasm").then(async (h5) => {
    (await h5.ready).activate_throwing_error_handler();
    return h5;
  });
  return library;
}

function checkSignature(bytes: Uint8Array, limits: NirLimits): void {
  if (bytes.length > limits.modelBytesMax) {
    throw unreadable(`The file has ${bytes.length} bytes, the limit is ${limits.modelBytesMax}`);
  }
  if (SIGNATURE.some((byte, i) => bytes[i] !== byte)) {
    throw unreadable("The file does not begin as HDF5 does; NIR files are HDF5");
  }
}

type Library = typeof import("h5wasm");

function readGroup(
  h5: Library,
  group: Group,
  path: string,
  depth: number,
  budget: Budget,
): TreeGroup {
  // A nested graph lies two groups deeper: nodes/<name>.
  const depthMax = 2 * budget.limits.modelDepthMax + 3;
  if (depth > depthMax) {
    throw unreadable(`Groups are nested deeper than ${depthMax}, at ${path.slice(0, 80)}`, {
      path,
    });
  }
  const entries = new Map<string, TreeEntry>();
  for (const name of group.keys()) {
    const at = `${path}/${name}`;
    budget.entries++;
    if (budget.entries > ENTRIES_PER_NODE * budget.limits.modelNodesMax) {
      throw unreadable(
        `The file holds more entries than ${budget.limits.modelNodesMax} nodes need`,
      );
    }
    if (!isPlainName(name)) {
      throw unreadable(`${path}/ holds a name that is empty or has control characters or slashes`, {
        path: at,
      });
    }
    refuseLink(group, at);
    const entry = group.get(name);
    if (entry instanceof h5.Group) {
      entries.set(name, readGroup(h5, entry, at, depth + 1, budget));
    } else if (entry instanceof h5.Dataset) {
      entries.set(name, readDataset(entry, at, budget));
    } else {
      throw unreadable(`${at} is neither a group nor a dataset`, { path: at });
    }
  }
  return { kind: "group", entries };
}

/** Names are printed, so no control characters; a slash or dot would lead elsewhere. */
function isPlainName(name: string): boolean {
  const controls = [...name].some((letter) =>
    letter < " " || (letter >= "\x7f" && letter < "\xa0")
  );
  return name !== "" && name !== "." && !name.includes("/") && !controls;
}

function refuseLink(group: Group, at: string): void {
  const soft = group.get_link(at);
  const external = soft === null ? group.get_external_link(at) : { filename: undefined };
  if (soft !== null || external.filename !== undefined) {
    throw unreadable(`${at} is a link to elsewhere, which is not followed`, { path: at });
  }
}

function readDataset(dataset: Dataset, at: string, budget: Budget): TreeEntry {
  const { type, size, shape, vlen, virtual_sources: virtual } = dataset.metadata;
  if (virtual !== undefined) {
    throw unreadable(`${at} is a virtual dataset, which is not followed`, { path: at });
  }
  const axes = (shape ?? [0]).map(Number);
  const count = axes.reduce((product, axis) => product * axis, 1);
  // Numbers are handed on as 4 or 8 bytes; a string counts its pointer and some text.
  budget.bytes += count * Math.max(8, vlen ? 64 : size);
  if (!(budget.bytes <= budget.limits.modelBytesMax)) {
    throw unreadable(
      `${at} of shape [${axes}] takes the values over the limit of ` +
        `${budget.limits.modelBytesMax} bytes`,
      { path: at },
    );
  }
  const numeric = type === INTEGER || type === ENUM ||
    (type === FLOAT && (size === 4 || size === 8));
  if (!numeric && type !== STRING) {
    return { kind: "other", what: typeof dataset.dtype === "string" ? dataset.dtype : "compound" };
  }
  const value = count === 0 ? [] : valueOf(dataset, at);
  if (numeric) return { kind: "numbers", shape: axes, data: toFloats(value, count, at) };
  return {
    kind: "strings",
    shape: axes,
    data: (Array.isArray(value) ? value : [value]).map(String),
  };
}

function valueOf(dataset: Dataset, at: string): unknown {
  try {
    return dataset.value;
  } catch (error) {
    throw unreadable(`${at} cannot be read: ${reason(error)}`, { path: at }, error);
  }
}

/** Integers must be exact in f64; booleans are the enum's 0 and 1. */
function toFloats(value: unknown, count: number, at: string): Float32Array | Float64Array {
  if (value instanceof Float32Array || value instanceof Float64Array) {
    // The library may hand out a view of its heap's copy: keep only our part.
    return value.length === count ? value : value.slice(0, count);
  }
  const list = ArrayBuffer.isView(value) || Array.isArray(value)
    ? value as unknown as ArrayLike<number | bigint>
    : [value as number | bigint];
  if (list.length !== count) {
    throw unreadable(`${at} holds ${list.length} values, its shape says ${count}`, { path: at });
  }
  const data = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const item = list[i]!;
    const number = Number(item);
    if (typeof item === "bigint" && BigInt.asIntN(64, BigInt(number)) !== BigInt.asIntN(64, item)) {
      throw unreadable(`${at} holds the integer ${item}, which no f64 holds`, { path: at });
    }
    data[i] = number;
  }
  return data;
}

function unreadable(text: string, facts: Record<string, unknown> = {}, cause?: unknown) {
  return new GanglionError("model_unreadable", text, facts, cause === undefined ? {} : { cause });
}

/** The innermost line of an HDF5 error stack, which says what is wrong; else the first line. */
function reason(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).split("\n");
  const stack = lines.map((line) => /^\s*#\d+: .*\(\): (.*)$/.exec(line)?.[1]);
  const text = stack.findLast((line) => line !== undefined) ?? lines[0] ?? "";
  return text.trim().slice(0, 200) || "failed";
}
