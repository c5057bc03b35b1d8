/**
 * Where something stands in a program's text, and the error that says what is wrong with it: one line,
 * the source with carets, notes, and what to write instead. Texts come from messages.ts only.
 */

/** A text with a name, which knows its lines. A column counts Unicode scalar values from 1. */
export class Source {
  readonly name: string;
  readonly text: string;
  #lineStarts: number[] | undefined;

  constructor(name: string, text: string) {
    this.name = name;
    this.text = text;
  }

  /** Line and column, both from 1, of a UTF-16 offset. */
  place(offset: number): { line: number; column: number } {
    const starts = this.#starts();
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    const before = this.text.slice(starts[low], offset);
    return { line: low + 1, column: [...before].length + 1 };
  }

  /** A line without its end, counted from 1. */
  line(line: number): string {
    const starts = this.#starts();
    const end = starts[line] === undefined ? this.text.length : starts[line]! - 1;
    return this.text.slice(starts[line - 1], end).replace(/\r$/, "");
  }

  #starts(): number[] {
    if (this.#lineStarts === undefined) {
      this.#lineStarts = [0];
      for (let at = this.text.indexOf("\n"); at >= 0; at = this.text.indexOf("\n", at + 1)) {
        this.#lineStarts.push(at + 1);
      }
    }
    return this.#lineStarts;
  }
}

/** `[start, end)` in UTF-16 offsets. */
export interface Span {
  readonly source: Source;
  readonly start: number;
  readonly end: number;
}

/** `parse`: the text; `link`: what the text means together; `argument`: a value given from outside. */
export type Phase = "parse" | "link" | "argument";

/** What a message of messages.ts says. */
export interface Message {
  readonly text: string;
  readonly help?: string | undefined;
  readonly notes?: readonly string[];
}

/** A program that cannot be taken. `message` is its one line. */
export class SerqError extends Error {
  readonly code: string;
  readonly phase: Phase;
  readonly at: Span | null;
  readonly help: string | undefined;
  notes: readonly string[];

  constructor(code: string, phase: Phase, { text, help, notes = [] }: Message, at: Span | null) {
    super(phase === "link" ? `link error: ${text}` : text);
    this.name = "SerqError";
    this.code = code;
    this.phase = phase;
    this.at = at;
    this.help = help;
    this.notes = notes;
  }

  /** `FILE: LINE:COL: message`, the line with carets, help and notes; no line end at the end. */
  render(file?: string): string {
    const where = file ?? this.at?.source.name;
    const lines = [where === undefined ? "" : `${where}: `];
    if (this.at === null) lines[0] += this.message;
    else {
      const { line, column } = this.at.source.place(this.at.start);
      lines[0] += `${line}:${column}: ${this.message}`;
      lines.push(...excerpt(this.at));
    }
    for (const note of this.notes) lines.push(`note: ${note}`);
    if (this.help !== undefined) lines.push(`help: ${this.help}`);
    return lines.join("\n");
  }
}

/** The line of the source, and carets under the part that is meant. Tabs stay tabs. */
function excerpt({ source, start, end }: Span): string[] {
  const { line } = source.place(start);
  const text = source.line(line);
  const lineStart = source.text.lastIndexOf("\n", start - 1) + 1;
  const indent = text.slice(0, start - lineStart).replaceAll(/[^\t]/gu, " ");
  const marked = source.text.slice(start, Math.min(end, lineStart + text.length));
  const gutter = " ".repeat(String(line).length);
  return [
    `${line} | ${text}`,
    `${gutter} | ${indent}${"^".repeat(Math.max(1, [...marked].length))}`,
  ];
}

/** "2:9", for notes that point elsewhere. */
export function placeText({ source, start }: Span): string {
  const { line, column } = source.place(start);
  return `${line}:${column}`;
}

export function spanFrom(first: Span, last: Span): Span {
  return { source: first.source, start: first.start, end: Math.max(first.end, last.end) };
}
