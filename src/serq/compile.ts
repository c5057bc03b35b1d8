/** `compile`: a program's text to its IR, checked; or a SerqError. */
import type { ExprNode } from "./ast.ts";
import { check, checkSettings } from "./check.ts";
import { Source } from "./diagnostic.ts";
import type { Program } from "./ir.ts";
import { lex } from "./lexer.ts";
import { lower, lowerAlone, type Lowered } from "./lower.ts";
import { fold } from "./lower_constants.ts";
import { argumentError } from "./messages.ts";
import { parseLibrary, parseProgram } from "./parse.ts";
import { Cursor } from "./parser.ts";
import { parseExpr } from "./parser_expressions.ts";

export interface CompileOptions {
  /** How errors name the text. */
  readonly name?: string;
  /** The time at which the run ends, above 0; null: the program is only checked. */
  readonly horizon?: number | null;
  readonly warmup?: number;
  readonly seed?: number;
  /** So many open arrivals, then drain. */
  readonly arrivals?: number | null;
  /** Values of `args.number` inputs. */
  readonly inputs?: ReadonlyMap<string, number>;
  /** Other bodies for definitions of expressions, as text. */
  readonly definitions?: ReadonlyMap<string, string>;
  /** The text of a library that `use` names in the file `from`. */
  readonly library?: (path: string, from: string) => { text: string; name: string } | null;
}

/** Parses, lowers and checks; a program without horizon is fit for drawing and counting only. */
export function compileForReading(text: string, options: CompileOptions = {}): Lowered {
  const node = parseProgram(text, options.name);
  const inputs = {
    values: options.inputs ?? new Map(),
    definitions: new Map(
      [...options.definitions ?? []].map(([name, body]) => [name, parseAlone(body, "--def")]),
    ),
    library: options.library ?? (() => null),
    parseLibrary,
  };
  const { horizon = null, warmup = 0, seed = 1, arrivals = null } = options;
  const lowered = lower(node, inputs, { horizon, warmup, seed, arrivals });
  check(lowered);
  return lowered;
}

/** The IR of a program that runs. */
export function compile(text: string, options: CompileOptions = {}): Program {
  const lowered = compileForReading(text, options);
  checkSettings(lowered);
  return lowered.program;
}

/** The value of a constant expression given from outside, as `--set n=2*8` does. */
export function evaluateConstant(text: string): number {
  const value = fold(lowerAlone(parseAlone(text, "--set")));
  if (value === null || Number.isNaN(value)) throw argumentError("not_a_number", text);
  return value;
}

function parseAlone(text: string, name: string): ExprNode {
  const cursor = new Cursor(lex(new Source(name, text)));
  const node = parseExpr(cursor);
  if (cursor.token.kind !== "end") throw cursor.expected("the end");
  return node;
}
