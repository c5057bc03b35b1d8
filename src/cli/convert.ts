/** `ganglion convert`: a model as a NIR file, as safetensors, or as a run folder. */
import { resolve } from "node:path";
import { GanglionError } from "../base/errors.ts";
import { type Tensor, writeSafetensors } from "../base/safetensors.ts";
import { layeredRunFiles, type LoadedLayers, VARIABLES_FILE } from "../load_layers.ts";
import { compileLoaded, type LoadedGraph, loadSource } from "../load_model.ts";
import { type NirGraph, type Plan, writeNirBytes } from "../model/mod.ts";
import {
  checkRun,
  encoderFields,
  EVENTS,
  MODEL_FILE,
  parseRun,
  RUN_FILE,
  type RunRecord,
  writeRun,
} from "../run/mod.ts";
import { isFolder, isThere, makeFolder, say, writeFileWhole } from "../runtime/mod.ts";
import { type Call, given } from "./command.ts";
import { loadOptions, sayNotes, takePositionals } from "./reading.ts";

export async function run(call: Call): Promise<number> {
  const [modelPath, out] = takePositionals(call.positionals, ["MODEL", "OUT"]);
  if (resolve(modelPath!) === resolve(out!)) {
    throw new GanglionError("usage", `OUT is MODEL itself: ${out} would be overwritten`);
  }
  const loaded = await loadSource(modelPath!, loadOptions(call));
  const plan = compileLoaded(loaded);
  sayNotes(plan);
  const folder = /[\\/]$/.test(out!) || await isFolder(out!) || !/\.[a-z0-9]+$/i.test(out!);
  if (folder) {
    const files = await runFiles(loaded, plan, runRecord(call, loaded, plan));
    const path = out!.replace(/[\\/]+$/, "");
    await refuseToOverwrite(call, Object.keys(files).map((name) => `${path}/${name}`));
    await makeFolder(path);
    for (const [name, bytes] of Object.entries(files)) {
      await writeFileWhole(`${path}/${name}`, bytes);
    }
  } else if (/\.nir$/i.test(out!)) {
    const { graph, compile } = asGraph(loaded);
    await refuseToOverwrite(call, [out!]);
    await writeFileWhole(out!, await writeNirBytes(graph, compile));
    sayWhatIsLost(compile, plan);
  } else if (/\.safetensors$/i.test(out!)) {
    await refuseToOverwrite(call, [out!]);
    await writeFileWhole(out!, variableBytes(loaded));
  } else {
    throw new GanglionError(
      "usage",
      `OUT is a .nir file, a .safetensors file, or a folder (FOLDER/), not ${out}`,
    );
  }
  say(`${plan.name}: ${plan.nodes.length} nodes, digest ${plan.digest.slice(0, 12)}: ${out}`);
  return 0;
}

/** A folder may be there, and hold other files. */
async function refuseToOverwrite(call: Call, paths: readonly string[]): Promise<void> {
  if (call.settings.force) return;
  for (const path of paths) {
    if (!await isThere(path)) continue;
    throw new GanglionError("usage", `${path} is there already; --force overwrites it`);
  }
}

type Loaded = LoadedGraph | LoadedLayers;
type Bytes = Uint8Array;

/** A run folder's files by name. */
async function runFiles(
  loaded: Loaded,
  plan: Plan,
  record: RunRecord,
): Promise<Record<string, Bytes>> {
  if (loaded.kind === "layers") return layeredRunFiles(loaded.modules, loaded.options, record);
  return {
    [MODEL_FILE]: await writeNirBytes(loaded.graph, { ...loaded.compile, dt: plan.dt }),
    [RUN_FILE]: new TextEncoder().encode(writeRun(record)),
  };
}

/** NIR has nodes for few of the layers, and none that adds its input unscaled after the decay. */
function asGraph(loaded: Loaded): LoadedGraph {
  if (loaded.kind === "graph") return loaded;
  throw new GanglionError(
    "model_unsupported",
    "A model of layers has no NIR form that computes the same bits; convert it to a run folder, or " +
      "its parameters to .safetensors",
  );
}

/** What the folder says already, what was given, and how the model was read. */
function runRecord(call: Call, loaded: Loaded, plan: Plan): RunRecord {
  const { readout, encoder } = call.settings;
  const labels = given(call, "class-names");
  const frame = given(call, "frame");
  const record = {
    ...(loaded.kind === "graph" ? graphRecord(loaded) : loaded.run ?? { encoder: EVENTS }),
    ...(encoder === undefined ? {} : { encoder: encoderFields(encoder) }),
    ...(readout === undefined ? {} : { readout }),
    ...(labels === undefined ? {} : { labels }),
    ...(frame === undefined ? {} : { frame }),
    dt: plan.dt,
  };
  // What flags say is judged as the file will be.
  const checked = parseRun(JSON.stringify(record));
  checkRun(checked, plan);
  return checked;
}

/** Variables and call parameters stand in the model file now. */
function graphRecord({ run, compile }: LoadedGraph): Partial<RunRecord> {
  const { variables: _, call: __, ...kept } = run ?? { encoder: EVENTS };
  const { dt: ___, name: ____, ...options } = compile;
  const choices = Object.keys(options).length === 0 ? {} : { options };
  return { ...kept, model: MODEL_FILE, ...choices };
}

/** Choices that a NIR file cannot hold. */
function sayWhatIsLost(compile: LoadedGraph["compile"], plan: Plan): void {
  const { dt: _, name: __, strict: ___, ...choices } = compile;
  const told = Object.entries(choices).filter(([, value]) => value !== undefined);
  if (told.length === 0) return;
  const list = told.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(", ");
  say(`warning: ${plan.name}: a NIR file cannot say ${list}; a run folder keeps it`);
}

function variableBytes(loaded: Loaded): Bytes {
  if (loaded.kind === "graph") return writeSafetensors(variablesOf(loaded.graph));
  return layeredRunFiles(loaded.modules, loaded.options)[VARIABLES_FILE]!;
}

/** Every tensor under `node.field`, nested nodes as `outer.inner.field`; words as metadata. */
function variablesOf(graph: NirGraph) {
  const tensors = new Map<string, Tensor>();
  const metadata: Record<string, string> = {};
  const visit = ({ nodes }: NirGraph, prefix: string): void => {
    for (const [name, node] of nodes) {
      if (node.graph !== undefined) visit(node.graph, `${prefix}${name}.`);
      for (const [field, value] of node.fields) {
        const key = `${prefix}${name}.${field}`;
        if (typeof value === "string") metadata[key] = value;
        else tensors.set(key, value);
      }
    }
  };
  visit(graph, "");
  return { tensors, metadata };
}
