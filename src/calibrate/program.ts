/**
 * A measured server as a serQ program: examples/serq/stream_server.sq with the measured constants as
 * the values of its inputs. The program that comes out stands alone.
 */
import { assert } from "../base/assert.ts";

/** Values of the program's inputs, by their names. */
export type Constants = Readonly<Record<string, number>>;

const DIGITS = 6;

/** `template` with other default values, under a heading. Every constant must be an input of it. */
export function writeProgram(
  template: string,
  constants: Constants,
  heading: readonly string[],
): string {
  let text = template;
  for (const [name, value] of Object.entries(constants)) {
    const declared = new RegExp(`(args\\.number\\("${name}", )[^)]*\\)`);
    assert(declared.test(text), `the program has an input ${name}`);
    text = text.replace(declared, `$1${plain(value)})`);
  }
  return `${heading.map((line) => `// ${line}`.trimEnd()).join("\n")}\n//\n${text}`;
}

/** As serQ writes numbers. */
function plain(value: number): string {
  return String(Number(value.toPrecision(DIGITS)));
}
