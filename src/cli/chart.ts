/** Line charts as SVG text: axes with round ticks, series, limits, a key. Colours are the page's. */
import { text } from "./page.ts";

export interface Axis {
  readonly label: string;
  /** Values at the two ends. */
  readonly from: number;
  readonly to: number;
  /** Where a value stands between 0 and 1; linear when absent. */
  readonly place?: (value: number) => number;
  /** Ticks; round ones when absent. */
  readonly ticks?: readonly { readonly at: number; readonly text: string }[];
}

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
  /** Points drawn as rings: that which differs. */
  readonly hollow?: ReadonlySet<number>;
  readonly dots?: boolean;
  readonly line?: boolean;
}

export interface Chart {
  /** What it shows, for who cannot see it. */
  readonly label: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** A value of y that must not be passed. */
  readonly limit?: { readonly at: number; readonly text: string };
}

export const COLOURS = ["a", "b", "c", "d", "e", "f"] as const;

const WIDTH = 960, HEIGHT = 320;
const LEFT = 62, RIGHT = 18, TOP = 30, BOTTOM = 44;

export const round = (value: number): string => String(Math.round(value * 10) / 10);

/** Round numbers, about `count` of them, from `from` to `to`. */
export function roundTicks(from: number, to: number, count: number): number[] {
  const span = to - from;
  if (!(span > 0)) return [from];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough)!;
  const first = Math.ceil(from / step - 1e-9);
  const ticks: number[] = [];
  for (let n = first; n * step <= to + step * 1e-9; n++) {
    ticks.push(Number((n * step).toPrecision(12)));
  }
  return ticks;
}

/** An axis with a decade a stretch; values below `from` stand at its start. */
export function logAxis(label: string, from: number, to: number): Axis {
  const low = Math.floor(Math.log10(from));
  const high = Math.max(low + 1, Math.ceil(Math.log10(to) - 1e-9));
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  return {
    label,
    from: 10 ** low,
    to: 10 ** high,
    place: (value) => Math.max(0, (Math.log10(Math.max(value, 1e-12)) - low) / (high - low)),
    ticks: ticks.map((at) => ({ at, text: at.toLocaleString("en-US") })),
  };
}

function scale(axis: Axis, start: number, end: number): (value: number) => number {
  const place = axis.place ?? ((value) => (value - axis.from) / (axis.to - axis.from || 1));
  return (value) => start + Math.min(1, Math.max(0, place(value))) * (end - start);
}

const ticksOf = ({ ticks, from, to }: Axis, count: number) =>
  ticks ?? roundTicks(from, to, count).map((at) => ({ at, text: at.toLocaleString("en-US") }));

export function chartSvg({ label, x, y, series, limit }: Chart): string {
  const toX = scale(x, LEFT, WIDTH - RIGHT), toY = scale(y, HEIGHT - BOTTOM, TOP);
  const parts: string[] = [];
  for (const { at, text: label } of ticksOf(y, 5)) {
    const height = round(toY(at));
    parts.push(
      `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${height}" y2="${height}"/>` +
        `<text x="${LEFT - 8}" y="${round(toY(at) + 4)}" text-anchor="end">${text(label)}</text>`,
    );
  }
  for (const { at, text: label } of ticksOf(x, 10)) {
    parts.push(
      `<line class="axis" x1="${round(toX(at))}" x2="${round(toX(at))}" ` +
        `y1="${HEIGHT - BOTTOM}" y2="${HEIGHT - BOTTOM + 5}"/>` +
        `<text x="${round(toX(at))}" y="${HEIGHT - BOTTOM + 19}" text-anchor="middle">${
          text(label)
        }</text>`,
    );
  }
  parts.push(
    `<line class="axis" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${HEIGHT - BOTTOM}" y2="${
      HEIGHT - BOTTOM
    }"/>`,
    `<text x="${WIDTH - RIGHT}" y="${HEIGHT - 6}" text-anchor="end">${text(x.label)}</text>`,
    `<text x="${LEFT}" y="14">${text(y.label)}</text>`,
  );
  if (limit !== undefined) {
    const height = toY(limit.at);
    parts.push(
      `<line class="limit" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${round(height)}" y2="${
        round(height)
      }"/><text class="limit" x="${LEFT + 6}" y="${round(height - 6)}">${text(limit.text)}</text>`,
    );
  }
  series.forEach((each, i) => parts.push(seriesSvg(each, COLOURS[i % COLOURS.length]!, toX, toY)));
  if (series.length > 1) parts.push(keySvg(series, LEFT + 7 * y.label.length + 24));
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${text(label)}">${
    parts.join("")
  }</svg>`;
}

function seriesSvg(
  { name, points, hollow, dots = false, line = true }: Series,
  colour: string,
  toX: (value: number) => number,
  toY: (value: number) => number,
): string {
  const places = points.map(([x, y]) => [round(toX(x)), round(toY(y))] as const);
  const path = places.map((place, i) => `${i === 0 ? "M" : "L"}${place.join(" ")}`).join("");
  const drawn = line ? `<path class="line ${colour}" d="${path}"/>` : "";
  if (!dots) return drawn;
  return drawn + places.map(([x, y], i) => {
    const [atX, atY] = points[i]!;
    const kind = hollow?.has(i) ? `${colour} hollow` : `${colour} dot`;
    const told = `${name}: ${Number(atX.toPrecision(4))}, ${Number(atY.toPrecision(4))}`;
    return `<circle class="${kind}" cx="${x}" cy="${y}" r="4"><title>${
      text(told)
    }</title></circle>`;
  }).join("");
}

/** From the left, where a narrow screen shows it without scrolling. */
function keySvg(series: readonly Series[], left: number): string {
  let x = left;
  return series.map(({ name }, i) => {
    const colour = COLOURS[i % COLOURS.length]!;
    const label = `<text class="${colour}" x="${x}" y="14">${text(name)}</text>`;
    x += 7 * name.length + 18;
    return label;
  }).join("");
}
