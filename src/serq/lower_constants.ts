/** Constant folding: the value of an expression that reads nothing, as the interpreter would find it. */
import { type Expr, realValue } from "./ir.ts";
import { ln } from "./ln.ts";

/** The value, or null when the expression reads an attribute, a clock, a draw or a deployment. */
export function fold(expr: Expr): number | null {
  if ("Num" in expr) return realValue(expr.Num);
  if ("Cost" in expr) return fold(expr.Cost[1]);
  if ("Unary" in expr) {
    const value = fold(expr.Unary[1]);
    if (value === null) return null;
    return expr.Unary[0] === "Neg" ? -value : Number(value === 0);
  }
  if ("Binary" in expr) return foldBinary(...expr.Binary);
  if ("Cond" in expr) {
    const test = fold(expr.Cond[0]);
    if (test === null) return null;
    return fold(test !== 0 ? expr.Cond[1] : expr.Cond[2]);
  }
  if ("Call" in expr) return foldCall(expr);
  return null;
}

type BinaryParts = Extract<Expr, { Binary: unknown }>["Binary"];

function foldBinary(...[op, left, right]: BinaryParts): number | null {
  const a = fold(left);
  if (a === null) return null;
  if (op === "And" && a === 0) return 0;
  if (op === "Or" && a !== 0) return 1;
  const b = fold(right);
  if (b === null) return null;
  switch (op) {
    case "Add":
      return a + b;
    case "Sub":
      return a - b;
    case "Mul":
      return a * b;
    case "Div":
      return a / b;
    case "Pow":
      return power(a, b);
    case "Lt":
      return Number(a < b);
    case "Le":
      return Number(a <= b);
    case "Gt":
      return Number(a > b);
    case "Ge":
      return Number(a >= b);
    case "Eq":
      return Number(a === b);
    case "Ne":
      return Number(a !== b);
    case "And":
    case "Or":
      return Number(b !== 0);
  }
}

/** IEEE's pow: 1 to any power is 1, and so is anything to 0. */
export function power(a: number, b: number): number {
  return a === 1 || (a === -1 && !Number.isFinite(b) && !Number.isNaN(b)) ? 1 : a ** b;
}

function foldCall({ Call: [name, args] }: Extract<Expr, { Call: unknown }>): number | null {
  const values: number[] = [];
  for (const arg of args) {
    const value = "Expr" in arg ? fold(arg.Expr) : null;
    if (value === null) return null;
    values.push(value);
  }
  const [a, b] = [values[0]!, values[1]!];
  switch (name) {
    case "Min":
      return Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b);
    case "Max":
      return Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b);
    case "Abs":
      return Math.abs(a);
    case "Floor":
      return Math.floor(a);
    case "Ceil":
      return Math.ceil(a);
    case "Sqrt":
      return Math.sqrt(a);
    case "Exp":
      return Math.exp(a);
    case "Ln":
      return ln(a);
    default:
      return null;
  }
}

/** Whether the expression, evaluated, may draw. */
export function draws(expr: Expr): boolean {
  let found = false;
  walk(expr, (each) => {
    if ("Sample" in each) found = true;
  });
  return found;
}

/** Every expression inside, itself first, indices of references too. */
export function walk(expr: Expr, visit: (expr: Expr) => void): void {
  visit(expr);
  for (const child of childrenOf(expr)) walk(child, visit);
}

export function childrenOf(expr: Expr): Expr[] {
  if ("Cost" in expr) return [expr.Cost[1]];
  if ("Sample" in expr) return expr.Sample[1];
  if ("Unary" in expr) return [expr.Unary[1]];
  if ("Binary" in expr) return [expr.Binary[1], expr.Binary[2]];
  if ("Cond" in expr) return [...expr.Cond];
  if (!("Call" in expr)) return [];
  return expr.Call[1].flatMap((arg) => {
    if ("Expr" in arg) return [arg.Expr];
    const { index } = "Pool" in arg ? arg.Pool : arg.Stage;
    return index === null ? [] : [index];
  });
}
