/** Printing loses nothing: what is parsed from a printed tree is the tree. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseProgram, print } from "../../src/serq/mod.ts";
import { CASES, EXAMPLES } from "./corpus.ts";
import { bare, program } from "./trees.ts";

/** `SERQ_PROGRAMS=20000 bun test tests/serq/fuzz_print.test.ts` is the campaign. */
const PROGRAMS = Number(process.env.SERQ_PROGRAMS ?? 500);

test("parse, print, parse is the identity on random trees", () => {
  fc.assert(
    fc.property(program, (tree) => {
      const text = print(tree);
      const again = parseProgram(text);
      expect(bare(again)).toEqual(bare(tree));
      expect(print(again)).toBe(text);
    }),
    { numRuns: PROGRAMS },
  );
}, 600_000);

test("and on every program at hand", () => {
  const texts = [...CASES, ...EXAMPLES.map(({ file, text }) => ({ id: file, source: text }))];
  for (const { source } of texts) {
    const tree = tryParse(source);
    if (tree === null) continue;
    const text = print(tree);
    expect(bare(parseProgram(text))).toEqual(bare(tree));
    expect(print(parseProgram(text))).toBe(text);
  }
});

function tryParse(source: string) {
  try {
    return parseProgram(source);
  } catch {
    return null;
  }
}
