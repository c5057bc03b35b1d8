/**
 * A program's statements, compiled: blocks become arrays of operations with their expressions as
 * closures. The shapes here are what `interpreter_sessions.ts` executes.
 */
import type { ExpressionCompiler } from "./interpreter_expressions.ts";
import type { Eval, Locate } from "./interpreter_state.ts";
import { type Expr, isPresent, type Program, type Ref, type Statement } from "./ir.ts";

export interface HoldOp {
  readonly kind: "hold";
  readonly pools: readonly {
    readonly at: Locate;
    readonly units: Eval;
    readonly reserve: Eval | null;
    /** Reads attributes and numbers only, so it can be judged when the session joins the queue. */
    readonly fixed: boolean;
    readonly reserveFixed: boolean;
  }[];
  readonly reuse: Eval | null;
  readonly cache: Eval | null;
  readonly lease: { readonly at: Locate; readonly time: Eval } | null;
  readonly body: readonly Op[];
  readonly text: string;
}

/** A statement; `workload` is true where it is the session's own, not the server's. */
export type Op = Does & { readonly workload: boolean };

type Does =
  | { readonly kind: "turn" }
  | { readonly kind: "end" }
  | { readonly kind: "join" }
  | { readonly kind: "set"; readonly slot: number; readonly value: Eval }
  | { readonly kind: "observe"; readonly observation: number; readonly value: Eval }
  | HoldOp
  | {
    readonly kind: "grow" | "load";
    readonly at: Locate;
    readonly amount: Eval;
    readonly text: string;
  }
  | { readonly kind: "drop" | "release"; readonly at: Locate }
  | {
    readonly kind: "run";
    readonly at: Locate;
    readonly also: readonly Locate[];
    readonly mode: "Plain" | "Prefill" | "Decode";
    readonly work: Eval;
    readonly growing: Locate | null;
    readonly text: string;
  }
  | {
    readonly kind: "branch";
    readonly guard: Eval;
    readonly yes: readonly Op[];
    readonly no: readonly Op[];
  }
  | { readonly kind: "loop"; readonly body: readonly Op[] }
  | { readonly kind: "while"; readonly guard: Eval; readonly body: readonly Op[] }
  | {
    readonly kind: "choose";
    readonly slot: number;
    readonly count: Eval;
    readonly keys: readonly Eval[];
  }
  | { readonly kind: "fork"; readonly body: readonly Op[] };

/** Whether an expression reads nothing but attributes and numbers. */
function isFixed(expr: Expr): boolean {
  if ("Num" in expr || "Attr" in expr) return true;
  if ("Cost" in expr) return isFixed(expr.Cost[1]);
  if ("Unary" in expr) return isFixed(expr.Unary[1]);
  if ("Binary" in expr) return isFixed(expr.Binary[1]) && isFixed(expr.Binary[2]);
  if ("Cond" in expr) return expr.Cond.every(isFixed);
  if ("Call" in expr) return expr.Call[1].every((arg) => "Expr" in arg && isFixed(arg.Expr));
  return false;
}

export class StatementCompiler {
  private readonly program: Program;
  private readonly expressions: ExpressionCompiler;

  constructor(program: Program, expressions: ExpressionCompiler) {
    this.program = program;
    this.expressions = expressions;
  }

  block(id: number): Op[] {
    const sides = this.program.sides[id]!;
    return this.program.blocks[id]!.map((statement, i) => ({
      ...this.statement(statement),
      workload: sides[i] === "Workload",
    }));
  }

  private statement(statement: Statement): Does {
    const { expressions: e } = this;
    if (statement === "Turn") return { kind: "turn" };
    if (statement === "End") return { kind: "end" };
    if (statement === "Join") return { kind: "join" };
    if ("Set" in statement) {
      return { kind: "set", slot: statement.Set[0], value: e.compile(statement.Set[1]) };
    }
    if ("Observe" in statement) {
      const [observation, value] = statement.Observe;
      return { kind: "observe", observation, value: e.compile(value) };
    }
    if ("Hold" in statement) return this.hold(statement.Hold);
    if ("Grow" in statement) return this.amount("grow", statement.Grow);
    if ("Load" in statement) return this.amount("load", statement.Load);
    if ("Drop" in statement) return { kind: "drop", at: e.pool(statement.Drop) };
    if ("Release" in statement) return { kind: "release", at: e.pool(statement.Release) };
    if ("Run" in statement) {
      const { stage, also, mode, work, growing } = statement.Run;
      const stages = [stage, ...(also ?? [])];
      const names = stages.map((ref) => this.program.stages[ref.base]!.name).join(", ");
      return {
        kind: "run",
        at: e.stage(stage),
        also: (also ?? []).map((ref) => e.stage(ref)),
        mode,
        work: e.compile(work),
        growing: !isPresent(growing) ? null : e.pool(growing),
        text: `run ${names}${mode === "Plain" ? "" : ` ${mode.toLowerCase()}`} (w)`,
      };
    }
    if ("Branch" in statement) {
      const [guard, yes, no] = statement.Branch;
      return { kind: "branch", guard: e.compile(guard), yes: this.block(yes), no: this.block(no) };
    }
    if ("Loop" in statement) return { kind: "loop", body: this.block(statement.Loop) };
    if ("While" in statement) {
      const [guard, body] = statement.While;
      return { kind: "while", guard: e.compile(guard), body: this.block(body) };
    }
    if ("Choose" in statement) {
      const { var: slot, count, key } = statement.Choose;
      return { kind: "choose", slot, count: e.compile(count), keys: e.all(key) };
    }
    return { kind: "fork", body: this.block(statement.Fork) };
  }

  private amount(kind: "grow" | "load", [ref, amount]: [Ref, Expr]): Does {
    return {
      kind,
      at: this.expressions.pool(ref),
      amount: this.expressions.compile(amount),
      text: `${kind} ${this.program.pools[ref.base]!.name}`,
    };
  }

  private hold(hold: Extract<Statement, { Hold: unknown }>["Hold"]): HoldOp {
    const { expressions: e } = this;
    return {
      kind: "hold",
      pools: hold.pools.map(([ref, units, reserve]) => ({
        at: e.pool(ref),
        units: e.compile(units),
        reserve: e.optional(reserve),
        fixed: isFixed(units),
        reserveFixed: isPresent(reserve) && isFixed(reserve),
      })),
      reuse: e.optional(hold.reuse),
      cache: e.optional(hold.cache),
      lease: !isPresent(hold.lease)
        ? null
        : { at: e.pool(hold.lease[0]), time: e.compile(hold.lease[1]) },
      body: this.block(hold.body),
      text: `hold ${hold.pools.map(([ref]) => this.program.pools[ref.base]!.name).join(", ")}`,
    };
  }
}
