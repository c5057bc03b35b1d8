/** `ganglion infer`: one recording through the engine that serves, from rest to its end. */
import { GanglionError } from "../base/errors.ts";
import { parseNpy, writeNpy } from "../base/npy.ts";
import { type NamedArray, writeNpz } from "../base/npz.ts";
import { firstNonFinite, sizeOf } from "../base/numeric.ts";
import { limitsOf } from "../config.ts";
import { loadModel } from "../load_model.ts";
import { type Plan, probesOf } from "../model/mod.ts";
import { isTerminal, readFileLimited, say, writeFileWhole, writeOut } from "../runtime/mod.ts";
import { StreamServer } from "../stream_server.ts";
import type { Call } from "./command.ts";
import { Progress } from "./progress.ts";
import { loadOptions, sayNotes, takePositionals } from "./reading.ts";

/** An input file is held whole, as f32. */
const INPUT_BYTES_MAX = 2 ** 32;

export async function run(call: Call): Promise<number> {
  const { positionals, settings } = call;
  const [modelPath, inputPath] = takePositionals(positionals, ["MODEL", "INPUT.npy"]);
  const { output, record, device } = settings;
  const { frame } = limitsOf(settings);
  checkOutput(output, record.length > 0);
  const plan = await loadModel(modelPath!, loadOptions(call));
  sayNotes(plan);
  checkRecord(plan, record);
  const { steps, values } = await readInput(inputPath!, plan);
  await using server = await StreamServer.create(plan, {
    slots: 1,
    frame,
    sampleShape: plan.sampleShape,
    partialFrames: true,
    device,
    say,
  });
  const arrays = await stream(server, values, steps, record);
  const result = arrays.output!;
  const bytes = record.length > 0 ? writeNpz(arrays) : writeNpy(result.values, result.shape);
  if (output === undefined) await writeOut(bytes);
  else await writeFileWhole(output, bytes);
  const { kind, device: name, numerics } = server.info;
  say(`${steps} steps on ${kind} (${name}), numerics ${numerics}${output ? `: ${output}` : ""}`);
  return 0;
}

function checkOutput(output: string | undefined, records: boolean): void {
  if (output === undefined && isTerminal("stdout")) {
    throw new GanglionError("usage", "The result is binary: give -o FILE, or redirect stdout");
  }
  if (output !== undefined && records !== /\.npz$/i.test(output)) {
    throw new GanglionError(
      "usage",
      records
        ? `With --record the result is an archive: name it .npz, not ${output}`
        : `Without --record the result is one array: name it .npy, not ${output}`,
    );
  }
}

function checkRecord(plan: Plan, record: readonly string[]): void {
  const names = probesOf(plan).map(({ name }) => name);
  const unknown = record.find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new GanglionError(
    "usage",
    `The model has no value "${unknown}"; it has: ${names.join(" ")}`,
  );
}

async function readInput(
  path: string,
  plan: Plan,
): Promise<{ values: Float32Array; steps: number }> {
  const bytes = await readFileLimited(path, INPUT_BYTES_MAX);
  let array;
  try {
    array = parseNpy(bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new GanglionError("input_unreadable", `${path}: ${reason}`, { path }, { cause: error });
  }
  const { shape, values } = array;
  const steps = shape[0] ?? 0;
  if (!isStream(shape, plan)) {
    throw new GanglionError(
      "bad_array",
      `${path} has shape [${shape.join(", ")}]; the model takes [T, ${
        plan.sampleShape.join(", ")
      }]` +
        (plan.sampleShape.length === 1 ? "" : ` or [T, ${plan.sampleSize}]`),
      { path, shape, sample_shape: plan.sampleShape },
    );
  }
  const bad = firstNonFinite(values);
  if (bad >= 0) {
    const [step, index] = [Math.floor(bad / plan.sampleSize), bad % plan.sampleSize];
    throw new GanglionError(
      "non_finite",
      `${path} holds ${values[bad]} in step ${step}, at index ${index} of its sample`,
      { path, step, index },
    );
  }
  return { values, steps };
}

/** `[T, …sample_shape]`, `[T, prod]`, or `[T]` where a sample is one value. */
function isStream(shape: readonly number[], { sampleShape, sampleSize }: Plan): boolean {
  if (shape.length === 0) return false;
  const sample = shape.slice(1);
  if (sample.length <= 1) return sizeOf(sample) === sampleSize;
  return sample.length === sampleShape.length && sample.every((axis, i) => axis === sampleShape[i]);
}

/** Runs the stream frame by frame; returns `output` and every recorded value over all steps. */
async function stream(
  server: StreamServer,
  input: Float32Array,
  steps: number,
  record: readonly string[],
): Promise<Record<string, NamedArray>> {
  const { plan, frame } = server;
  const probes = probesOf(plan).filter(({ name }) => record.includes(name));
  const result: Record<string, NamedArray> = {};
  for (
    const { name, shape } of [{ name: "output", shape: plan.outputShape }, ...probes]
  ) {
    result[name] = { values: new Float32Array(steps * sizeOf(shape)), shape: [steps, ...shape] };
  }
  const session = server.open();
  const progress = new Progress("step", steps);
  for (let at = 0; at < steps; at += frame) {
    const end = Math.min(at + frame, steps);
    const piece = input.subarray(at * plan.sampleSize, end * plan.sampleSize);
    const future = server.submit(session, piece, { record });
    await server.step();
    const outputs = await future.result();
    const parts = { output: outputs.data, ...outputs.probes };
    for (const [name, part] of Object.entries(parts)) {
      result[name]!.values.set(part, at * (part.length / (end - at)));
    }
    progress.update(end);
  }
  progress.end();
  return result;
}
