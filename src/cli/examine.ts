/**
 * The hidden command `_examine`: what this runtime computes on, as one JSON object on stdout. `doctor`
 * starts it once on each runtime, because a runtime's drivers are chosen before its process starts.
 */
import { join } from "node:path";
import { chooseExecutor } from "../choose_executor.ts";
import { type DeviceReport, examineDevice } from "../engine/doctor.ts";
import { loadModel } from "../load_model.ts";
import { environment, findGpu, readbackVerdict, ROOT, runtime, writeOut } from "../runtime/mod.ts";

export interface Examination {
  readonly runtime: string;
  readonly version: string;
  /** Where WebGPU comes from: `navigator.gpu` or `bun-webgpu`; null: nowhere. */
  readonly source: string | null;
  readonly drivers: string | null;
  readonly device: DeviceReport | null;
  readonly readback: string | null;
  /** The built-in model on that device. */
  readonly model: { readonly name: string; readonly numerics: string } | null;
  /** Why there is no device, or no model on it. */
  readonly problem: string | null;
}

export const EXAMPLE_MODEL: string = join("examples", "digits", "digits.nir");

export async function run(): Promise<number> {
  await writeOut(`${JSON.stringify(await examine())}\n`);
  return 0;
}

async function examine(): Promise<Examination> {
  const { name, version } = runtime;
  const search = await findGpu();
  const env = environment();
  const blank: Examination = {
    runtime: name,
    version,
    source: search.gpu === null ? null : search.name,
    drivers: env.VK_DRIVER_FILES || env.VK_ICD_FILENAMES || null,
    device: null,
    readback: null,
    model: null,
    problem: null,
  };
  if (search.gpu === null) return { ...blank, problem: search.reason };
  let found = blank;
  try {
    const device = await examineDevice(search.gpu);
    found = { ...found, device };
    const readback = await readbackVerdict({ runtime: name, version, adapter: device.name });
    found = { ...found, readback };
    const plan = await loadModel(join(ROOT, EXAMPLE_MODEL));
    const executor = await chooseExecutor(plan, { slots: 8, frame: 10, device: "webgpu" });
    found = { ...found, model: { name: plan.name, numerics: executor.info.numerics } };
    await executor.close();
  } catch (error) {
    return { ...found, problem: error instanceof Error ? error.message : String(error) };
  }
  return found;
}
