/** A Markdown table laid out as `deno fmt` lays it out. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((title, i) =>
    Math.max(title.length, ...escaped.map((row) => row[i]!.length))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  return [head, widths.map((width) => "-".repeat(width)), ...escaped].map(line).join("\n");
}
