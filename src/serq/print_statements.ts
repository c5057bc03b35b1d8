/** Statements as text. */
import type { Binding, Block, Endpoint, HoldPart, Placement, RefNode, StmtNode } from "./ast.ts";
import { printExpr, printRef } from "./print_expressions.ts";
import { braces, sized } from "./print_lines.ts";

type Lines = string[];

export function printBlock(head: string, body: Block, tail = ""): Lines {
  return braces(head, body.flatMap(printStatement), tail);
}

function printStatement(node: StmtNode): Lines {
  switch (node.kind) {
    case "turn":
    case "end":
    case "join":
      return [`${node.kind};`];
    case "set":
      return [`${node.how} ${node.name.text} = ${printExpr(node.value)};`];
    case "record": {
      const fields = node.fields.map(({ name, value }) => `${name.text}: ${printExpr(value)}`);
      return [`Cost ${node.name.text} = { ${fields.join(", ")} };`];
    }
    case "observe":
      return [`observe ${node.name.text} = ${printExpr(node.value)};`];
    case "hold":
      return printHold(node);
    case "grow":
    case "load":
      return [`${node.kind} ${printRef(node.pool)} (${printExpr(node.amount)});`];
    case "drop":
    case "release":
      return [`${node.kind} ${printRef(node.pool)};`];
    case "run": {
      const stages = node.stages.map(printRef).join(", ");
      const words = ["run", stages, node.mode ?? ""].filter((word) => word !== "");
      const growing = node.growing === null ? "" : ` growing ${printRef(node.growing)}`;
      return [`${words.join(" ")} (${printExpr(node.work)})${growing};`];
    }
    case "branch": {
      const head = `branch ${node.chance ? "with " : ""}(${printExpr(node.test)})`;
      const then = printBlock(head, node.then);
      if (node.otherwise === null) return then;
      const [first, ...rest] = printBlock("else", node.otherwise);
      return [...then.slice(0, -1), `${then.at(-1)} ${first}`, ...rest];
    }
    case "while":
      return printBlock(`while (${printExpr(node.test)})`, node.body);
    case "loop":
    case "fork":
      return printBlock(node.kind, node.body);
    case "choose": {
      const keys = node.keys.map(printExpr).join(", ");
      return [`choose ${node.name.text} in ${printExpr(node.count)} by (${keys});`];
    }
    case "mark":
      return [`mark ${node.name.text};`];
    case "enter": {
      const queue = sized(node.queue.text, node.index, () => printExpr(node.index!));
      const from = node.from === null ? "" : ` from ${printRef(node.from)}`;
      const to = node.to === null ? "" : ` to ${printEndpoint(node.to)}`;
      return [`${queue}.${node.verb.text} (${node.args.map(printExpr).join(", ")})${from}${to};`];
    }
    case "expand":
      return [`${node.name.text}(${node.args.map(printExpr).join(", ")});`];
    case "tool":
      return [`tool${printPlacement(node.place)} (${printExpr(node.work)});`];
    case "transfer":
      return [
        `transfer${printPlacement(node.place)} (${printExpr(node.work)}) from ` +
        `${printRef(node.from)} to ${printEndpoint(node.to)};`,
      ];
  }
}

function printPlacement({ index, on }: Placement): string {
  if (index !== null) return `[${printExpr(index)}]`;
  return on.length === 0 ? "" : ` on ${on.map((ref: RefNode) => printRef(ref)).join(", ")}`;
}

function printEndpoint({ pool, amount }: Endpoint): string {
  return `${printRef(pool)} (${printExpr(amount)})`;
}

function printHold(node: Extract<StmtNode, { kind: "hold" }>): Lines {
  const parts = node.parts.map(({ pool, units, reserve }: HoldPart) => {
    const kept = reserve === null ? "" : ` reserve (${printExpr(reserve)})`;
    return `${printRef(pool)} (${printExpr(units)})${kept}`;
  });
  const reuse = node.reuse === null ? "" : ` reuse (${printExpr(node.reuse)})`;
  const bound = node.bindings.map(({ name, value }: Binding) =>
    `${name.text} = ${printExpr(value)}`
  );
  const admission = bound.length === 0 ? "" : ` at admission (${bound.join(", ")})`;
  const cache = node.cache === null ? "" : ` cache (${printExpr(node.cache)})`;
  const lease = node.lease === null ? "" : ` lease ${printEndpoint(node.lease)}`;
  const tail = `${cache}${lease}`;
  return printBlock(`hold ${parts.join(", ")}${reuse}${admission}`, node.body, tail && `${tail};`);
}
