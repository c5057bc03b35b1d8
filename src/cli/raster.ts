/**
 * A raster of spikes as SVG text: a row a neuron, a mark a spike. Marks that would share a pixel are drawn
 * once, and neighbours as one, so that the longest recording gives no more than the picture can show.
 */
import { round, roundTicks } from "./chart.ts";
import { text } from "./page.ts";

export interface Raster {
  /** What it shows, for who cannot see it. */
  readonly label: string;
  readonly steps: number;
  readonly neurons: number;
  /** `[steps, neurons]`; every value that is not 0 is a spike. */
  readonly values: Float32Array;
  /** Names of the neurons, where they have some. */
  readonly names?: readonly string[] | undefined;
  /** Colour of the page: `a` to `f`. */
  readonly colour: string;
}

const WIDTH = 960, LEFT = 62, RIGHT = 18, TOP = 8, BOTTOM = 40;
const PLOT = WIDTH - LEFT - RIGHT;
/** Height of a row: small layers are easy to tell apart, large ones fit on a screen. */
const ROW_MAX = 14, HEIGHT_MAX = 300;
/** Length of a mark, which begins with its step. */
const MARK_MAX = 12;

export function rasterSvg({ label, steps, neurons, values, names, colour }: Raster): string {
  const rowHeight = Math.min(ROW_MAX, HEIGHT_MAX / neurons);
  const bottom = TOP + rowHeight * neurons;
  const toX = (step: number): number => LEFT + PLOT * step / Math.max(1, steps);
  const parts = [
    `<rect class="axis" fill="none" x="${LEFT}" y="${TOP}" width="${PLOT}" height="${
      round(bottom - TOP)
    }"/>`,
    `<path class="mark ${colour}" stroke-width="${round(Math.max(1, 0.7 * rowHeight))}" d="${
      marks(values, steps, neurons, toX, rowHeight)
    }"/>`,
  ];
  for (const step of roundTicks(0, steps, 10)) {
    parts.push(tick(round(toX(step)), bottom + 18, "middle", step.toLocaleString("en-US")));
  }
  const isNamed = names !== undefined && rowHeight >= 10;
  const rows = isNamed
    ? names.map((_, i) => i)
    : roundTicks(0, neurons - 1, Math.max(1, Math.min(6, (bottom - TOP) / 24)))
      .filter((row) => Number.isInteger(row) && row < neurons);
  for (const row of rows) {
    const name = isNamed ? names[row]!.slice(0, 8) : String(row);
    parts.push(tick(String(LEFT - 8), TOP + rowHeight * (row + 0.5) + 4, "end", name));
  }
  parts.push(tick(String(WIDTH - RIGHT), bottom + 34, "end", "steps"));
  return `<svg viewBox="0 0 ${WIDTH} ${round(bottom + BOTTOM)}" role="img" aria-label="${
    text(label)
  }">${parts.join("")}</svg>`;
}

const tick = (x: string, y: number, anchor: string, label: string): string =>
  `<text x="${x}" y="${round(y)}" text-anchor="${anchor}">${text(label)}</text>`;

/** The path of all marks, half a pixel the finest. */
function marks(
  values: Float32Array,
  steps: number,
  neurons: number,
  toX: (step: number) => number,
  rowHeight: number,
): string {
  const width = Math.max(1, Math.min(MARK_MAX, PLOT / Math.max(1, steps) - 0.5));
  const parts: string[] = [];
  for (let neuron = 0; neuron < neurons; neuron++) {
    const y = round(TOP + rowHeight * (neuron + 0.5));
    let from = NaN, to = NaN;
    const draw = (): void => {
      if (to > from) parts.push(`M${round(from)} ${y}H${round(to)}`);
    };
    for (let step = 0; step < steps; step++) {
      if (values[step * neurons + neuron] === 0) continue;
      const x = toX(step);
      if (x > to + 0.5 || Number.isNaN(to) || width > 1) {
        draw();
        from = x;
      }
      to = x + width;
    }
    draw();
  }
  return parts.join("");
}
