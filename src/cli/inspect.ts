/** `ganglion inspect`: what Ganglion makes of a model file or a run folder. */
import { loadRun } from "../load_model.ts";
import { describePlan, printPlan } from "../model/mod.ts";
import { writeOut } from "../runtime/mod.ts";
import type { Call } from "./command.ts";
import { loadOptions, takePositionals } from "./reading.ts";
import { runText } from "./run_text.ts";

export async function run(call: Call): Promise<number> {
  const [path] = takePositionals(call.positionals, ["MODEL"]);
  const { plan, run: record } = await loadRun(path!, loadOptions(call));
  if (call.settings.json) {
    const summary = { ...describePlan(plan), ...(record === null ? {} : { run: record }) };
    await writeOut(`${JSON.stringify(summary, null, 2)}\n`);
  } else await writeOut(printPlan(plan) + (record === null ? "" : `\n${runText(record)}`));
  return 0;
}
