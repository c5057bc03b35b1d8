/** The cursor over the tokens that all parser files share: look, take, expect. */
import { type Span, spanFrom } from "./diagnostic.ts";
import { parseError } from "./messages.ts";
import { RESERVED, RETIRED, type Token } from "./tokens.ts";
import type { Name } from "./ast.ts";

/** Nesting of expressions and blocks; a deeper one would exhaust the stack of who walks the tree. */
export const DEPTH_MAX = 200;

export class Cursor {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get token(): Token {
    return this.#tokens[this.#at]!;
  }

  /** The token `ahead` of the present one; the end stays the end. */
  peek(ahead = 1): Token {
    return this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)]!;
  }

  /** Where the token before the present one stands. */
  get before(): Span {
    return this.#tokens[Math.max(0, this.#at - 1)]!.at;
  }

  /** From `first` to the last token that was taken. */
  since(first: Span): Span {
    return spanFrom(first, this.before);
  }

  next(): Token {
    const token = this.token;
    if (token.kind !== "end") this.#at += 1;
    return token;
  }

  is(text: string): boolean {
    return isText(this.token, text);
  }

  /** Whether the tokens from here on read so. */
  reads(...texts: readonly string[]): boolean {
    return texts.every((text, ahead) => isText(this.peek(ahead), text));
  }

  /** Takes the token if it reads so. */
  take(text: string): boolean {
    if (!this.is(text)) return false;
    this.next();
    return true;
  }

  expect(text: string): Token {
    if (!this.is(text)) throw this.expected(`\`${text}\``);
    return this.next();
  }

  /** A name in a place where any word may stand. */
  name(): Name {
    if (this.token.kind !== "name") throw this.expected("a name");
    const { text, at } = this.next();
    return { text, at };
  }

  string(): Token {
    if (this.token.kind !== "string") throw this.expected("a text in quotes");
    return this.next();
  }

  /** `what` is said as it stands. */
  expected(what: string): Error {
    return parseError("expected", this.token.at, what, describeToken(this.token));
  }

  /** Runs `body` one level deeper. */
  nested<T>(body: () => T): T {
    if (this.#depth >= DEPTH_MAX) throw parseError("too_deep", this.token.at, DEPTH_MAX);
    this.#depth += 1;
    const result = body();
    this.#depth -= 1;
    return result;
  }

  /** `item { "," item }` up to the closing token, which is taken; at least one unless `empty`. */
  list<T>(close: string, item: () => T, empty = false): T[] {
    const items: T[] = [];
    if (empty && this.take(close)) return items;
    do items.push(item()); while (this.take(","));
    this.expect(close);
    return items;
  }

  /** `{ item item … }`. */
  braces<T>(item: () => T): T[] {
    this.expect("{");
    return this.nested(() => {
      const items: T[] = [];
      while (!this.take("}")) {
        if (this.token.kind === "end") throw this.expected("`}`");
        items.push(item());
      }
      return items;
    });
  }
}

function isText(token: Token, text: string): boolean {
  return (token.kind === "operator" || token.kind === "name") && token.text === text;
}

export function describeToken({ kind, text }: Token): string {
  if (kind === "end") return "the end of the text";
  if (kind === "string") return `"${text}"`;
  return kind === "number" ? text : `\`${text}\``;
}

/** Refuses a name that the grammar takes for itself; `what` is being declared. */
export function refuseReserved(name: Name, what: string): void {
  if (RETIRED.has(name.text)) throw parseError("retired_name", name.at, name.text);
  if (RESERVED.has(name.text)) throw parseError("reserved_name", name.at, name.text, what);
}
