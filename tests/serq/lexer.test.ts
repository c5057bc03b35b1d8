/** Text to tokens. */
import { expect, test } from "bun:test";
import { Source } from "../../src/serq/diagnostic.ts";
import { lex } from "../../src/serq/lexer.ts";

const kinds = (text: string): string[] =>
  lex(new Source("t", text)).map(({ kind, text: own }) =>
    kind === "end" ? "end" : `${kind} ${own}`
  );
const numbers = (text: string): number[] =>
  lex(new Source("t", text)).filter(({ kind }) => kind === "number").map(({ value }) => value);
const place = (text: string): string => {
  try {
    lex(new Source("t", text));
  } catch (error) {
    return (error as Error & { render(): string }).render().split("\n")[0]!;
  }
  return "fine";
};

test("numbers", () => {
  expect(numbers("0 1_000 .5 1. 2e3 1.5e-1 1E+2 007")).toEqual([
    0,
    1000,
    0.5,
    1,
    2000,
    0.15,
    100,
    7,
  ]);
  expect(kinds("1e")).toEqual(["number 1", "name e", "end"]);
  expect(kinds("1e+")).toEqual(["number 1", "name e", "operator +", "end"]);
  expect(place("x 1.2.3")).toBe("t: 1:3: bad number `1.2.3`");
  expect(place("1..2")).toBe("t: 1:1: bad number `1..2`");
  expect(kinds("a.b .c")).toEqual([
    "name a",
    "operator .",
    "name b",
    "operator .",
    "name c",
    "end",
  ]);
});

test("names, operators and texts", () => {
  expect(kinds("été _x x1 λ")).toEqual(["name été", "name _x", "name x1", "name λ", "end"]);
  expect(kinds("<=<!==&&||")).toEqual([
    ...[
      "operator <=",
      "operator <",
      "operator !=",
      "operator =",
      "operator &&",
      "operator ||",
      "end",
    ],
  ]);
  expect(kinds('"a // b"')).toEqual(["string a // b", "end"]);
  expect(place("a & b")).toBe("t: 1:3: unexpected character `&`");
  expect(place("a\n  😀")).toBe("t: 2:3: unexpected character `😀`");
  expect(place('use "abc')).toBe("t: 1:5: unterminated string");
});

test("comments", () => {
  expect(kinds("a // b\nc /* d\n e */ f")).toEqual(["name a", "name c", "name f", "end"]);
  expect(kinds("/* a /* b */ c")).toEqual(["name c", "end"]);
  expect(place("a\n  /* b")).toBe("t: 2:3: unterminated block comment");
});

test("a column counts characters, not code units; lines end as they like", () => {
  const source = new Source("t", "😀😀x\r\ny\nz");
  expect(source.place(4)).toEqual({ line: 1, column: 3 });
  expect(source.place(7)).toEqual({ line: 2, column: 1 });
  expect(source.line(1)).toBe("😀😀x");
  expect(source.line(3)).toBe("z");
});
