/** How the fixtures of public reports are written: a file from plain objects, and what it must give. */
import assert from "node:assert/strict";
import { type ErrorCode, GanglionError } from "../../../src/base/errors.ts";
import {
  type CompileOptions,
  compilePlan,
  type Plan,
  readNirBytes,
} from "../../../src/model/mod.ts";
import type { Make } from "../../contract/cases.ts";
import { edges, type Leaf, text, type Tree, writeH5 } from "../../model/h5_write.ts";
import { assertClose, type Nested, runStream } from "../run.ts";

export const DT = 1e-3;

/** One public report that can be said as a file. */
export interface PeerCase {
  readonly report: number;
  readonly source: string;
  /** What the file holds and what must come of it. */
  readonly what: string;
  readonly run: (make: Make) => Promise<void>;
}

/** One that cannot, and why, or where it is tested instead. */
export interface PeerRemark {
  readonly report: number;
  readonly source: string;
  readonly why: string;
}

export type Fields = Readonly<Record<string, Nested | string | Leaf | NodeFields>>;
interface NodeFields {
  readonly nodes: Readonly<Record<string, Fields>>;
  readonly edges: string;
}
type Node = Fields | (NodeFields & { readonly type: string });

export interface FileParts {
  readonly metadata?: Tree;
  readonly version?: string;
}

/** `a>b c>d` as pairs; names may hold anything but `>` and spaces. */
const pairs = (list: string): [string, string][] =>
  list.trim() === ""
    ? []
    : list.trim().split(/\s+/).map((edge) => edge.split(">") as [string, string]);

/** A whole file; numbers become f32 arrays, one number alone a 0-d f64. */
export function nirFile(
  nodes: Readonly<Record<string, Node>>,
  edgeList: string,
  { metadata, version = "1.0.7" }: FileParts = {},
): Promise<Uint8Array> {
  const node = { ...graphTree(nodes, edgeList), ...(metadata === undefined ? {} : { metadata }) };
  return writeH5({ version: text(version), node });
}

function graphTree(nodes: Readonly<Record<string, Node>>, list: string): Tree {
  const trees = Object.entries(nodes).map(([name, node]): [string, Tree] => {
    if ("nodes" in node) {
      return [name, graphTree(node.nodes as Record<string, Node>, node.edges as string)];
    }
    const fields = Object.entries(node).map(([field, value]): [string, Leaf] => [
      field,
      leafOf(value as Nested | string | Leaf),
    ]);
    return [name, Object.fromEntries(fields)];
  });
  return { type: text("NIRGraph"), nodes: Object.fromEntries(trees), edges: edges(...pairs(list)) };
}

function leafOf(value: Nested | string | Leaf): Leaf {
  if (typeof value === "string") return text(value);
  if (typeof value === "number") return { data: value, shape: [], dtype: "<d" };
  if ("data" in value) return value;
  const shape: number[] = [];
  for (let level: Nested = value; typeof level !== "number"; level = level[0]!) {
    shape.push(level.length);
  }
  return { data: Float32Array.from((value as number[]).flat(Infinity) as number[]), shape };
}

/** Nodes between an Input and an Output of these shapes. */
export function between(
  input: readonly number[],
  nodes: Readonly<Record<string, Node>>,
  output: readonly number[],
): Record<string, Node> {
  return {
    input: { type: "Input", shape: wholes(...input) },
    ...nodes,
    output: { type: "Output", shape: wholes(...output) },
  };
}

/** Whole numbers as a file holds them. */
export const wholes = (...values: number[]): Leaf => ({
  data: BigInt64Array.from(values.map(BigInt)),
  shape: [values.length],
});

export const all = (size: number, value: number): number[] => new Array<number>(size).fill(value);

/** A LIF whose decay of one step of DT is 0.5 and that a value of 1 raises by 1; threshold 1. */
export const lif = (size = 1, fields: Fields = {}): Fields => ({
  type: "LIF",
  tau: all(size, 2 * DT),
  r: all(size, 2),
  v_leak: all(size, 0),
  v_threshold: all(size, 1),
  v_reset: all(size, 0),
  ...fields,
});

export const linear = (weight: Nested): Fields => ({ type: "Linear", weight });

export async function planOf(bytes: Uint8Array, options: CompileOptions = {}): Promise<Plan> {
  return compilePlan(await readNirBytes(bytes), { dt: DT, ...options });
}

export interface Wanted {
  readonly input: readonly number[];
  readonly output: readonly number[];
  readonly probes?: Readonly<Record<string, readonly number[]>>;
  readonly options?: CompileOptions;
  /** Codes of notes that must be there, so that nothing is read in silence. */
  readonly notes?: readonly string[];
}

/** The file runs and gives these values. */
export async function gives(make: Make, file: Promise<Uint8Array>, wanted: Wanted): Promise<void> {
  const plan = await planOf(await file, wanted.options);
  for (const code of wanted.notes ?? []) {
    assert.ok(plan.notes.some((note) => note.code === code), `there is a note ${code}`);
  }
  const probes = wanted.probes ?? {};
  const ran = await runStream(make, plan, wanted.input, Object.keys(probes));
  assertClose(ran.output, wanted.output, "output");
  for (const [name, values] of Object.entries(probes)) {
    assertClose(ran.probes[name]!, values, name);
  }
}

/** The file is refused with this code, by a message with all of these words. */
export async function refuses(
  file: Promise<Uint8Array>,
  code: ErrorCode,
  words: readonly string[],
  options: CompileOptions = {},
): Promise<void> {
  const bytes = await file;
  await assert.rejects(planOf(bytes, options), (error) => {
    assert.ok(error instanceof GanglionError, String(error));
    assert.equal(error.code, code, error.message);
    for (const word of words) {
      assert.ok(error.message.includes(word), `"${error.message}" says ${word}`);
    }
    return true;
  });
}
