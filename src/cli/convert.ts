/** `ganglion convert`: a model as a NIR file, as safetensors, or as a run folder. */
import { resolve } from "node:path";
import { GanglionError } from "../base/errors.ts";
import { type Tensor, writeSafetensors } from "../base/safetensors.ts";
import { type LoadedGraph, loadGraph } from "../load_model.ts";
import { compilePlan, type NirGraph, type Plan, writeNirBytes } from "../model/mod.ts";
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
import { isFolder, makeFolder, say, writeFileWhole } from "../runtime/mod.ts";
import { type Call, given } from "./command.ts";
import { loadOptions, sayNotes, takePositionals } from "./reading.ts";

export async function run(call: Call): Promise<number> {
  const [modelPath, out] = takePositionals(call.positionals, ["MODEL", "OUT"]);
  if (resolve(modelPath!) === resolve(out!)) {
    throw new GanglionError("usage", `OUT is MODEL itself: ${out} would be overwritten`);
  }
  const loaded = await loadGraph(modelPath!, loadOptions(call));
  const plan = compilePlan(loaded.graph, loaded.compile);
  sayNotes(plan);
  const { graph, compile } = loaded;
  const folder = /[\\/]$/.test(out!) || await isFolder(out!) || !/\.[a-z0-9]+$/i.test(out!);
  if (folder) await writeRunFolder(out!.replace(/[\\/]+$/, ""), call, loaded, plan);
  else if (/\.nir$/i.test(out!)) {
    await writeFileWhole(out!, await writeNirBytes(graph, compile));
    sayWhatIsLost(loaded, plan);
  } else if (/\.safetensors$/i.test(out!)) {
    await writeFileWhole(out!, writeSafetensors(variablesOf(graph)));
  } else {
    throw new GanglionError(
      "usage",
      `OUT is a .nir file, a .safetensors file, or a folder (FOLDER/), not ${out}`,
    );
  }
  say(`${plan.name}: ${plan.nodes.length} nodes, digest ${plan.digest.slice(0, 12)}: ${out}`);
  return 0;
}

async function writeRunFolder(
  folder: string,
  call: Call,
  loaded: LoadedGraph,
  plan: Plan,
): Promise<void> {
  const record = writeRun(runRecord(call, loaded, plan));
  const model = await writeNirBytes(loaded.graph, { ...loaded.compile, dt: plan.dt });
  await makeFolder(folder);
  await writeFileWhole(`${folder}/${MODEL_FILE}`, model);
  await writeFileWhole(`${folder}/${RUN_FILE}`, new TextEncoder().encode(record));
}

/** What the folder says already, what was given, and how the model was read. */
function runRecord(call: Call, { run, compile }: LoadedGraph, plan: Plan): RunRecord {
  const { readout, encoder } = call.settings;
  const labels = given(call, "class-names");
  const frame = given(call, "frame");
  const { dt: _, name: __, ...options } = compile;
  // Variables and call parameters stand in the model file now.
  const { variables: ___, call: ____, ...kept } = run ?? { encoder: EVENTS };
  const record = {
    ...kept,
    model: MODEL_FILE,
    ...(encoder === undefined ? {} : { encoder: encoderFields(encoder) }),
    ...(readout === undefined ? {} : { readout }),
    ...(labels === undefined ? {} : { labels }),
    ...(frame === undefined ? {} : { frame }),
    dt: plan.dt,
    ...(Object.keys(options).length === 0 ? {} : { options }),
  };
  // What flags say is judged as the file will be.
  const checked = parseRun(JSON.stringify(record));
  checkRun(checked, plan);
  return checked;
}

/** Choices that a NIR file cannot hold. */
function sayWhatIsLost({ compile }: LoadedGraph, plan: Plan): void {
  const { dt: _, name: __, strict: ___, ...choices } = compile;
  const told = Object.entries(choices).filter(([, value]) => value !== undefined);
  if (told.length === 0) return;
  const list = told.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(", ");
  say(`warning: ${plan.name}: a NIR file cannot say ${list}; a run folder keeps it`);
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
