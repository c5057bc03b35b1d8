/**
 * Writes docs/peers.md from the list of public reports (tests/conformance/peers_cases.ts). With `--check`
 * it writes nothing and exits with 1 when the page is stale.
 */
import { PEER_CASES, PEER_REMARKS } from "../tests/conformance/peers_cases.ts";
import { keepPage } from "./page.ts";
import { markdownTable } from "./markdown_table.ts";

export function peersPage(): string {
  const cases = PEER_CASES.toSorted((a, b) => a.report - b.report).map((each) => [
    String(each.report),
    each.source,
    each.what,
  ]);
  const remarks = PEER_REMARKS.toSorted((a, b) => a.report - b.report).map((each) => [
    String(each.report),
    each.source,
    each.why,
  ]);
  return `# What users of other frameworks reported

Seventy public reports about reading NIR, and about state, reset and streaming, in other frameworks.
Each that can be said as a file is a fixture: the file loads with the right value, or is refused by
a message that names node, field and remedy. \`tests/conformance/peers.test.ts\` runs them on every
executor, under these numbers.

${markdownTable(["", "report", "what the fixture holds"], cases)}

## Not a file

${markdownTable(["", "report", "why, and where it is tested instead"], remarks)}

This page is made by \`tools/gen_peers_doc.ts\`; do not edit it.
`;
}

if (import.meta.main) keepPage("docs/peers.md", peersPage(), "tools/gen_peers_doc.ts");
