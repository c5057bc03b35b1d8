/**
 * `print`: a tree as text, one way to write everything. Parsing the text gives the same tree but for
 * places; comments are not kept. Parentheses stand where precedence needs them and nowhere else.
 */
import type { ArriveNode, DefNode, Item, ProgramNode, WorkloadItem } from "./ast.ts";
import {
  printDevice,
  printEngine,
  printPool,
  printQueue,
  printStageKind,
} from "./print_declarations.ts";
import { printExpr, printRef } from "./print_expressions.ts";
import { braces, indent, sized } from "./print_lines.ts";
import { printBlock } from "./print_statements.ts";

type Lines = string[];

export function print({ before, items }: ProgramNode): string {
  const main = items.flatMap(printItem).map(indent);
  return [...before.flatMap(printItem), "fn main() {", ...main, "}", ""].join("\n");
}

function printItem(item: Item): Lines {
  switch (item.kind) {
    case "use":
      return [`use "${item.path}";`];
    case "def":
      return printDef(item);
    case "let":
      return [`let ${item.name.text} = ${printExpr(item.value)};`];
    case "argument":
      return [`let ${item.name.text} = args.number("${item.input}", ${printExpr(item.value)});`];
    case "pool":
      return printPool(item);
    case "stage": {
      const name = sized(item.name.text, item.count, () => printExpr(item.count!));
      return [`stage ${name} : ${printStageKind(item.stage)};`];
    }
    case "device":
      return printDevice(item);
    case "engine":
      return printEngine(item, false);
    case "queue":
      return printQueue(item);
    case "relation": {
      const latency = item.latency === null ? "" : ` latency ${printExpr(item.latency)}`;
      return [`${item.left.text} ${item.verb} ${item.right.text}${latency} share ${item.policy};`];
    }
    case "share":
      return [`share ${item.policy};`];
    case "workload":
      return braces("workload", item.items.flatMap(printWorkloadItem));
    case "server":
      return printBlock("server", item.body);
    case "gauge":
      return [`gauge ${item.name.text} = ${printExpr(item.value)};`];
    case "claim":
      return [printClaim(item)];
  }
}

function printClaim(item: Extract<Item, { kind: "claim" }>): string {
  const given = item.given === null ? "" : ` given (${printExpr(item.given)})`;
  const when = item.engine === null
    ? "at end"
    : `${item.when} iteration of ${printRef(item.engine)}`;
  return `claim ${item.name.text}${given} : ${when} (${printExpr(item.value)});`;
}

function printDef({ name, params, body }: DefNode): Lines {
  const head = `def ${name.text}(${params.map(({ text }) => text).join(", ")})`;
  if (body.kind === "expression") return [`${head} { ${printExpr(body.value)} }`];
  return printBlock(head, body.block);
}

function printWorkloadItem(item: WorkloadItem): Lines {
  switch (item.kind) {
    case "arrive":
      return [`arrive ${printArrive(item.arrive)};`];
    case "trace":
      return [`trace "${item.path}"${item.ordered ? " ordered" : ""};`];
    case "hidden":
      return [`hidden ${item.names.map(({ text }) => text).join(", ")};`];
    default:
      return printBlock(item.kind, item.body);
  }
}

function printArrive(arrive: ArriveNode): string {
  return arrive.kind === "none" ? "none" : `${arrive.kind}(${printExpr(arrive.value)})`;
}
