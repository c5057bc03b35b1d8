/** A session leaves the stage that its job is on, and the iteration being formed or running. */
import { removeFlow } from "./interpreter_flows.ts";
import type { Machine } from "./interpreter_machine.ts";
import { removeJob } from "./interpreter_stages.ts";
import type { Iteration, Job, Session } from "./interpreter_state.ts";

export function leaveStage(m: Machine, session: Session): void {
  const { job } = session;
  if (job === null) return;
  session.job = null;
  if (job.flow !== null) {
    removeFlow(m, job);
    return;
  }
  const stage = m.stages[job.stage]!;
  const { engine } = stage;
  if (engine === null) {
    removeJob(m, stage, job);
    return;
  }
  job.gone = true;
  stage.present -= 1;
  engine.residents.splice(engine.residents.indexOf(job), 1);
  if (m.forming !== null && m.forming.stage === stage.index) takeOut(m.forming, job);
  if (engine.running !== null) takeOut(engine.running, job);
}

/** Tokens of a job that left go back to what is left. */
function takeOut(iteration: Iteration, job: Job): void {
  const at = iteration.jobs.indexOf(job);
  if (at < 0) return;
  const tokens = iteration.tokens[at]!;
  iteration.jobs.splice(at, 1);
  iteration.tokens.splice(at, 1);
  iteration.left += tokens;
  iteration.scheduled -= tokens;
  if (!job.decode) iteration.prefilled -= tokens;
}
