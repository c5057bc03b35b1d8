/**
 * Seeded damage to `.nir` files. Half of the mutants have changed bytes (bits flipped, words set to
 * extremes, stretches cleared, copied or cut off); half are sound HDF5 whose content is wrong (groups cut
 * or moved, other types, huge numbers and shapes, deep nesting, links).
 */
import { Dice } from "../support/dice.ts";
import { drawSpec } from "../conformance/nir/draw_graph.ts";
import { specTree, writeSpec } from "../conformance/nir/file.ts";
import { edges, floats, type Leaf, lifFile, text, type Tree, whole, writeH5 } from "./h5_write.ts";

const BASES = 60;
const DEPTH_MAX = 40;

export interface Mutant {
  readonly bytes: Uint8Array;
  readonly what: "bytes" | "content";
}

export async function mutantOf(seed: number): Promise<Mutant> {
  const dice = new Dice(seed);
  const { ready } = await import("h5wasm");
  (await ready).activate_throwing_error_handler();
  if (dice.chance(0.5)) {
    try {
      const libver = dice.chance(0.1) ? "latest" : undefined;
      return { what: "content", bytes: await writeH5(wrongTree(dice), libver) };
    } catch {
      // The writer refuses some of what was asked of it; such a seed changes bytes instead.
    }
  }
  return { what: "bytes", bytes: changed(dice, await base(dice.int(0, BASES))) };
}

const bases = new Map<number, Promise<Uint8Array>>();

/** A small sound file: one neuron, or a random graph. */
function base(index: number): Promise<Uint8Array> {
  const made = bases.get(index) ??
    (index === 0 ? writeH5(lifFile({}, 3)) : writeSpec(drawSpec(index)));
  bases.set(index, made);
  return made;
}

function changed(dice: Dice, file: Uint8Array): Uint8Array {
  let bytes = file.slice();
  const at = () => dice.int(8, bytes.length - 1);
  for (let times = dice.pick([1, 1, 2, 4, 8]); times > 0; times--) {
    const from = at();
    const length = dice.pick([1, 4, 8, 64, 512]);
    switch (dice.int(0, 6)) {
      case 0:
      case 1:
        bytes[from]! ^= 1 << dice.int(0, 7);
        break;
      case 2:
        bytes[from] = dice.int(0, 255);
        break;
      case 3:
        bytes.fill(dice.pick([0, 0xff, 0x7f]), from, from + dice.pick([2, 4, 8]));
        break;
      case 4:
        bytes.fill(0, from, from + length);
        break;
      case 5:
        bytes.copyWithin(from, at(), at());
        break;
      default:
        if (dice.chance(0.2)) bytes = bytes.slice(0, Math.max(9, from));
    }
  }
  return bytes;
}

type Entry = Tree[string];
type Open = Record<string, Entry>;

function wrongTree(dice: Dice): Tree {
  const tree = open(dice.chance(0.3) ? lifFile({}, 3) : specTree(drawSpec(dice.int(1, 500))));
  for (let times = dice.pick([1, 1, 1, 2, 3]); times > 0; times--) damage(dice, tree);
  return tree;
}

/** A copy whose groups may be changed. */
function open(tree: Tree): Open {
  const entries = Object.entries(tree).map(([name, entry]): [string, Entry] => [
    name,
    isGroup(entry) ? open(entry) : entry,
  ]);
  return Object.fromEntries(entries);
}

const isGroup = (entry: Entry): entry is Tree => !("data" in entry) && !("link" in entry);

/** Every group of the tree that has entries. */
function groupsOf(tree: Open): Open[] {
  const inner = Object.values(tree).filter(isGroup) as Open[];
  return [tree, ...inner.flatMap(groupsOf)].filter((group) => Object.keys(group).length > 0);
}

function damage(dice: Dice, tree: Open): void {
  const group = dice.pick(groupsOf(tree));
  const name = dice.pick(Object.keys(group));
  const entry = group[name]!;
  switch (dice.int(0, 7)) {
    case 0:
      delete group[name];
      break;
    case 1:
      delete group[name];
      group[dice.pick(["x", "type", "nodes", "edges", "tau", "input", ".", "a\u0007b"])] = entry;
      break;
    case 2:
      group[dice.pick(["copy", "metadata", "v_reset", "bias"])] = entry;
      break;
    case 3:
      group[name] = deep(dice, entry);
      break;
    case 4:
      group[name] = dice.pick<Entry>([
        { link: "soft", to: "/node" },
        { link: "hard", to: "/" },
        { link: "external", to: "/node" },
      ]);
      break;
    default:
      group[name] = dice.pick(leaves(dice));
  }
}

/** The entry at the bottom of many groups, each perhaps a graph of one node. */
function deep(dice: Dice, entry: Entry): Entry {
  const graphs = dice.chance(0.7);
  let inner = entry;
  for (let depth = dice.int(1, DEPTH_MAX); depth > 0; depth--) {
    inner = graphs
      ? { type: text("NIRGraph"), nodes: { inner }, edges: edges() }
      : { [dice.pick(["g", "nodes", "node"])]: inner };
  }
  return inner;
}

/** Values that do not belong anywhere, or only in the wrong place. */
function leaves(dice: Dice): Leaf[] {
  const huge = dice.pick([2 ** 31 - 1, 2 ** 31, 2 ** 40, 2 ** 52, 100_000, 1e6]);
  return [
    whole(huge),
    whole(huge, huge),
    whole(huge, 1, 1),
    whole(dice.int(0, 9)),
    whole(dice.int(0, 9), dice.int(0, 9)),
    whole(-1, -1),
    whole(0),
    floats([1], NaN),
    floats([2], 1, Infinity),
    floats([1], 3e38),
    floats([1], 1e-40),
    floats([3], dice.float(-1, 1), dice.float(-1, 1), dice.float(-1, 1)),
    { data: Float64Array.of(1e300), shape: [1] },
    { data: new Float32Array(0), shape: [0] },
    { data: new Float32Array(64), shape: [2, 2, 2, 2, 2, 2] },
    { data: new Float32Array(1 << 12), shape: [1, 1 << 12], gzip: true },
    { data: Float32Array.of(dice.float(-2, 2)), shape: [1, 1, 1] },
    { data: dice.float(-2, 2), shape: [], dtype: "<d" },
    text(dice.pick(["NIRGraph", "LIF", "Conv2d", "Flatten", "same", "", "Spike"])),
    { data: ["input", "output"], shape: [1, 2], dtype: "S" },
    { data: ["a", "b", "c", "d", "e", "f"], shape: [2, 3], dtype: "S" },
    edges(["input", "input"], ["output", "input"], ["", ""]),
  ];
}
