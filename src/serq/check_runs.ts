/** Runs: modes on engines only, shared stages, constant amounts, growth. */
import type { Span } from "./diagnostic.ts";
import type { Expr } from "./ir.ts";
import type { Lowered } from "./lower.ts";
import { fold } from "./lower_constants.ts";
import { linkError } from "./messages.ts";
import { everyStep, refName } from "./check_walk.ts";

export function checkRuns(lowered: Lowered): void {
  const { program } = lowered;
  const shared = new Set<number>();
  for (const { statement, at } of everyStep(lowered, program.session)) {
    if (typeof statement === "string" || !("Run" in statement)) continue;
    const { stage, mode, work, growing, also } = statement.Run;
    const engine = "Step" in program.stages[stage.base]!.kind;
    const name = program.stages[stage.base]!.name;
    if (engine && mode === "Plain") throw linkError("mode_missing", at, name);
    if (!engine && mode !== "Plain") throw linkError("mode_elsewhere", at, name);
    if (growing !== null && !engine) throw linkError("growing_elsewhere", at);
    checkAmount(work, `\`run ${refName(program.stages, stage)}\``, at);
    if (also === undefined) continue;
    for (const { base, count } of [stage, ...also]) {
      for (let k = 0; k < count; k += 1) shared.add(base + k);
      const { kind, name: each } = program.stages[base]!;
      const capacity = "Ps" in kind ? fold(kind.Ps) : null;
      if (capacity === null || !(capacity > 0)) throw linkError("flow_capacity", at, each);
    }
  }
}

/** A constant amount is a number, and not negative. */
export function checkAmount(expr: Expr, what: string, at: Span): void {
  const value = fold(expr);
  if (value !== null && !(value >= 0)) throw linkError("amount_negative", at, what, value);
}
