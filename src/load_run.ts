/**
 * A run folder on disk: `run.json`, the model file that it names, and its variables. What the caller
 * says beats what the folder says, and that beats the model file.
 */
import { GanglionError } from "./base/errors.ts";
import type { Limits } from "./base/limits.ts";
import { parseSafetensors } from "./base/safetensors.ts";
import type { FieldLike, Tensor, Variables } from "./model/mod.ts";
import { parseRun, RUN_FILE, type RunRecord } from "./run/mod.ts";
import { isFolder, readFileLimited } from "./runtime/mod.ts";

const RUN_BYTES_MAX = 16 << 20;

export interface RunFolder {
  readonly record: RunRecord;
  readonly modelPath: string;
  /** Of the variables file, by name; empty where there is none. */
  readonly variables: ReadonlyMap<string, Tensor>;
}

/** The run folder at `path`, or null where `path` is no folder. Throws `run_invalid`. */
export async function readRunFolder(path: string, limits: Limits): Promise<RunFolder | null> {
  if (!await isFolder(path)) return null;
  const inside = (name: string): string => `${path.replace(/[\\/]+$/, "")}/${name}`;
  const file = inside(RUN_FILE);
  const bytes = await readFileLimited(file, RUN_BYTES_MAX).catch((cause: unknown) => {
    const { message } = cause as Error;
    const text = message.endsWith("does not exist")
      ? `${path} is a folder without ${RUN_FILE}; give a model file or a run folder`
      : message;
    throw new GanglionError("run_invalid", text, { path });
  });
  const record = parseRun(new TextDecoder().decode(bytes), file);
  const variables = record.variables === undefined
    ? new Map()
    : await readVariables(inside(record.variables), limits);
  return { record, modelPath: inside(record.model), variables };
}

async function readVariables(
  path: string,
  limits: Limits,
): Promise<ReadonlyMap<string, Tensor>> {
  const bytes = await readFileLimited(path, limits.modelBytesMax);
  try {
    return parseSafetensors(bytes).tensors;
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new GanglionError("model_unreadable", `${path}: ${reason}`, { path }, { cause });
  }
}

/** Tensors named `node.field` as the variables of a graph. Throws `model_invalid` for other names. */
export function graphVariables({ record, variables: tensors }: RunFolder): Variables {
  const variables: Record<string, Record<string, FieldLike>> = {};
  for (const [name, tensor] of tensors) {
    const dot = name.lastIndexOf(".");
    if (dot <= 0) {
      throw new GanglionError(
        "model_invalid",
        `${record.variables}: the tensor "${name}" must be named "node.field"`,
        { tensor: name },
      );
    }
    (variables[name.slice(0, dot)] ??= {})[name.slice(dot + 1)] = tensor;
  }
  return variables;
}
