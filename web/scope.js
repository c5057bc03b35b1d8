// @ts-check
/**
 * The scope: spikes as marks and membranes as lines over time steps, on one canvas. It shows the steps
 * up to a head, which follows what came at an even pace, so that the picture moves and does not jump.
 */
import { fitted, wrapped } from "./canvas_text.js";
import { compact, number } from "./format.js";
import { Marks } from "./marks.js";

/** @import { StepRing } from "./step_ring.js" */

/**
 * @typedef {object} Band
 * @property {string} id
 * @property {string} title
 * @property {string} note what its values are
 * @property {"input" | "spikes" | "output"} look which colour
 * @property {StepRing | null} spikes drawn as marks
 * @property {StepRing | null} trace drawn as lines, one a row
 * @property {readonly string[] | null} labels of its rows
 */
/** @typedef {{ width: number, name: string, nameWidth: number, lines: string[], height: number }} Title fitted to a width */

const LEFT = 44;
const RIGHT = 40;
const TITLE = 22;
const AXIS = 24;
/** A name of a band has so much of the width at most; its note the rest, and further lines. */
const NAME_SHARE = 0.4;
const NOTE_LINE = 15;
const TITLE_FONT = "600 12px system-ui, sans-serif";
const NOTE_FONT = "12px system-ui, sans-serif";
const GAP = 6;
/** Heights of a row: of marks alone, with room for a label, with a line in it. */
const ROW_PX = { dense: 1.3, labelled: 13, trace: 24 };
const BAND_PX = { min: 26, max: 170 };
const STRETCH_MAX = 3;
const ROWS_WITH_LABELS = 24;
/** Of a row with both: the share of its height that the marks have; the line has the rest. */
const MARK_SHARE = 0.34;
/** A line spans its row, but for one that moves by less than this share of what the widest does. */
const SPAN_MIN = 0.12;
/** The head stays so far behind, to have something to move towards. */
const LAG_SECONDS = 0.15;
const RATE_SECONDS = 2;
/** Thirty pictures a second look as even as sixty, and leave a machine without a GPU half its time. */
const FRAME_MS = 30;
/** What is further behind than so many pictures is not played but left out. */
const TOO_FAR_WINDOWS = 3;

export class Scope {
  #canvas;
  #context;
  /** @type {readonly Band[]} */
  #bands = [];
  /** @type {WeakMap<StepRing, Marks>} */
  #spikeMarks = new WeakMap();
  /** @type {WeakMap<Band, Title>} */
  #titles = new WeakMap();
  /** @type {{ step: number, text: string }[]} */
  #marks = [];
  /** @type {{ at: number, steps: number }[]} */
  #arrivals = [];
  /** End of what came. */
  #last = 0;
  #head = 0;
  #window = 300;
  #drawnAt = 0;
  #isDirty = true;
  /** The height that is asked for. */
  #basis = 0;
  /** @type {number | null} */
  #leader = null;
  /** @type {Record<string, string>} */
  #colours = {};
  #isPaused = false;
  /** Bands are higher by that factor where the card has room. */
  #stretch = 1;
  #moves = !matchMedia("(prefers-reduced-motion: reduce)").matches;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("the browser draws no canvas");
    this.#canvas = canvas;
    this.#context = context;
    this.#readColours();
    matchMedia("(prefers-color-scheme: dark)").addEventListener(
      "change",
      () => this.#readColours(),
    );
    new ResizeObserver(() => this.#isDirty = true).observe(canvas);
    requestAnimationFrame((now) => this.#frame(now));
  }

  get bands() {
    return this.#bands;
  }

  get last() {
    return this.#last;
  }

  get window() {
    return this.#window;
  }

  set window(steps) {
    this.#window = steps;
    this.#isDirty = true;
  }

  get isPaused() {
    return this.#isPaused;
  }

  set isPaused(value) {
    this.#isPaused = value;
  }

  /** The row of the outputs that leads now. @param {number | null} row */
  set leader(row) {
    if (row !== this.#leader) this.#isDirty = true;
    this.#leader = row;
  }

  /** Begins a new picture. @param {readonly Band[]} bands @param {number} step where it begins */
  show(bands, step) {
    this.#bands = bands;
    this.#marks = [];
    this.#arrivals = [];
    this.#last = this.#head = step;
    this.#leader = null;
    this.#fit();
    this.#stretch = 1;
    this.#isDirty = true;
  }

  /** Everything up to this step has come. @param {number} endStep @param {number} steps */
  advance(endStep, steps) {
    if (endStep < this.#last) this.#head = endStep;
    if (this.#arrivals.length === 0) this.#head = endStep - steps;
    this.#last = endStep;
    this.#arrivals.push({ at: performance.now(), steps });
  }

  /** Draws a line before a step, with a word. @param {number} step @param {string} text */
  mark(step, text) {
    this.#marks.push({ step, text });
    if (this.#marks.length > 50) this.#marks.shift();
  }

  /** Steps a second over the last moments. */
  rate() {
    const now = performance.now();
    while ((this.#arrivals[0]?.at ?? now) < now - RATE_SECONDS * 1000) this.#arrivals.shift();
    const first = this.#arrivals[0];
    if (first === undefined || this.#arrivals.length < 2) return 0;
    const steps = this.#arrivals.reduce((sum, each) => sum + each.steps, 0) - first.steps;
    return steps / Math.max(0.05, (now - first.at) / 1000);
  }

  #readColours() {
    const style = getComputedStyle(document.documentElement);
    const names = [
      "ink",
      "muted",
      "line",
      "surface",
      "input",
      "spikes",
      "output",
      "lead",
      "lead-wash",
    ];
    this.#colours = Object.fromEntries(
      names.map((name) => [name, style.getPropertyValue(`--${name}`)]),
    );
    this.#isDirty = true;
  }

  /** @param {number} now */
  #frame(now) {
    requestAnimationFrame((next) => this.#frame(next));
    const elapsedMs = now - this.#drawnAt;
    if (elapsedMs < FRAME_MS) return;
    this.#drawnAt = now;
    if (!this.#isPaused && this.#head < this.#last) {
      this.#move(Math.min(0.1, elapsedMs / 1000));
      this.#isDirty = true;
    }
    if (this.#isDirty && this.#canvas.clientWidth > 0) this.#draw();
  }

  /** @param {number} seconds */
  #move(seconds) {
    const behind = this.#last - this.#head;
    if (!this.#moves || behind > TOO_FAR_WINDOWS * this.#window) {
      this.#head = this.#last;
      return;
    }
    const rate = Math.max(this.rate(), 10);
    const tooFar = (behind - rate * LAG_SECONDS) / (rate * 0.5);
    const pace = 1 + Math.min(3, Math.max(-0.6, tooFar));
    this.#head = Math.min(this.#last, this.#head + rate * pace * seconds);
  }

  /** @param {Band} band */
  #bandHeight({ spikes, trace }) {
    const rows = (trace ?? spikes)?.rows ?? 0;
    if (trace !== null && rows <= ROWS_WITH_LABELS) return rows * ROW_PX.trace;
    if (rows <= ROWS_WITH_LABELS) return Math.max(BAND_PX.min, rows * ROW_PX.labelled);
    return Math.min(BAND_PX.max, Math.max(BAND_PX.min, rows * ROW_PX.dense));
  }

  /** Asks for as much height as the bands want, which their notes say anew in every width. */
  #fit() {
    const basis = Math.ceil(this.#height(1));
    if (basis !== this.#basis) this.#canvas.style.flexBasis = `${basis}px`;
    this.#basis = basis;
  }

  /** A band's name and the lines of its note, the first beside it. @param {Band} band @returns {Title} */
  #titleOf(band) {
    const width = this.#canvas.clientWidth;
    const known = this.#titles.get(band);
    if (known?.width === width) return known;
    const context = this.#context;
    context.font = TITLE_FONT;
    const name = fitted(context, band.title, width * NAME_SHARE);
    const nameWidth = context.measureText(name).width;
    context.font = NOTE_FONT;
    const lines = width === 0
      ? [band.note] // not shown yet
      : wrapped(context, band.note, width - nameWidth - 16, width - 8);
    const title = { width, name, nameWidth, lines, height: TITLE + (lines.length - 1) * NOTE_LINE };
    this.#titles.set(band, title);
    return title;
  }

  /** Of all, with bands higher by a factor. @param {number} stretch */
  #height(stretch) {
    const bands = this.#bands.map((band) =>
      this.#titleOf(band).height + stretch * this.#bandHeight(band) + GAP
    );
    return bands.reduce((sum, each) => sum + each, AXIS);
  }

  #draw() {
    this.#isDirty = false;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const ratio = devicePixelRatio;
    if (
      this.#canvas.width !== Math.round(width * ratio) ||
      this.#canvas.height !== Math.round(height * ratio)
    ) {
      this.#canvas.width = Math.round(width * ratio);
      this.#canvas.height = Math.round(height * ratio);
    }
    const context = this.#context;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (this.#bands.length === 0) return;
    this.#fit();
    const fixed = this.#height(0);
    this.#stretch = Math.min(
      STRETCH_MAX,
      Math.max(1, (height - fixed) / (this.#height(1) - fixed)),
    );
    const plot = {
      left: LEFT,
      width: width - LEFT - RIGHT,
      perStep: (width - LEFT - RIGHT) / this.#window,
    };
    this.#drawAxis(plot, height);
    let top = 0;
    for (const band of this.#bands) {
      this.#drawTitle(band, top);
      top += this.#titleOf(band).height;
      const bandHeight = this.#stretch * this.#bandHeight(band);
      context.save();
      context.beginPath();
      context.rect(plot.left, top - 1, plot.width, bandHeight + 2);
      context.clip();
      this.#drawBand(band, plot, top, bandHeight);
      context.restore();
      this.#drawRowNames(band, top, bandHeight, width);
      top += bandHeight + GAP;
    }
  }

  /** @param {{ left: number, width: number, perStep: number }} plot @param {number} height */
  #drawAxis({ left, width, perStep }, height) {
    const context = this.#context;
    const { line = "", muted = "" } = this.#colours;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "alphabetic";
    const every = niceStep(this.#window / Math.max(2, width / 110));
    const first = Math.ceil((this.#head - this.#window) / every) * every;
    for (let step = Math.max(0, first); step <= this.#head; step += every) {
      const x = left + width - (this.#head - step) * perStep;
      if (x < left) continue;
      context.fillStyle = line;
      context.fillRect(Math.round(x), 0, 1, height - AXIS + 4);
      context.fillStyle = muted;
      context.textAlign = "center";
      if (x < left + width - 14) context.fillText(number(step), x, height - 8);
    }
    context.textAlign = "right";
    context.fillStyle = muted;
    context.fillText("step", left + width + RIGHT - 4, height - 8);
    for (const { step, text } of this.#marks) {
      const x = left + width - (this.#head - step) * perStep;
      if (x < left || step > this.#head) continue;
      context.fillStyle = this.#colours["lead"] ?? "";
      context.fillRect(Math.round(x), TITLE, 1, height - AXIS - TITLE);
      context.textAlign = "left";
      context.fillText(text, x + 4, TITLE - 8);
    }
  }

  /** @param {Band} band @param {number} top */
  #drawTitle(band, top) {
    const context = this.#context;
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    const { name, nameWidth, lines } = this.#titleOf(band);
    const { ink = "", muted = "", surface = "" } = this.#colours;
    context.font = NOTE_FONT;
    lines.forEach((line, i) => {
      const left = i === 0 ? nameWidth + 8 : 0;
      const y = top + i * NOTE_LINE;
      context.fillStyle = surface;
      context.fillRect(0, y + 2, left + context.measureText(line).width + 8, TITLE - 4);
      context.fillStyle = muted;
      context.fillText(line, left, y + 15);
    });
    context.font = TITLE_FONT;
    context.fillStyle = ink;
    context.fillText(name, 0, top + 15);
  }

  /**
   * @param {Band} band
   * @param {{ left: number, width: number, perStep: number }} plot
   * @param {number} top
   * @param {number} height
   */
  #drawBand({ look, spikes, trace }, { left, width, perStep }, top, height) {
    const context = this.#context;
    const rows = (trace ?? spikes)?.rows ?? 1;
    const rowHeight = height / rows;
    const { [look]: colour = "", line = "", lead = "", "lead-wash": wash = "" } = this.#colours;
    const leader = look === "output" ? this.#leader : null;
    if (leader !== null && rows <= ROWS_WITH_LABELS) {
      context.fillStyle = wash;
      context.fillRect(left, top + leader * rowHeight, width, rowHeight);
    }
    if (rows <= ROWS_WITH_LABELS) {
      context.fillStyle = line;
      for (let row = 1; row < rows; row++) {
        context.fillRect(left, Math.round(top + row * rowHeight), width, 0.5);
      }
    }
    const from = Math.max(0, Math.floor(this.#head - this.#window));
    const to = Math.min(Math.ceil(this.#head), this.#last);
    const xOf = (/** @type {number} */ step) => left + width - (this.#head - step) * perStep;
    if (trace !== null) {
      const above = spikes === null ? 2 : rowHeight * MARK_SHARE + 2;
      this.#drawLines(
        trace,
        { from, to, xOf, colour },
        (row, share) => top + row * rowHeight + above + (1 - share) * (rowHeight - above - 3),
      );
    }
    if (spikes === null) return;
    const markWidth = Math.max(1, Math.min(perStep * 0.7, 3));
    const isThin = rowHeight < 4;
    const markHeight = trace !== null
      ? rowHeight * MARK_SHARE
      : isThin
      ? Math.max(1, rowHeight)
      : rowHeight - 3;
    const offset = trace !== null ? 2 : isThin ? 0 : 1.5;
    const area = { left, top, width, height };
    const style = { width: markWidth, height: markHeight, offset, colour, leader, lead };
    const marks = this.#spikeMarks.get(spikes) ?? new Marks();
    this.#spikeMarks.set(spikes, marks);
    marks.draw(context, spikes, area, { from, to, xOf }, style);
  }

  /**
   * Each row to its own scale.
   * @param {StepRing} trace
   * @param {{ from: number, to: number, xOf: (step: number) => number, colour: string }} range
   * @param {(row: number, share: number) => number} yOf
   */
  #drawLines(trace, { from, to, xOf, colour }, yOf) {
    const context = this.#context;
    const { values, rows } = trace;
    const low = new Float64Array(rows).fill(Infinity);
    const high = new Float64Array(rows).fill(-Infinity);
    for (let step = from; step < to; step++) {
      const at = trace.at(step);
      if (at < 0) continue;
      for (let row = 0; row < rows; row++) {
        const value = values[at + row] ?? 0;
        if (value < (low[row] ?? 0)) low[row] = value;
        if (value > (high[row] ?? 0)) high[row] = value;
      }
    }
    const spans = high.map((value, row) => value - (low[row] ?? 0));
    const least = SPAN_MIN * Math.max(...spans);
    context.strokeStyle = colour;
    context.lineWidth = 1.1;
    context.globalAlpha = 0.8;
    for (let row = 0; row < rows; row++) {
      const span = Math.max(least, spans[row] ?? 0) || 1; // all of them flat: level lines
      context.beginPath();
      let isDown = false;
      for (let step = from; step < to; step++) {
        const at = trace.at(step);
        if (at < 0) {
          isDown = false;
          continue;
        }
        const y = yOf(row, ((values[at + row] ?? 0) - (low[row] ?? 0)) / span);
        if (isDown) context.lineTo(xOf(step), y);
        else context.moveTo(xOf(step), y);
        isDown = true;
      }
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** @param {Band} band @param {number} top @param {number} height @param {number} width */
  #drawRowNames({ look, spikes, trace, labels }, top, height, width) {
    const rows = (trace ?? spikes)?.rows ?? 0;
    if (rows > ROWS_WITH_LABELS) {
      this.#rowText("0", LEFT - 8, top + 8, "right", false);
      this.#rowText(number(rows - 1), LEFT - 8, top + height, "right", false);
      return;
    }
    const rowHeight = height / rows;
    const to = Math.ceil(this.#head);
    for (let row = 0; row < rows; row++) {
      const y = top + (row + 0.5) * rowHeight + 4;
      const leads = look === "output" && row === this.#leader;
      this.#rowText(labels?.[row] ?? String(row), LEFT - 8, y, "right", leads);
      if (spikes === null) continue;
      const count = spikes.rowTotal(row, to - this.#window, to);
      this.#rowText(compact(count), width - 4, y, "right", leads);
    }
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {CanvasTextAlign} align
   * @param {boolean} leads
   */
  #rowText(text, x, y, align, leads) {
    const context = this.#context;
    context.font = `${leads ? "700" : "400"} 11px system-ui, sans-serif`;
    context.textAlign = align;
    context.fillStyle = (leads ? this.#colours["lead"] : this.#colours["muted"]) ?? "";
    context.fillText(fitted(context, text, LEFT - 8), x, y);
  }
}

/** 1, 2 or 5 times a power of ten, at least that much. @param {number} least */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least) ?? 10 * power;
}
