/** Pages whose blocks are run: the blocks themselves, and what they say that they print. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";

/** All blocks of a language of a page, as one program. */
export function programOf(page: string, language: "ts" | "sh"): string {
  const text = readFileSync(join(ROOT, page), "utf8");
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm"))];
  expect(blocks.length).toBeGreaterThan(2);
  return blocks.map((match) => match[1]!).join("\n");
}

/** What a program says with `// → …` or `# → …` comes, in this order, among what it printed. */
export function expectPrinted(printed: string, program: string): void {
  const wanted = [...program.matchAll(/(?:\/\/|#) → (.*)$/gm)].map((match) => match[1]!);
  expect(wanted.length).toBeGreaterThan(5);
  let at = 0;
  for (const text of wanted) {
    const found = printed.indexOf(text, at);
    if (found < 0) {
      throw new Error(`"${text}" does not come after:\n${printed.slice(0, at)}\nin:\n${printed}`);
    }
    at = found + text.length;
  }
}
