/**
 * Writes docs/errors.md from the list of errors. With `--check` it writes nothing and exits with 1
 * when the page is stale.
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ERRORS } from "../src/base/errors.ts";

const PAGE = fileURLToPath(new URL("../docs/errors.md", import.meta.url).href);

const HEAD = ["code", "status", "what it means", "what to do"];

export function errorsPage(): string {
  const kinds = Object.entries(ERRORS).sort(([codeA, a], [codeB, b]) =>
    a.status - b.status || (codeA < codeB ? -1 : 1)
  );
  const rows = kinds.map(([code, { status, title, action }]) => [
    `\`${code}\``,
    String(status),
    title,
    action.replaceAll("|", "\\|"),
  ]);
  const widths = HEAD.map((head, i) => Math.max(head.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  const table = [HEAD, widths.map((width) => "-".repeat(width)), ...rows].map(line);
  return `# Errors

Every error has a stable \`code\` of this list. Over HTTP it is an RFC 9457 problem document
(\`application/problem+json\`) with \`type\`, \`title\`, \`status\`, \`detail\`, \`code\`, \`action\`,
\`request_id\`, and facts that depend on the code: the numbers that the sentence in \`detail\` names. On
the command line it is one sentence on standard error. Answers that are worth repeating carry
\`Retry-After\`.

This page is made from \`src/base/errors.ts\` by \`tools/gen_errors_doc.ts\`; do not edit it.

${table.join("\n")}
`;
}

function main(): void {
  const wanted = errorsPage();
  if (!process.argv.includes("--check")) return writeFileSync(PAGE, wanted);
  if (readFileSync(PAGE, "utf8") === wanted) return;
  console.error("docs/errors.md is stale: run tools/gen_errors_doc.ts");
  process.exitCode = 1;
}

if (import.meta.main) main();
