/** `ganglion inspect`: what Ganglion makes of a model file. */
import { loadModel } from "../load_model.ts";
import { describePlan, printPlan } from "../model/mod.ts";
import { writeOut } from "../runtime/mod.ts";
import type { Call } from "./command.ts";
import { loadOptions, takePositionals } from "./reading.ts";

export async function run({ positionals, settings }: Call): Promise<number> {
  const [path] = takePositionals(positionals, ["MODEL"]);
  const plan = await loadModel(path!, loadOptions(settings));
  const text = settings.json ? `${JSON.stringify(describePlan(plan), null, 2)}\n` : printPlan(plan);
  await writeOut(text);
  return 0;
}
