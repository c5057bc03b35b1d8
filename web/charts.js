// @ts-check
/** Series over time, drawn by uPlot in the page's colours: charts with axes, and sparks without. */
import { h, setText } from "./dom.js";

/** @typedef {{ name: string, colour: string }} Line `colour` is a custom property of the style sheet */
/** @typedef {(number | null)[][]} Columns seconds, then a column for each line */

/** @type {Set<() => void>} */
const redraws = new Set();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const redraw of redraws) redraw();
});

const POWERS_OF_TWO = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** @param {string} name */
const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A uPlot that follows the width of its place and the colours of the page. */
class Plot {
  /** @type {import("uplot") | null} */
  #plot = null;
  #place;
  #options;
  /** @type {Columns} */
  #data = [[]];

  /**
   * @param {HTMLElement} place
   * @param {(width: number) => import("uplot").Options} options
   */
  constructor(place, options) {
    this.#place = place;
    this.#options = options;
    redraws.add(() => this.#make());
    new ResizeObserver(() => {
      const { clientWidth: width } = place;
      if (width === 0 || width === this.#plot?.width) return;
      if (this.#plot === null) this.#make();
      else this.#plot.setSize({ width, height: this.#plot.height });
    }).observe(place);
  }

  /** @param {Columns} data */
  set data(data) {
    this.#data = data;
    this.#plot?.setData(/** @type {import("uplot").AlignedData} */ (data));
  }

  #make() {
    this.#plot?.destroy();
    const { clientWidth: width } = this.#place;
    if (width === 0) return;
    const data = /** @type {import("uplot").AlignedData} */ (this.#data);
    this.#plot = new uPlot(this.#options(width), data, this.#place);
  }
}

/**
 * A line without axes beside a number.
 * @param {HTMLElement} place
 * @param {string} stroke
 */
export function spark(place, stroke) {
  return new Plot(place, (width) => ({
    width,
    height: 28,
    padding: [2, 0, 2, 0],
    cursor: { show: false },
    legend: { show: false },
    axes: [{ show: false }, { show: false }],
    scales: {
      x: { time: true },
      y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high : 1] },
    },
    series: [{}, {
      stroke: () => colour(stroke),
      width: 1.25,
      fill: () => `color-mix(in srgb, ${colour(stroke)} 14%, transparent)`,
      points: { show: false },
    }],
  }));
}

/**
 * A chart with a title, axes, and a legend that says the latest values.
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.unit
 * @param {string} options.about one sentence on what it shows
 * @param {readonly Line[]} options.lines
 * @param {(value: number) => string} options.format of a value
 * @param {boolean} [options.binary] whether round values are powers of two
 */
export function chart({ title, unit, about, lines, format, binary = false }) {
  const values = lines.map(() => h("span", { class: "value" }, "–"));
  const place = h("div", {
    class: "plot",
    role: "img",
    "aria-label": `${title} over the last minutes`,
  });
  const element = h(
    "figure",
    { class: "card chart" },
    h(
      "figcaption",
      {},
      h("h3", {}, title, " ", h("small", {}, unit)),
      h("p", { class: "hint" }, about),
    ),
    h(
      "ul",
      { class: "legend" },
      ...lines.map(({ name, colour: stroke }, i) =>
        h("li", {}, h("i", { class: `key key-${stroke}` }), name, " ", values[i])
      ),
    ),
    place,
  );
  const plot = new Plot(place, (width) => {
    const axis = {
      stroke: () => colour("muted"),
      grid: { stroke: () => colour("line"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    return {
      width,
      height: 150,
      padding: [8, 28, 0, 0],
      cursor: { y: false, points: { size: 5 } },
      legend: { show: false },
      scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
      axes: [
        {
          ...axis,
          size: 30,
          gap: 9,
          space: 70,
          // A single reading spans whole days, whose ticks would all be midnight.
          values: ({ data }, splits) =>
            splits.map((at) =>
              data[0].length < 2
                ? ""
                : new Date(at * 1000).toLocaleTimeString([], { hour12: false })
            ),
        },
        {
          ...axis,
          size: 58,
          space: 34,
          ...(binary && { incrs: POWERS_OF_TWO }),
          values: (_, splits) => splits.map((value) => format(value)),
        },
      ],
      series: [
        {},
        ...lines.map(({ name, colour: stroke }) => ({
          label: name,
          stroke: () => colour(stroke),
          width: 1.5,
          spanGaps: false,
          points: { show: false },
        })),
      ],
    };
  });
  return {
    element,
    /** @param {Columns} data */
    show(data) {
      plot.data = data;
      values.forEach((value, i) => {
        const latest = data[i + 1]?.at(-1);
        setText(value, latest === null || latest === undefined ? "–" : format(latest));
      });
    },
  };
}
