/**
 * An instance: values for a program's inputs, and settings of a run, in a file of their own.
 * `let NAME = number;` and at most one `run { horizon T; warmup T; seed N; arrivals N; }`.
 */
import { Source } from "./diagnostic.ts";
import { lex } from "./lexer.ts";
import { lowerAlone } from "./lower.ts";
import { fold } from "./lower_constants.ts";
import { argumentError, parseError } from "./messages.ts";
import { Cursor } from "./parser.ts";
import { parseExpr } from "./parser_expressions.ts";

const SETTINGS = ["horizon", "warmup", "seed", "arrivals"] as const;
type Setting = typeof SETTINGS[number];

export interface Instance {
  readonly inputs: Map<string, number>;
  readonly settings: Partial<Record<Setting, number>>;
}

export function parseInstance(text: string, name: string): Instance {
  const cursor = new Cursor(lex(new Source(name, text)));
  const instance: Instance = { inputs: new Map(), settings: {} };
  while (cursor.token.kind !== "end") {
    if (cursor.take("let")) {
      const input = cursor.name();
      cursor.expect("=");
      instance.inputs.set(input.text, number(cursor));
      cursor.expect(";");
    } else if (cursor.take("run")) {
      cursor.braces(() => {
        const word = SETTINGS.find((each) => cursor.is(each));
        if (word === undefined) throw cursor.expected("a setting");
        cursor.next();
        instance.settings[word] = number(cursor);
        cursor.expect(";");
      });
    } else throw parseError("instance_item", cursor.token.at);
  }
  return instance;
}

function number(cursor: Cursor): number {
  const node = parseExpr(cursor);
  const value = fold(lowerAlone(node));
  if (value === null || Number.isNaN(value)) {
    throw argumentError("not_a_number", node.at.source.text.slice(node.at.start, node.at.end));
  }
  return value;
}
