// @ts-check
/**
 * A pad of cells to draw on, with a pointer or with the keyboard: arrows move, space inks and clears a
 * cell. Every cell is a value from 0 to 1.
 */
import { h, replace } from "./dom.js";
import { DIGITS, ink, inkAll } from "./strokes.js";

/** Strokes of the digits are in cells of a pad of that size. */
const STROKE_CELLS = 8;

export class Pad extends EventTarget {
  rows = 0;
  columns = 0;
  cells = new Float32Array(0);
  /** True between pointer down and up. */
  isDrawing = false;
  #element;
  /** @type {HTMLElement[]} */
  #views = [];
  #cursor = 0;
  /** The first stroke by hand replaces what was drawn for the user. */
  #isSample = false;
  /** @type {[number, number] | null} */
  #pen = null;

  /** @param {HTMLElement} element */
  constructor(element) {
    super();
    this.#element = element;
    element.addEventListener("pointerdown", (event) => this.#down(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    for (const name of ["pointerup", "pointercancel"]) {
      element.addEventListener(name, () => this.#up());
    }
    element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {number} rows @param {number} columns */
  resize(rows, columns) {
    if (rows === this.rows && columns === this.columns) return;
    [this.rows, this.columns] = [rows, columns];
    this.cells = new Float32Array(rows * columns);
    this.#views = Array.from(
      this.cells,
      (_, i) => h("div", { role: "gridcell", tabindex: i === 0 ? 0 : -1 }),
    );
    this.#cursor = 0;
    this.#element.style.setProperty("--columns", String(columns));
    replace(
      this.#element,
      ...Array.from(
        { length: rows },
        (_, row) =>
          h("div", { role: "row" }, ...this.#views.slice(row * columns, (row + 1) * columns)),
      ),
    );
    this.#show();
  }

  clear() {
    this.cells.fill(0);
    this.#isSample = false;
    this.#changed();
  }

  /** Draws a digit for the user. @param {number} digit */
  drawDigit(digit) {
    const [right, down] = [this.columns / STROKE_CELLS, this.rows / STROKE_CELLS];
    const strokes = (DIGITS[digit] ?? []).map((stroke) =>
      stroke.map(([x, y]) => /** @type {const} */ ([x * right, y * down]))
    );
    this.cells = inkAll(strokes, this.rows, this.columns);
    this.#isSample = true;
    this.#changed();
  }

  #changed() {
    this.#show();
    this.dispatchEvent(new Event("change"));
  }

  #show() {
    this.#views.forEach((view, i) => {
      const value = this.cells[i] ?? 0;
      view.style.setProperty("--inked", value.toFixed(2));
      const place = `row ${Math.floor(i / this.columns) + 1}, column ${i % this.columns + 1}`;
      view.setAttribute("aria-label", `${place}: ${Math.round(value * 100)} %`);
    });
  }

  /** @param {PointerEvent} event @returns {[number, number]} */
  #place({ clientX, clientY }) {
    const { left, top, width, height } = this.#element.getBoundingClientRect();
    return [(clientX - left) / width * this.columns, (clientY - top) / height * this.rows];
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.#element.setPointerCapture(event.pointerId);
    this.isDrawing = true;
    if (this.#isSample) this.cells.fill(0);
    this.#isSample = false;
    this.#stroke(this.#place(event));
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (this.isDrawing) this.#stroke(this.#place(event));
  }

  #up() {
    if (!this.isDrawing) return;
    this.isDrawing = false;
    this.#pen = null;
    this.dispatchEvent(new Event("change"));
  }

  /** @param {[number, number]} to */
  #stroke(to) {
    ink(this.cells, this.columns, this.#pen ?? to, to);
    this.#pen = to;
    this.#changed();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    /** @type {Record<string, number>} */
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns };
    const move = moves[event.key];
    const column = this.#cursor % this.columns;
    if (move !== undefined) {
      const leaves = (move === -1 && column === 0) || (move === 1 && column === this.columns - 1);
      const to = this.#cursor + move;
      if (!leaves && to >= 0 && to < this.cells.length) this.#focus(to);
    } else if (event.key === " " || event.key === "Enter") {
      this.#isSample = false;
      this.cells[this.#cursor] = (this.cells[this.#cursor] ?? 0) > 0.5 ? 0 : 1;
      this.#changed();
    } else if (/^\d$/.test(event.key)) this.drawDigit(Number(event.key));
    else return;
    event.preventDefault();
  }

  /** @param {number} cell */
  #focus(cell) {
    this.#views[this.#cursor]?.setAttribute("tabindex", "-1");
    this.#cursor = cell;
    this.#views[cell]?.setAttribute("tabindex", "0");
    this.#views[cell]?.focus();
  }
}
