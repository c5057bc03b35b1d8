/** Expressions as text, with the fewest parentheses that keep their shape. */
import type { BinaryText, ExprNode, RefNode } from "./ast.ts";

const CONDITIONAL = 0;
const LEVELS: readonly (readonly BinaryText[])[] = [
  ["||"],
  ["&&"],
  ["<", "<=", ">", ">=", "==", "!="],
  ["+", "-"],
  ["*", "/"],
];
const COMPARISON = 3;
const PREFIX = LEVELS.length + 1;
const POWER = PREFIX + 1;
const ATOM = POWER + 1;

function levelOf(node: ExprNode): number {
  if (node.kind === "cond") return CONDITIONAL;
  if (node.kind === "unary" || node.kind === "draw") return PREFIX;
  if (node.kind !== "binary") return ATOM;
  if (node.op === "^") return POWER;
  return LEVELS.findIndex((operators) => operators.includes(node.op)) + 1;
}

export function printExpr(node: ExprNode): string {
  switch (node.kind) {
    case "number":
      return printNumber(node.value);
    case "ref":
      return printRef(node.ref);
    case "call":
      return `${node.name.text}(${node.args.map(printExpr).join(", ")})`;
    case "draw":
      return `~${node.name.text}(${node.args.map(printExpr).join(", ")})`;
    case "unary":
      return `${node.op}${within(node.operand, PREFIX)}`;
    case "cond": {
      const test = within(node.test, CONDITIONAL + 1);
      return `${test} ? ${printExpr(node.then)} : ${printExpr(node.otherwise)}`;
    }
    case "over": {
      const plain = node.count.kind === "number" ||
        (node.count.kind === "ref" && node.count.ref.member === null);
      const count = plain ? printExpr(node.count) : `(${printExpr(node.count)})`;
      return `${node.op} ${node.variable.text} in ${count} (${printExpr(node.body)})`;
    }
    case "binary":
      return printBinary(node);
  }
}

function printBinary(node: Extract<ExprNode, { kind: "binary" }>): string {
  if (node.op === "^") return `${within(node.left, ATOM)} ^ ${within(node.right, PREFIX)}`;
  const level = levelOf(node);
  // Comparisons do not chain, so both sides of one stand a level higher.
  const left = within(node.left, level === COMPARISON ? level + 1 : level);
  return `${left} ${node.op} ${within(node.right, level + 1)}`;
}

function within(node: ExprNode, least: number): string {
  const text = printExpr(node);
  return levelOf(node) < least ? `(${text})` : text;
}

/** A number has no sign in the text; one past the largest is infinite. */
export function printNumber(value: number): string {
  return value === Infinity ? "1e999" : String(value).replace("e+", "e");
}

export function printRef({ base, index, member }: RefNode): string {
  const indexed = index === null ? "" : `[${printExpr(index)}]`;
  return `${base.text}${indexed}${member === null ? "" : `.${member.text}`}`;
}
