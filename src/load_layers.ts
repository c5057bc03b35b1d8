/**
 * A model of layers on disk: `model.json`, and in a run folder the variables that its `run.json` names. To
 * layers and back, and to files.
 */
import { GanglionError } from "./base/errors.ts";
import type { Limits } from "./base/limits.ts";
import { writeSafetensors } from "./base/safetensors.ts";
import type { LoadOptions } from "./load_model.ts";
import type { RunFolder } from "./load_run.ts";
import {
  flatten,
  LAYERS_FILE,
  type Module,
  readLayers,
  type SequentialOptions,
  writeLayers,
} from "./model/nn/mod.ts";
import { EVENTS, parseRun, RUN_FILE, type RunRecord, writeRun } from "./run/mod.ts";
import { readFileLimited } from "./runtime/mod.ts";

/** Text; lists of numbers belong into the variables. */
const LAYERS_BYTES_MAX = 64 << 20;
export const VARIABLES_FILE = "variables.safetensors";

/** Layers that are read, and what `sequential` takes beside them. */
export interface LoadedLayers {
  readonly kind: "layers";
  readonly modules: readonly Module[];
  readonly options: SequentialOptions;
  /** Null where the source is no run folder. */
  readonly run: RunRecord | null;
}

/** Throws `model_unreadable` or `model_invalid`, and `usage` for an option that only NIR files have. */
export async function loadLayers(
  file: string,
  folder: RunFolder | null,
  options: LoadOptions & { readonly name: string; readonly limits: Limits },
): Promise<LoadedLayers> {
  const { name, limits, dt, strict, variables, call, isolated: _, ...reading } = options;
  const bytesMax = Math.min(limits.modelBytesMax, LAYERS_BYTES_MAX);
  const bytes = await readFileLimited(file, bytesMax).catch((cause: unknown) => {
    throw new GanglionError("model_unreadable", (cause as Error).message, { path: file });
  });
  const model = readLayers(new TextDecoder().decode(bytes), file, limits);
  const { strict: strictRun = false, ...choices } = folder?.record.options ?? {};
  const [choice] = Object.keys({ ...choices, ...reading });
  if (choice !== undefined) {
    throw new GanglionError(
      "usage",
      `${choice} says how a NIR file is read; the layers of ${file} say themselves how they ` +
        "compute: leave it out, and change the file",
      { option: choice },
    );
  }
  return {
    kind: "layers",
    modules: model.modules,
    options: {
      name,
      input: model.input,
      dt: dt ?? folder?.record.dt ?? model.dt,
      variables: Object.fromEntries(folder?.variables ?? []),
      call: { ...variables, ...folder?.record.call, ...call },
      strict: strict ?? strictRun,
    },
    run: folder?.record ?? null,
  };
}

/**
 * A run folder as files by name: `model.json`, `variables.safetensors` and `run.json`, for layers built in
 * TypeScript. `run` says what stands around them.
 *
 * @throws GanglionError `model_unsupported` for a module that `nn` did not make; `run_invalid`.
 */
export function layeredRunFiles(
  modules: readonly Module[],
  { input, dt = 1, variables = {} }: SequentialOptions,
  run: Partial<RunRecord> = {},
): Record<string, Uint8Array<ArrayBuffer>> {
  const stored = writeLayers({ modules, input, dt, variables: flatten(variables) });
  const record = writeRun({
    encoder: EVENTS,
    ...run,
    model: LAYERS_FILE,
    variables: VARIABLES_FILE,
  });
  parseRun(record);
  const text = new TextEncoder();
  return {
    [LAYERS_FILE]: text.encode(stored.text),
    [VARIABLES_FILE]: writeSafetensors({ tensors: stored.variables, metadata: {} }),
    [RUN_FILE]: text.encode(record),
  };
}
