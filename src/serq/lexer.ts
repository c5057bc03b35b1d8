/** Text to tokens, comments and white space dropped. Ends with one token of kind `end`. */
import { Source, type Span } from "./diagnostic.ts";
import { parseError } from "./messages.ts";
import { OPERATORS, type Token, type TokenKind } from "./tokens.ts";

const SPACE = /\s*/uy;
const NAME = /[\p{Alphabetic}_][\p{Alphabetic}\p{N}_]*/uy;
const NUMBER = /(?:\d|\.(?=\d))[\d._]*(?:[eE][+-]?\d+)?/y;
const DECIMAL = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

export const TOKENS_MAX = 100_000;

export function lex(source: Source): Token[] {
  const { text } = source;
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  for (;;) {
    at = skipBlank(source, at);
    if (at >= text.length) break;
    const [kind, taken, value] = one(source, at, take);
    const span = { source, start: at, end: at + taken.length };
    if (kind === "number" && Number.isNaN(value)) throw parseError("bad_number", span, taken);
    tokens.push({ kind, text: kind === "string" ? taken.slice(1, -1) : taken, value, at: span });
    at += taken.length;
    if (tokens.length > TOKENS_MAX) throw parseError("too_many_tokens", span);
  }
  const end = { source, start: text.length, end: text.length };
  tokens.push({ kind: "end", text: "", value: 0, at: end });
  return tokens;
}

function one(
  source: Source,
  at: number,
  take: (pattern: RegExp) => string | undefined,
): [TokenKind, string, number] {
  const { text } = source;
  const name = take(NAME);
  if (name !== undefined) return ["name", name, 0];
  const number = take(NUMBER);
  if (number !== undefined) {
    const plain = number.replaceAll("_", "");
    return ["number", number, DECIMAL.test(plain) ? Number(plain) : NaN];
  }
  if (text[at] === '"') {
    const end = text.indexOf('"', at + 1);
    if (end < 0) throw parseError("unterminated_string", span(source, at, 1));
    return ["string", text.slice(at, end + 1), 0];
  }
  const operator = OPERATORS.find((each) => text.startsWith(each, at));
  if (operator !== undefined) return ["operator", operator, 0];
  const character = String.fromCodePoint(text.codePointAt(at)!);
  throw parseError("unexpected_character", span(source, at, character.length), character);
}

function skipBlank(source: Source, from: number): number {
  const { text } = source;
  let at = from;
  for (;;) {
    SPACE.lastIndex = at;
    at += SPACE.exec(text)![0].length;
    if (text.startsWith("//", at)) {
      const end = text.indexOf("\n", at);
      at = end < 0 ? text.length : end;
    } else if (text.startsWith("/*", at)) {
      const end = text.indexOf("*/", at + 2);
      if (end < 0) throw parseError("unterminated_comment", span(source, at, 2));
      at = end + 2;
    } else return at;
  }
}

function span(source: Source, start: number, length: number): Span {
  return { source, start, end: start + length };
}
