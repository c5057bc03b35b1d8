/**
 * What modules write into: nodes in the order of a step, their edges, the cycles, and where parameters
 * come from. `finish` makes the plan of it. Shapes inside are channels first, `[C, H, W]`, or `[F]`.
 */
import { canonicalise, sizeOf } from "../../base/numeric.ts";
import { type FieldLike, fieldOf } from "../build.ts";
import { digestOf } from "../digest.ts";
import { Notes } from "../flat_graph.ts";
import { edgeKinds } from "../kinds.ts";
import type { NirTensor } from "../nir.ts";
import { invalidGraph, invalidNode, listNames, shapeText } from "../nir_error.ts";
import { settle } from "../options.ts";
import type { Plan, PlanBlock, PlanEdge, PlanNode, PlanOp } from "../plan.ts";
import { stateOf } from "../plan_nodes.ts";
import { VALUES_MAX } from "../shapes.ts";

/** Values on their way from module to module. */
export interface Value {
  readonly node: number;
  /** `[F]` or `[C, H, W]`. */
  readonly shape: readonly number[];
  /** The node's values stand channels last, as the model's input brings them. */
  readonly channelsLast?: boolean;
}

export interface Draft {
  readonly name: string;
  readonly type: string;
  readonly op: PlanOp;
  readonly inputs: readonly PlanEdge[];
  readonly shape: readonly number[];
}

export interface BuildOptions {
  readonly name: string;
  readonly dt: number;
  readonly input: readonly number[];
  readonly variables: ReadonlyMap<string, NirTensor>;
  /** By the same names; beat what the layers were given. */
  readonly call: ReadonlyMap<string, NirTensor>;
  /** Refuses variables that no layer takes. */
  readonly strict: boolean;
}

export class PlanBuilder {
  readonly dt: number;
  readonly notes: Notes = new Notes();
  readonly #options: BuildOptions;
  readonly #drafts: Draft[];
  readonly #cycles: (readonly number[])[] = [];
  readonly #used = new Set<string>();
  #values = 0;

  constructor(options: BuildOptions) {
    this.dt = options.dt;
    this.#options = options;
    this.#drafts = [{
      name: "input",
      type: "Input",
      op: { op: "input" },
      inputs: [],
      shape: options.input,
    }];
  }

  /** The index that the next node gets. */
  get next(): number {
    return this.#drafts.length;
  }

  add(draft: Draft): Value {
    if (this.#drafts.some(({ name }) => name === draft.name)) {
      throw invalidNode(draft.name, "two nodes have this name; give one of them another");
    }
    this.#values += sizeOf(draft.shape);
    if (!(this.#values <= VALUES_MAX)) {
      throw invalidNode(draft.name, `the model has more than ${VALUES_MAX} values a step`, {
        shape: draft.shape,
      });
    }
    this.#drafts.push(draft);
    return { node: this.#drafts.length - 1, shape: draft.shape };
  }

  /** A node behind one value. */
  behind(value: Value, name: string, type: string, op: PlanOp, shape = value.shape): Value {
    return this.add({ name, type, op, inputs: [{ from: value.node, previous: false }], shape });
  }

  /** These nodes, neighbours, run step by step together. */
  cycle(nodes: readonly number[]): void {
    this.#cycles.push(nodes);
  }

  /** The value channels first; puts a node in where it is not. */
  channelsFirst(value: Value): Value {
    if (value.channelsLast !== true) return value;
    const [channels, height, width] = value.shape as [number, number, number];
    const from = new Uint32Array(sizeOf(value.shape));
    const area = height * width;
    for (let i = 0; i < from.length; i++) {
      from[i] = (i % area) * channels + Math.floor(i / area);
    }
    const name = this.#drafts[value.node]!.name;
    return this.behind(
      value,
      `${name}.channels_first`,
      "Transpose",
      { op: "permute", from },
      value
        .shape,
    );
  }

  /** The same values channels last: what a row-major reader of [H, W, C] expects. */
  channelsLast(value: Value, name: string, shape: readonly number[]): Value {
    const [channels, height, width] = value.shape as [number, number, number];
    const area = height * width;
    if (value.channelsLast === true || channels === 1 || area === 1) {
      return { node: value.node, shape };
    }
    const from = new Uint32Array(sizeOf(value.shape));
    for (let i = 0; i < from.length; i++) {
      from[i] = (i % channels) * area + Math.floor(i / channels);
    }
    return this.behind(value, name, "Transpose", { op: "permute", from }, shape);
  }

  /**
   * A parameter that the call sets, that was given, or that `variables` hold under `path.field`; null
   * without any of them.
   */
  find(path: string, field: string, given: FieldLike | undefined): NirTensor | null {
    const key = path === "" ? field : `${path}.${field}`;
    const held = this.#held(path, key, field, given);
    const call = this.#options.call.get(key);
    if (call === undefined) return held;
    this.#used.add(key);
    // One number stands for all.
    if (call.shape.length > 0 || held === null) return call;
    return { shape: held.shape, data: new Float64Array(held.data.length).fill(call.data[0]!) };
  }

  #held(
    path: string,
    key: string,
    field: string,
    given: FieldLike | undefined,
  ): NirTensor | null {
    if (given !== undefined) {
      const value = fieldOf(path, field, given);
      if (typeof value === "string") throw invalidNode(path, `${field} must be numbers`, { field });
      return value;
    }
    const held = this.#options.variables.get(key);
    if (held !== undefined) this.#used.add(key);
    return held ?? null;
  }

  /** As `find`, but it must be there. */
  need(path: string, field: string, given: FieldLike | undefined): NirTensor {
    const found = this.find(path, field, given);
    if (found !== null) return found;
    const names = [...this.#options.variables.keys()];
    const held = names.length === 0
      ? "no variables were given"
      : `variables hold ${listNames(names)}`;
    throw invalidNode(
      path,
      `it needs "${field}": give it, or variables with "${path}.${field}"; ` +
        held,
      { field },
    );
  }

  finish(output: Value): Plan {
    const served = this.#served(output);
    const late = new Set(
      this.#drafts.flatMap(({ inputs }) =>
        inputs.filter(({ previous }) => previous).map(({ from }) => from)
      ),
    );
    const kinds = edgeKinds(this.#drafts);
    let offset = 0;
    const nodes = this.#drafts.map((draft, index): PlanNode => {
      const size = sizeOf(draft.shape);
      const kind = kinds[index]!;
      const state = stateOf(draft.op, size, late.has(index) ? kind : null, offset);
      offset += state.reduce((words, field) => words + field.words, 0);
      return { ...draft, index, size, kind, state };
    });
    this.#noteUnused();
    const { discretization, strict: _, ...options } = settle({
      compare: "ge",
      reset: "subtract",
      discretization: "exact",
    }).settings;
    const { name, dt, input } = this.#options;
    const { shape } = served;
    const plan: Omit<Plan, "digest"> = {
      name,
      dt,
      dtSource: "flag",
      discretization,
      options,
      sampleShape: input,
      sampleSize: sizeOf(input),
      outputShape: shape,
      outputSize: sizeOf(shape),
      nodes,
      blocks: this.#blocks(),
      output: served.node,
      stateWords: offset,
      notes: this.notes.list,
    };
    return { ...plan, digest: digestOf(plan) };
  }

  /** The node whose values leave: its own, and channels last as they came. */
  #served(output: Value): Value {
    const { shape } = output;
    const turned = shape.length === 3
      ? this.channelsLast(output, "output", [shape[1]!, shape[2]!, shape[0]!])
      : output;
    return turned.node === 0 ? this.behind(turned, "output", "Output", identityOp()) : turned;
  }

  #blocks(): PlanBlock[] {
    const blocks: PlanBlock[] = [];
    for (let index = 1; index < this.#drafts.length; index++) {
      const cycle = this.#cycles.find((nodes) => nodes.includes(index));
      if (cycle === undefined) blocks.push({ kind: "feedforward", nodes: [index] });
      else if (cycle[0] === index) blocks.push({ kind: "recurrent", nodes: cycle });
    }
    return blocks;
  }

  #noteUnused(): void {
    const { variables, call, strict } = this.#options;
    const unused = (names: Iterable<string>) => [...names].filter((key) => !this.#used.has(key));
    const unset = unused(call.keys());
    if (unset.length > 0) {
      throw invalidGraph(
        `The call sets ${listNames(unset)}, which no layer takes; name one as "layer.field"`,
        { fields: unset },
      );
    }
    const left = unused(variables.keys());
    if (left.length === 0) return;
    const text = `No layer takes the variables ${listNames(left)}`;
    if (strict) throw invalidGraph(`${text}; take them out of the file`, { fields: left });
    this.notes.warn("unused_variables", text);
  }
}

export function identityOp(): PlanOp {
  return { op: "pointwise", layer: "identity", mode: 0, coefficients: new Float32Array(0) };
}

/** f32, finite and canonical. */
export function toF32(name: string, field: string, data: ArrayLike<number>): Float32Array {
  const values = Float32Array.from(data);
  const at = values.findIndex((value) => !Number.isFinite(value));
  if (at >= 0) {
    throw invalidNode(name, `"${field}" holds ${data[at]} at position ${at}`, { field });
  }
  return canonicalise(values);
}

export function expectShape(
  name: string,
  field: string,
  { shape }: NirTensor,
  wanted: readonly number[],
): void {
  if (shape.length === wanted.length && shape.every((axis, i) => axis === wanted[i])) return;
  throw invalidNode(
    name,
    `"${field}" must have the shape ${shapeText(wanted)}, not ${shapeText(shape)}`,
    { field },
  );
}

/**
 * A parameter for every element, given once, a feature each (the channel, or the unit), or an element each
 * (channels first).
 */
export function perElement(
  name: string,
  field: string,
  { data }: NirTensor,
  shape: readonly number[],
): (element: number) => number {
  const size = sizeOf(shape);
  const features = shape[0]!;
  if (data.length === 1) return () => data[0]!;
  if (data.length === size) return (i) => data[i]!;
  if (data.length === features) return (i) => data[Math.floor(i / (size / features))]!;
  throw invalidNode(
    name,
    `"${field}" has ${data.length} values for ${features} features of ${shapeText(shape)}`,
    { field },
  );
}
