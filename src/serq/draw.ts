/**
 * `draw`: a deployment as SVG. Cards stand in columns by how far from the workload a request first
 * meets them; colours follow the reader's light or dark scheme. Every text is cut to its card.
 */
import { type Arrow, type Card, type Graph, graphOf, type Part } from "./draw_graph.ts";
import type { Lowered } from "./lower.ts";

const CARD_WIDTH = 250;
const GAP_X = 110;
const GAP_Y = 36;
const MARGIN = 32;
const HEAD = 54;
const PART = 46;
const FOOT = 12;
const CHARACTER = 6.7;

const STYLE = `
  svg { --paper: #ffffff; --ink: #1c2430; --soft: #5b6675; --line: #c4ccd6; --card: #f6f8fa;
        --engine: #dbeafe; --engine-line: #2563eb; --pool: #fef3c7; --pool-line: #b45309;
        --stage: #dcfce7; --stage-line: #15803d; --arrow: #64748b;
        font-family: ui-sans-serif, system-ui, "Segoe UI", sans-serif; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0f141b; --ink: #e6edf3; --soft: #9aa7b5; --line: #38424f; --card: #18202a;
          --engine: #172f55; --engine-line: #7ab0ff; --pool: #3d2f0c; --pool-line: #f5b94f;
          --stage: #123524; --stage-line: #5bd08b; --arrow: #93a1b1; }
  }
  .paper { fill: var(--paper); }
  .card { fill: var(--card); stroke: var(--line); }
  .title { fill: var(--ink); font-size: 15px; font-weight: 600; }
  .subtitle, .text { fill: var(--soft); font-size: 11.5px; }
  .name { fill: var(--ink); font-size: 12.5px; font-weight: 500; }
  .engine { fill: var(--engine); stroke: var(--engine-line); }
  .pool { fill: var(--pool); stroke: var(--pool-line); }
  .stage { fill: var(--stage); stroke: var(--stage-line); }
  .arrow { fill: none; stroke: var(--arrow); stroke-width: 1.6; marker-end: url(#head); }
  .head { fill: var(--arrow); }
  .label { fill: var(--soft); font-size: 11px; stroke: var(--paper); stroke-width: 4px;
           paint-order: stroke; text-anchor: middle; }
`;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly height: number;
  readonly column: number;
}

export function draw(lowered: Lowered): string {
  const graph = graphOf(lowered);
  const boxes = place(graph);
  const all = [...boxes.values()];
  const width = Math.max(...all.map(({ x }) => x + CARD_WIDTH)) + MARGIN;
  const back =
    graph.arrows.filter(({ from, to }) => isBack(boxes.get(from)!, boxes.get(to)!)).length;
  const floor = Math.max(...all.map(({ y, height }) => y + height));
  const height = floor + MARGIN + (back > 0 ? 24 + 20 * back : 0);
  const lane = { next: floor + 24, used: 0 };
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" role="img" aria-label="A serving deployment">`,
    `<title>A serving deployment</title>`,
    `<style>${STYLE}</style>`,
    `<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" ` +
    `orient="auto-start-reverse"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...drawArrows(graph, boxes, lane),
    ...graph.cards.map((card) => drawCard(card, boxes.get(card.id)!)),
    `</svg>`,
    "",
  ].join("\n");
}

function isBack(from: Box, to: Box): boolean {
  return to.column <= from.column;
}

/** Columns by distance from the workload; what no request meets stands in the last. */
function place({ cards, arrows }: Graph): Map<string, Box> {
  const column = new Map<string, number>([[cards[0]!.id, 0]]);
  for (const id of column.keys()) {
    for (const { from, to } of arrows) {
      if (from === id && !column.has(to)) column.set(to, column.get(id)! + 1);
    }
  }
  const last = Math.max(...column.values());
  const heights = new Map<number, number>();
  const boxes = new Map<string, Box>();
  for (const { id, parts } of cards) {
    const at = column.get(id) ?? last + 1;
    const y = heights.get(at) ?? MARGIN;
    const height = HEAD + parts.length * PART + (parts.length > 0 ? FOOT : 0);
    boxes.set(id, { x: MARGIN + at * (CARD_WIDTH + GAP_X), y, height, column: at });
    heights.set(at, y + height + GAP_Y);
  }
  return boxes;
}

function drawCard({ title, subtitle, parts }: Card, { x, y, height }: Box): string {
  return [
    `<g transform="translate(${x} ${y})">`,
    `<rect class="card" width="${CARD_WIDTH}" height="${height}" rx="10"/>`,
    text("title", 16, 25, title, 26),
    text("subtitle", 16, 42, subtitle, 32),
    ...parts.map((part, i) => drawPart(part, HEAD + i * PART)),
    `</g>`,
  ].join("\n");
}

function drawPart({ kind, name, text: about }: Part, y: number): string {
  const radius = kind === "stage" ? 19 : kind === "engine" ? 4 : 8;
  return [
    `<rect class="${kind}" x="12" y="${y}" width="${CARD_WIDTH - 24}" height="38" rx="${radius}"/>`,
    text("name", 26, y + 16, `${name}`, 28),
    text("text", 26, y + 31, `${kind === "pool" ? "pool" : kind}: ${about}`, 31),
  ].join("\n");
}

function text(style: string, x: number, y: number, words: string, most: number): string {
  const shown = [...words].length > most ? `${[...words].slice(0, most - 1).join("")}…` : words;
  const full = shown === words ? "" : `<title>${escape(words)}</title>`;
  return `<text class="${style}" x="${x}" y="${y}">${full}${escape(shown)}</text>`;
}

function escape(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Forward arrows bend between columns; the others run below everything, a lane each. */
function drawArrows(
  { arrows }: Graph,
  boxes: ReadonlyMap<string, Box>,
  lane: { next: number; used: number },
): string[] {
  return arrows.map((arrow) => {
    const [from, to] = [boxes.get(arrow.from)!, boxes.get(arrow.to)!];
    if (isBack(from, to)) return drawBack(arrow, from, to, lane);
    const [startX, startY] = [from.x + CARD_WIDTH, from.y + HEAD / 2];
    const [endX, endY] = [to.x - 2, to.y + HEAD / 2];
    const bend = Math.min(GAP_X / 2, (endX - startX) / 2);
    const path = `M${startX} ${startY} C${startX + bend} ${startY} ${
      endX - bend
    } ${endY} ${endX} ${endY}`;
    const middle = endX - GAP_X / 2;
    const labelY = to.column === from.column + 1 ? (startY + endY) / 2 - 8 : endY - 8;
    return `<path class="arrow" d="${path}"/>\n${label(arrow, middle, labelY)}`;
  });
}

/** Out to the right, below everything, up and in from the left: through gaps between columns only. */
function drawBack(arrow: Arrow, from: Box, to: Box, lane: { next: number; used: number }): string {
  const y = lane.next;
  const side = 12 + 7 * (lane.used % 3);
  lane.next += 20;
  lane.used += 1;
  const [startX, startY] = [from.x + CARD_WIDTH, from.y + HEAD / 2 + 14];
  const [endX, endY] = [to.x - 2, to.y + HEAD / 2 + 14];
  const [right, left] = [startX + side, endX - side];
  const path = `M${startX} ${startY} H${right - 6} Q${right} ${startY} ${right} ${startY + 6} ` +
    `V${y - 6} Q${right} ${y} ${right - 6} ${y} H${left + 6} Q${left} ${y} ${left} ${y - 6} ` +
    `V${endY + 6} Q${left} ${endY} ${left + 6} ${endY} H${endX}`;
  return `<path class="arrow" d="${path}"/>\n${label(arrow, (left + right) / 2, y + 4)}`;
}

function label({ label: words }: Arrow, x: number, y: number): string {
  const most = Math.floor((GAP_X - 14) / (CHARACTER * 0.9));
  const shown = [...words].length > most ? `${[...words].slice(0, most - 1).join("")}…` : words;
  return `<text class="label" x="${x}" y="${y}">${escape(shown)}</text>`;
}
