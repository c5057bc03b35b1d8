/** Lines of a printed program: indented, in braces. */

type Lines = string[];

export function indent(line: string): string {
  return line === "" ? "" : `  ${line}`;
}

/** `head {`, the body one step in, `}tail`. */
export function braces(head: string, body: readonly string[], tail = ""): Lines {
  if (body.length === 0) return [`${head} { }${tail}`];
  return [`${head} {`, ...body.map(indent), `}${tail}`];
}

export function sized(name: string, count: { kind: string } | null, text: () => string): string {
  return count === null ? name : `${name}[${text()}]`;
}
