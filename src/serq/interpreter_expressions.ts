/**
 * Expressions, compiled to closures over the machine. A draw reads the stream that the machine names
 * at the time; one arm of `?:` and the deciding side of `&&` and `||` are evaluated, no more.
 */
import { CONTEXT, type Machine } from "./interpreter_machine.ts";
import { engineBudgetLeft } from "./interpreter_residents.ts";
import { unfinishedWork } from "./interpreter_stages.ts";
import type { Eval, Locate, StageState } from "./interpreter_state.ts";
import {
  type Argument,
  type BinaryOp,
  type Distribution,
  type Expr,
  type FunctionName,
  realValue,
  type Ref,
} from "./ir.ts";
import { ln } from "./ln.ts";
import { RunError, runErrors } from "./run_errors.ts";
import { bernoulli, erlang, exponential, hyperexponential, uniform } from "./variates.ts";

/** If one operand is NaN the other is returned, unlike `Math.min`. */
const least = (a: number, b: number) => a < b || Number.isNaN(b) ? a : b;
const greatest = (a: number, b: number) => a > b || Number.isNaN(b) ? a : b;

function binary(op: BinaryOp, a: Eval, b: Eval): Eval {
  switch (op) {
    case "Add":
      return () => a() + b();
    case "Sub":
      return () => a() - b();
    case "Mul":
      return () => a() * b();
    case "Div":
      return () => a() / b();
    case "Pow":
      return () => Math.pow(a(), b());
    case "Lt":
      return () => (a() < b() ? 1 : 0);
    case "Le":
      return () => (a() <= b() ? 1 : 0);
    case "Gt":
      return () => (a() > b() ? 1 : 0);
    case "Ge":
      return () => (a() >= b() ? 1 : 0);
    case "Eq":
      return () => (a() === b() ? 1 : 0);
    case "Ne":
      return () => (a() !== b() ? 1 : 0);
    case "And":
      return () => (a() !== 0 && b() !== 0 ? 1 : 0);
    case "Or":
      return () => (a() !== 0 || b() !== 0 ? 1 : 0);
  }
}

export class ExpressionCompiler {
  private readonly m: Machine;

  constructor(machine: Machine) {
    this.m = machine;
  }

  all(list: readonly Expr[]): Eval[] {
    return list.map((expr) => this.compile(expr));
  }

  optional(expr: Expr | null | undefined): Eval | null {
    return expr === null || expr === undefined ? null : this.compile(expr);
  }

  compile(expr: Expr): Eval {
    const { m } = this;
    if ("Num" in expr) {
      const value = realValue(expr.Num);
      return () => value;
    }
    if ("Attr" in expr) {
      const slot = expr.Attr;
      return () => m.attributes[slot]!;
    }
    if ("Cost" in expr) return this.compile(expr.Cost[1]);
    if ("Ctx" in expr) {
      if (expr.Ctx === "Now") return () => m.now;
      const at = CONTEXT[expr.Ctx];
      return () => m.context[at]!;
    }
    if ("Binary" in expr) {
      const [op, a, b] = expr.Binary;
      return binary(op, this.compile(a), this.compile(b));
    }
    if ("Unary" in expr) {
      const operand = this.compile(expr.Unary[1]);
      return expr.Unary[0] === "Neg" ? () => -operand() : () => (operand() === 0 ? 1 : 0);
    }
    if ("Cond" in expr) {
      const [test, yes, no] = this.all(expr.Cond);
      return () => (test!() !== 0 ? yes!() : no!());
    }
    if ("Sample" in expr) return this.draw(expr.Sample[0], this.all(expr.Sample[1]));
    if ("Reg" in expr) {
      const register = expr.Reg;
      return () => m.registers[register]!;
    }
    if ("Agg" in expr) return this.aggregate(expr.Agg[0], expr.Agg[1]);
    return this.call(expr.Call[0], expr.Call[1]);
  }

  /** The member that a reference names. */
  locate(ref: Ref, name: string): Locate {
    const { base, count } = ref;
    if (ref.index === null) return () => base;
    const index = this.compile(ref.index);
    return () => {
      const value = index();
      if (!(value >= 0 && value < count && Number.isInteger(value))) {
        throw new RunError(runErrors.index(name, value, count));
      }
      return base + value;
    };
  }

  pool(ref: Ref): Locate {
    return this.locate(ref, this.m.program.pools[ref.base]!.name);
  }

  stage(ref: Ref): Locate {
    return this.locate(ref, this.m.program.stages[ref.base]!.name);
  }

  private draw(law: Distribution, [a, b]: Eval[]): Eval {
    const { m } = this;
    switch (law) {
      case "Exp":
        return () => exponential(m.rng(), a!());
      case "Det":
        return a!;
      case "Uniform":
        return () => {
          const low = a!();
          const high = b!();
          return uniform(m.rng(), low, high);
        };
      case "Erlang":
        return () => {
          const k = a!();
          const mean = b!();
          return erlang(m.rng(), k, mean);
        };
      case "H2":
        return () => {
          const mean = a!();
          const cv2 = b!();
          return hyperexponential(m.rng(), mean, cv2);
        };
      case "Bernoulli":
        return () => {
          const p = a!();
          return bernoulli(m.rng(), p);
        };
    }
  }

  private aggregate(kind: string, observation: number): Eval {
    const { m } = this;
    return () => {
      const values = m.observations[observation]!.all!.values();
      switch (kind) {
        case "Count":
          return values.length;
        case "Total":
          return values.reduce((sum, value) => sum + value, 0);
        case "Largest":
          return values.length === 0 ? 0 : values.reduce(greatest);
        case "Smallest":
          return values.length === 0 ? 0 : values.reduce(least);
        default: {
          const sorted = values.slice().sort();
          return sorted.reduce((sum, value, i) => sum + value * (sorted.length - i), 0);
        }
      }
    };
  }

  private call(name: FunctionName, args: readonly Argument[]): Eval {
    const [first] = args;
    if (first !== undefined && "Pool" in first) return this.poolReader(name, this.pool(first.Pool));
    if (first !== undefined && "Stage" in first) {
      const rest = args.slice(1).map((arg) => this.compile((arg as { Expr: Expr }).Expr));
      return this.stageReader(name, this.stage(first.Stage), rest);
    }
    const [a, b] = args.map((arg) => this.compile((arg as { Expr: Expr }).Expr));
    switch (name) {
      case "Min":
        return () => least(a!(), b!());
      case "Max":
        return () => greatest(a!(), b!());
      case "Abs":
        return () => Math.abs(a!());
      case "Floor":
        return () => Math.floor(a!());
      case "Ceil":
        return () => Math.ceil(a!());
      case "Sqrt":
        return () => Math.sqrt(a!());
      case "Exp":
        return () => Math.exp(a!());
      case "Ln":
        return () => ln(a!());
      default:
        throw new RunError(`\`${name}\` takes a pool or a stage`);
    }
  }

  private poolReader(name: FunctionName, at: Locate): Eval {
    const { m } = this;
    const pool = () => m.pools[at()]!;
    switch (name) {
      case "Used":
        return () => pool().used;
      case "Free":
        return () => {
          const { cap, used } = pool();
          return cap - used;
        };
      case "CachedIn":
        return () => pool().entries.get(m.session?.serial ?? NaN)?.size ?? 0;
      case "Holders":
        return () => pool().holders.size;
      case "Queued":
        return () => pool().queue.length;
      default:
        throw new RunError(`\`${name}\` takes no pool`);
    }
  }

  private stageReader(name: FunctionName, at: Locate, [a, b]: readonly Eval[]): Eval {
    const { m } = this;
    const stage = () => m.stages[at()]!;
    switch (name) {
      case "Queue":
        return () => stage().present;
      case "Busy":
        return () => jobsInService(stage());
      case "Work":
        return () => unfinishedWork(m, stage());
      case "BudgetLeft":
        return () => engineBudgetLeft(m, stage());
      case "EstLambda":
        return () => stage().estimator.rate;
      case "EstRho":
        return () => stage().estimator.load;
      case "EstWait":
        return () => stage().estimator.meanWait;
      case "Price":
        return () => {
          const estimator = stage().estimator;
          const hit = a!();
          return estimator.price(hit, b!());
        };
      default:
        throw new RunError(`\`${name}\` takes no stage`);
    }
  }
}

function jobsInService(stage: StageState): number {
  if (stage.engine !== null) return stage.engine.running?.jobs.length ?? 0;
  return stage.kind === "fifo" ? stage.jobs.size : stage.present;
}
