/**
 * A model in any form → its plan: a path to a file or a run folder, the bytes of a NIR file, a graph,
 * or a plan as it is. A NIR file is read in this process, by whoever vouches for it, or isolated in a
 * child process, where a damaged one can do no harm; a `model.json` of layers can do none.
 */
import { GanglionError } from "./base/errors.ts";
import { type Limits, makeLimits } from "./base/limits.ts";
import {
  applyVariables,
  type CompileOptions,
  compilePlan,
  type FieldLike,
  type NirField,
  type NirGraph,
  type NirNode,
  type Plan,
  readNirBytes,
  type Variables,
} from "./model/mod.ts";
import { type LoadedLayers, loadLayers } from "./load_layers.ts";
import { graphVariables, readRunFolder, type RunFolder } from "./load_run.ts";
import { sequential } from "./model/nn/mod.ts";
import { checkRun, type RunRecord } from "./run/mod.ts";
import { readFileLimited, readNirIsolated } from "./runtime/mod.ts";

/** A path to a `.nir` file, a `model.json` or a run folder, the bytes of a file, a graph (`graphOf`, `readNirBytes`), or a plan (`compilePlan`). */
export type ModelSource = string | Uint8Array | NirGraph | Plan;

/** Call-time parameters: `node.field` to one number for all its values, or to all of them. */
export type CallParameters = Readonly<Record<string, FieldLike>>;

export interface LoadOptions extends CompileOptions {
  /** Other parameters, as `{ node: { field: numbers } }`. A collection `state` in it is ignored. */
  readonly variables?: Variables;
  /** See `CallParameters`; applied after `variables`. */
  readonly call?: CallParameters;
  readonly limits?: Limits;
  /** Reads the file in a child process with a time limit; takes about 0.3 s more. */
  readonly isolated?: boolean;
}

/** A graph that is read, and how it is to be compiled. */
export interface LoadedGraph {
  readonly kind: "graph";
  readonly graph: NirGraph;
  /** Null where the source is no run folder. */
  readonly run: RunRecord | null;
  readonly compile: CompileOptions;
}

/** Throws `model_unreadable`, `model_invalid` or `model_unsupported`, naming the node. */
export async function loadModel(source: ModelSource, options: LoadOptions = {}): Promise<Plan> {
  return (await loadRun(source, options)).plan;
}

/** The same, and the run where the source is a run folder. */
export async function loadRun(
  source: ModelSource,
  options: LoadOptions = {},
): Promise<{ plan: Plan; run: RunRecord | null }> {
  if (isPlan(source)) {
    refuseOptions(options);
    return { plan: source, run: null };
  }
  const loaded = await loadSource(source, options);
  const plan = compileLoaded(loaded);
  if (loaded.run !== null) checkRun(loaded.run, plan);
  return { plan, run: loaded.run };
}

/** The model before it is compiled. */
export async function loadSource(
  source: string | Uint8Array | NirGraph,
  options: LoadOptions = {},
): Promise<LoadedGraph | LoadedLayers> {
  const { limits = makeLimits() } = options;
  const folder = typeof source === "string" ? await readRunFolder(source, limits) : null;
  const file = folder?.modelPath ?? source;
  const name = typeof source === "string" ? modelName(source) : "model";
  if (typeof file === "string" && /\.json$/i.test(file)) {
    return await loadLayers(file, folder, { name, limits, ...options });
  }
  const graph = await readGraph(file, name, limits, options.isolated ?? false);
  return withRun(graph, folder, options);
}

export function compileLoaded(loaded: LoadedGraph | LoadedLayers): Plan {
  return loaded.kind === "graph"
    ? compilePlan(loaded.graph, loaded.compile)
    : sequential(loaded.modules, loaded.options);
}

/** The graph with all other parameters put in place. */
function withRun(
  read: NirGraph,
  folder: RunFolder | null,
  options: LoadOptions,
): LoadedGraph {
  const { variables, call, limits: _, isolated: __, ...compile } = options;
  let graph = read;
  if (folder !== null) graph = applyVariables(graph, graphVariables(folder));
  if (variables !== undefined) graph = applyVariables(graph, variables);
  const calls = { ...folder?.record.call, ...call };
  graph = applyVariables(graph, callVariables(graph, calls));
  if (folder === null) return { kind: "graph", graph, run: null, compile };
  const { record } = folder;
  const dt = record.dt === undefined ? {} : { dt: record.dt };
  return { kind: "graph", graph, run: record, compile: { ...dt, ...record.options, ...compile } };
}

function refuseOptions({ variables, call, ...rest }: LoadOptions): void {
  const harmless = ["limits", "isolated"];
  const extra = Object.keys({ ...rest, ...call }).filter((name) => !harmless.includes(name));
  const params = Object.keys(variables ?? {}).filter((name) => name !== "state");
  if (extra.length + params.length > 0) {
    const what = [...extra, ...params].join(", ");
    throw new GanglionError("usage", `A plan is already compiled: ${what} cannot change it`);
  }
}

/** `digits` for `models/digits.nir` and for the run folder `models/digits/`. */
export function modelName(path: string): string {
  const file = path.replace(/[\\/]+$/, "").split(/[\\/]/).at(-1)!;
  return file.replace(/^\.+$/, "").replace(/\.(nir|h5|hdf5|json)$/i, "") || "model";
}

function isPlan(source: ModelSource): source is Plan {
  return typeof source === "object" && "digest" in source && "blocks" in source;
}

async function readGraph(
  source: string | Uint8Array | NirGraph,
  name: string,
  limits: Limits,
  isolated: boolean,
): Promise<NirGraph> {
  if (typeof source !== "string" && !(source instanceof Uint8Array)) return source;
  const read = isolated ? readNirIsolated : readNirBytes;
  if (source instanceof Uint8Array) return await read(source, { limits });
  const bytes = await readFileLimited(source, limits.modelBytesMax).catch((error: unknown) => {
    throw new GanglionError("model_unreadable", (error as Error).message, { path: source });
  });
  try {
    return await read(bytes, { name, limits });
  } catch (error) {
    if (!(error instanceof GanglionError)) throw error;
    const message = `${source}: ${error.message}`;
    throw new GanglionError(error.code, message, error.facts, { cause: error });
  }
}

/** `{ "node.field": value }` as `{ node: { field: value } }`, a number spread over the field's shape. */
function callVariables(graph: NirGraph, call: CallParameters): Variables {
  const nodes = new Map(allNodes(graph, ""));
  const variables: Record<string, Record<string, FieldLike>> = {};
  for (const [key, value] of Object.entries(call)) {
    const dot = key.lastIndexOf(".");
    const [name, field] = [key.slice(0, Math.max(0, dot)), key.slice(dot + 1)];
    const held = nodes.get(name)?.fields.get(field);
    if (held === undefined) {
      throw new GanglionError(
        "model_invalid",
        `The call sets "${key}", but the model has no such field; name one as "node.field"`,
        { field: key },
      );
    }
    (variables[name] ??= {})[field] = spread(value, held);
  }
  return variables;
}

function* allNodes(graph: NirGraph, prefix: string): Generator<[string, NirNode]> {
  for (const [key, node] of graph.nodes) {
    yield [prefix + key, node];
    if (node.graph !== undefined) yield* allNodes(node.graph, `${prefix}${key}.`);
  }
}

function spread(value: FieldLike, held: NirField): FieldLike {
  if (typeof value !== "number" || typeof held === "string") return value;
  return { shape: held.shape, data: new Float64Array(held.data.length).fill(value) };
}
