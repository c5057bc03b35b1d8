/** Entries that no request uses, as calls: they are checked, and are no part of the program. */
import type { ExprNode, StmtNode } from "./ast.ts";
import type { QueueInfo, Tables } from "./lower_context.ts";

/** A call for each entry that nothing calls, with numbers for its parameters. */
export function callsOfUnused(tables: Tables): StmtNode[] {
  const calls: StmtNode[] = [];
  for (const queue of tables.queues.values()) {
    for (const entry of queue.entries) {
      if (tables.called.has(entry) || entry.verb.text === "transfer") continue;
      const { at } = entry.verb;
      const zero: ExprNode = { kind: "number", value: 0, at };
      const source = entry.from === null ? null : sourceOf(tables, queue, entry.from.text);
      if (source === undefined) continue;
      const from = source === null ? null : {
        base: { text: source.name, at },
        index: source.many ? zero : null,
        member: null,
        at,
      };
      const [index, args] = [queue.many ? zero : null, entry.params.map((): ExprNode => zero)];
      const name = { text: queue.name, at };
      calls.push({ kind: "enter", queue: name, index, verb: entry.verb, args, from, to: null, at });
    }
  }
  return calls;
}

function sourceOf(tables: Tables, reader: QueueInfo, name: string): QueueInfo | undefined {
  return tables.relations.find((each) => each.reader === reader)?.source ?? tables.queues.get(name);
}
