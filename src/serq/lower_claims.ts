/** Gauges and claims: what is watched while a program runs, and what is said of it. */
import type { Item, ProgramNode } from "./ast.ts";
import type { Claim, Expr, Gauge, Program } from "./ir.ts";
import { linkError } from "./messages.ts";
import { fold } from "./lower_constants.ts";
import type { Env, Tables } from "./lower_context.ts";
import { lowerExpr } from "./lower_expressions.ts";
import { MOMENTS } from "./lower_moments.ts";
import { lowerRef } from "./lower_refs.ts";

type Of<K extends Item["kind"]> = Extract<Item, { kind: K }>;

export function lowerGaugesAndClaims(
  tables: Tables,
  { items }: ProgramNode,
  program: Program,
  env: (item: object) => Env,
): void {
  const gauges: Gauge[] = [];
  const claims: Claim[] = [];
  for (const item of items) {
    if (item.kind === "gauge") {
      if (gauges.some(({ name }) => name === item.name.text)) {
        throw linkError("declared_twice", item.name.at, "gauge", item.name.text);
      }
      if (tables.observes.includes(item.name.text)) {
        throw linkError("gauge_is_observation", item.name.at, item.name.text);
      }
      const expr = lowerExpr(tables, item.value, { ...env(item), moment: MOMENTS.gauge });
      gauges.push({ name: item.name.text, expr });
    } else if (item.kind === "claim") {
      if (claims.some(({ name }) => name === item.name.text)) {
        throw linkError("declared_twice", item.name.at, "claim", item.name.text);
      }
      claims.push(lowerClaim(tables, item, env(item)));
    }
  }
  if (gauges.length > 0) program.gauges = gauges;
  if (claims.length > 0) program.claims = claims;
}

function lowerClaim(tables: Tables, item: Of<"claim">, env: Env): Claim {
  const given = item.given === null
    ? {}
    : { given: lowerExpr(tables, item.given, { ...env, moment: MOMENTS.given }) };
  if (item.engine === null) {
    const expr = lowerExpr(tables, item.value, { ...env, moment: MOMENTS.end });
    return { name: item.name.text, ...given, kind: "AtEnd", expr };
  }
  const ref = lowerRef(tables, "stage", item.engine, { ...env, moment: MOMENTS.constant });
  const stage = ref.base + (ref.index === null ? 0 : fold(ref.index) ?? 0);
  if (!("Step" in tables.stages[stage]!.kind)) {
    throw linkError("claim_engine", item.engine.at, item.name.text, tables.stages[stage]!.name);
  }
  const expr: Expr = lowerExpr(tables, item.value, { ...env, moment: MOMENTS.iteration });
  const kind = item.when === "every" ? { EveryIteration: stage } : { SomeIteration: stage };
  return { name: item.name.text, ...given, kind, expr };
}
