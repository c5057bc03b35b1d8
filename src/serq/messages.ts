/**
 * The door to every text that a program is refused with: `parseError` for what the text says wrongly,
 * `linkError` for what its parts mean together. Texts stand in messages_parse.ts and messages_link.ts,
 * each under a code; tests/serq/messages.test.ts provokes every one.
 */
import { SerqError, type Span } from "./diagnostic.ts";
import { LINK } from "./messages_link.ts";
import { PARSE } from "./messages_parse.ts";

export type ParseCode = keyof typeof PARSE;
export type LinkCode = keyof typeof LINK;

export const PARSE_CODES: readonly string[] = Object.keys(PARSE);
export const LINK_CODES: readonly string[] = Object.keys(LINK);

type Texts = Readonly<Record<string, (...args: never[]) => Parameters<typeof make>[2]>>;

export function parseError<C extends ParseCode>(
  code: C,
  at: Span,
  ...args: Parameters<(typeof PARSE)[C]>
): SerqError {
  return make(code, "parse", call(PARSE, code, args), at);
}

export function linkError<C extends LinkCode>(
  code: C,
  at: Span | null,
  ...args: Parameters<(typeof LINK)[C]>
): SerqError {
  return make(code, "link", call(LINK, code, args), at);
}

const ARGUMENT = {
  unknown_argument: (name: string) => `unknown program argument \`${name}\``,
  unknown_definition: (name: string) => `no definition of an expression is named \`${name}\``,
  trace_header: (names: string) => `the trace's first line lacks the column(s) ${names}`,
  trace_line: (line: string) => `line ${line}: a trace holds finite numbers`,
  not_a_number: (text: string) => `\`${text}\` is not a constant number`,
};

export const ARGUMENT_CODES: readonly string[] = Object.keys(ARGUMENT);

/** An error about a value that was given from outside: it has no place in the text. */
export function argumentError(code: keyof typeof ARGUMENT, what: string, near?: string): SerqError {
  const help = near === undefined ? undefined : `did you mean \`${near}\`?`;
  return make(code, "argument", { text: ARGUMENT[code](what), help }, null);
}

function call(texts: Texts, code: string, args: readonly unknown[]): Parameters<typeof make>[2] {
  return texts[code]!(...args as never[]);
}

function make(
  code: string,
  phase: ConstructorParameters<typeof SerqError>[1],
  message: ConstructorParameters<typeof SerqError>[2],
  at: Span | null,
): SerqError {
  return new SerqError(code, phase, message, at);
}
