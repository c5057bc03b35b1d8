/** Printing loses nothing, on random trees and on programs at hand. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseProgram } from "../../src/serq/mod.ts";
import { CASES, EXAMPLES } from "./corpus.ts";
import { printAndParse } from "./properties.ts";
import { program } from "./trees.ts";

/** `npm run campaign:serq` does more. */
const PROGRAMS = 500;

test("parse, print, parse is the identity on random trees", () => {
  fc.assert(
    fc.property(program, (tree) => {
      expect(printAndParse(tree)).toBe("equal");
    }),
    { numRuns: PROGRAMS },
  );
}, 60_000);

test("and on every program at hand", () => {
  const texts = [...CASES, ...EXAMPLES.map(({ file, text }) => ({ id: file, source: text }))];
  for (const { source } of texts) {
    const tree = tryParse(source);
    if (tree !== null) expect(printAndParse(tree)).toBe("equal");
  }
});

function tryParse(source: string) {
  try {
    return parseProgram(source);
  } catch {
    return null;
  }
}
