/**
 * Pages that commands write: one HTML file that needs nothing but itself, light or dark as the reader's
 * system is. No script; what comes from files or servers is escaped by `text`.
 */

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text as HTML, also within quotes. */
export const text = (value: string | number): string =>
  String(value).replace(/[&<>"']/g, (char) => ESCAPES[char]!);

export interface Page {
  readonly title: string;
  /** A line under the title; text. */
  readonly lead: string;
  /** HTML, in order. */
  readonly parts: readonly string[];
}

export function pageHtml({ title, lead, parts }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${text(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header><h1>${text(title)}</h1><p>${text(lead)}</p></header>
${parts.join("\n")}
</main>
</body>
</html>
`;
}

/** A number with what it is, and a remark under it. */
export interface Card {
  readonly name: string;
  readonly value: string;
  readonly remark: string;
  readonly mood?: "good" | "bad";
}

export const cards = (list: readonly Card[]): string =>
  `<section class="cards">${
    list.map(({ name, value, remark, mood = "" }) =>
      `<div class="card ${mood}"><h2>${text(name)}</h2><p class="value">${text(value)}</p>` +
      `<p class="remark">${text(remark)}</p></div>`
    ).join("")
  }</section>`;

/** A drawing with a heading and a sentence that says how to read it. */
export const figure = (heading: string, svg: string, caption: string): string =>
  `<figure><h2>${text(heading)}</h2><div class="wide" tabindex="0">${svg}</div>` +
  `<figcaption>${text(caption)}</figcaption></figure>`;

/** A table; the rows that `stands` names stand out. */
export function table(
  heading: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  stands: (row: number) => boolean = () => false,
): string {
  const cells = (row: readonly string[], tag: string, mark = "") =>
    `<tr${mark}>${
      row.map((cell, i) =>
        i === 0 ? `<th scope="row">${text(cell)}</th>` : `<${tag}>${text(cell)}</${tag}>`
      )
        .join("")
    }</tr>`;
  return `<section><h2>${text(heading)}</h2><div class="wide" tabindex="0"><table><thead>${
    cells(head, "th")
  }</thead><tbody>${
    rows.map((row, i) => cells(row, "td", stands(i) ? ' class="deciding"' : "")).join("")
  }</tbody></table></div></section>`;
}

export const banner = (sentence: string): string =>
  `<p class="banner" role="alert">${text(sentence)}</p>`;

const STYLE = `
:root{--page:#fafaf8;--panel:#fff;--ink:#1c1d20;--soft:#5d626b;--line:#dfe0e3;--grid:#ececee;
--a:#1f6fb2;--b:#c2571a;--c:#2c8a57;--d:#8a5bb5;--e:#a8862a;--f:#b8436f;--good:#1d7a4a;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--page:#141518;--panel:#1c1e22;--ink:#e8e9ec;--soft:#a2a7b0;
--line:#34373d;--grid:#282b30;--a:#6db3f2;--b:#f0935a;--c:#66c893;--d:#c19be6;--e:#dcbc62;--f:#ec86ac;
--good:#66c893;--bad:#ff8a80}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1240px;margin:0 auto;padding:32px 20px 64px}
header p{color:var(--soft);margin:4px 0 0;overflow-wrap:anywhere}
h1{font-size:26px;line-height:1.2;margin:0;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:15px;margin:0 0 8px}
section,figure{margin:28px 0 0}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px}

.card,figure,section:not(.cards){background:var(--panel);border:1px solid var(--line);
border-radius:10px;padding:16px}
.card h2{font-weight:500;color:var(--soft);margin:0;font-size:13px}
.value{white-space:nowrap;font-size:26px;line-height:1.25;font-weight:600;margin:2px 0;font-variant-numeric:tabular-nums}
.good .value{color:var(--good)}.bad .value{color:var(--bad)}
.remark,figcaption{color:var(--soft);font-size:13px;margin:0}
figcaption{margin-top:8px}
.banner{margin:20px 0 0;padding:12px 16px;border:1px solid var(--bad);border-radius:10px;
color:var(--bad);font-weight:600}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--grid);white-space:nowrap}
th:first-child{text-align:left;padding-left:0}
thead th{color:var(--soft);font-weight:500;border-color:var(--line)}tbody th{font-weight:500}
tbody tr:last-child>*{border-bottom:0}
.deciding>*{background:var(--grid);font-weight:600}
svg{display:block;width:100%;min-width:600px;height:auto}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
svg .grid{stroke:var(--grid)}svg .axis{stroke:var(--line)}
svg .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
svg .limit{stroke:var(--bad);stroke-dasharray:5 4;fill:none}svg text.limit{fill:var(--bad);stroke:none}
${
  ["a", "b", "c", "d", "e", "f"].map((name) =>
    `svg .${name}{stroke:var(--${name})}svg .${name}.dot,svg text.${name}{fill:var(--${name});stroke:none}`
  ).join("\n")
}
svg .mark{fill:none}svg .hollow{fill:var(--panel);stroke-width:1.8}
`;
