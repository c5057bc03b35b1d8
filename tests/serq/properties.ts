/**
 * What random serQ texts must hold, for the gate's short runs of it and the campaign's long ones: each
 * property throws where it fails, and else says how it ended.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import type { ProgramNode } from "../../src/serq/ast.ts";
import {
  compile,
  compileForReading,
  Interpreter,
  parseProgram,
  print,
  type Program,
  RunError,
  SerqError,
} from "../../src/serq/mod.ts";
import { CASES, EXAMPLES } from "./corpus.ts";
import { bare } from "./trees.ts";

/** Printing loses nothing: what is parsed from a printed tree is the tree. */
export function printAndParse(tree: ProgramNode): "equal" {
  const text = print(tree);
  const again = parseProgram(text);
  assert.deepEqual(bare(again), bare(tree));
  assert.equal(print(again), text);
  return "equal";
}

const TEXTS = [...CASES.map(({ source }) => source), ...EXAMPLES.map(({ text }) => text)];
const PIECES = [
  ...'{ } ( ) [ ] ; , . : = ~ ? + - * / ^ < > ! & | " @ # é 0 1 9 e _ \n \t'.split(" "),
  ...'hold run set cost( kv llm inf now [0] .x 1e9 1.2.3 /* // "'.split(" "),
  ..."0/0 max j in 3 (j) tool transfer from to at admission (".split("  "),
];

interface Edit {
  readonly place: number;
  readonly drop: number;
  readonly insert: string;
}

const edit: fc.Arbitrary<Edit> = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  drop: fc.oneof(fc.nat(3), fc.nat(40)),
  insert: fc.oneof(
    fc.constant(""),
    fc.constantFrom(...PIECES),
    fc.string({ maxLength: 4 }),
  ),
});

function apply(text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, { place, drop, insert }) => {
    const start = Math.floor(place * before.length);
    return before.slice(0, start) + insert + before.slice(start + drop);
  }, text);
}

/** Programs with one to three places damaged. */
export const damaged: fc.Arbitrary<string> = fc.tuple(
  fc.constantFrom(...TEXTS),
  fc.array(edit, { minLength: 1, maxLength: 3 }),
).map(([text, edits]) => apply(text, edits));

/** A damaged program is told where and what, or still is a program; nothing else ever happens. */
export function compileOrRefuse(text: string): "compiled" | "refused" {
  try {
    compileForReading(text);
    return "compiled";
  } catch (error) {
    if (!(error instanceof SerqError)) throw error;
    const { start, end, source } = error.at!;
    assert(start >= 0 && end >= start && end <= source.text.length);
    assert(error.render().includes(error.message));
    return "refused";
  }
}

const EVENTS_MAX = 3000;
export const HORIZON = 25;

const list = new URL("../oracles/serq_front_end.txt", import.meta.url);
const RUNNABLE = [
  ...CASES.filter(({ kind }) => kind === "run").map(({ source }) => source),
  ...EXAMPLES.map(({ text }) => text),
  ...readFileSync(list, "utf8").split("\n").filter((line) => line.includes("workload")),
].filter((text) => accepted(text) !== null);

const TOKEN =
  /\s+|\/\/[^\n]*|"[^"]*"|[\p{L}_][\p{L}\p{N}_]*|[\d.][\d._]*(?:e[+-]?\d+)?|[<>=!]=|&&|\|\||./gsu;

/** Numbers replaced by others or by what moves, now and then a name by another of the program. */
export const changed: fc.Arbitrary<string> = fc.record({
  text: fc.constantFrom(...RUNNABLE),
  places: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(9)), { minLength: 1, maxLength: 4 }),
  number: fc.constantFrom("0", "1", "2", "3", "7", "0.5", "inf", "serial", "now", "turn_no"),
}).map(({ text, places, number }) => {
  const tokens = text.match(TOKEN)!;
  const [names, numbers] = [/^[\p{L}_]/u, /^\d/].map((kind) =>
    tokens.flatMap((token, i) => kind.test(token) ? [i] : [])
  ) as [number[], number[]];
  for (const [place, other, choice] of places) {
    if (choice > 0) tokens[numbers[place % numbers.length]!] = number;
    else tokens[names[place % names.length]!] = tokens[names[other % names.length]!]!;
  }
  return tokens.join("");
});

function accepted(text: string): Program | null {
  try {
    return compile(text, { horizon: HORIZON });
  } catch (error) {
    if (error instanceof SerqError) return null;
    throw error;
  }
}

/**
 * What the checker accepts runs: to its horizon or to an error of the run, with time that never goes
 * back and nothing leaked at any event.
 */
export function runIfAccepted(text: string): "refused" | "ran" | "failed in words" {
  const program = accepted(text);
  if (program === null) return "refused";
  const corpus = [[{ new: 3, out: 2, think: 1, forced: 0 }, {
    new: 5,
    out: 1,
    think: 0,
    forced: 0,
  }]];
  try {
    const interpreter = new Interpreter(program, { integrity: true, corpus });
    let before = 0;
    for (let count = 0; count < EVENTS_MAX && interpreter.step(); count += 1) {
      assert(interpreter.machine.now >= before);
      before = interpreter.machine.now;
    }
    interpreter.finish();
    return "ran";
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    return "failed in words";
  }
}
