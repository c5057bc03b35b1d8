// @ts-check
/**
 * Spikes as marks, thousands in a picture: set pixel by pixel in memory and put on the canvas whole,
 * which costs a small part of as many rectangles.
 */

/** @import { StepRing } from "./step_ring.js" */
/**
 * @typedef {object} MarkStyle
 * @property {number} width of a mark, in px of the page
 * @property {number} height
 * @property {number} offset from the top of its row
 * @property {string} colour `#rrggbb`
 * @property {number | null} leader a row in another colour
 * @property {string} lead that colour
 */

export class Marks {
  #canvas = document.createElement("canvas");
  #context;
  #image = new ImageData(1, 1);

  constructor() {
    const context = this.#canvas.getContext("2d", { willReadFrequently: true });
    if (context === null) throw new Error("the browser draws no canvas");
    this.#context = context;
  }

  /**
   * @param {CanvasRenderingContext2D} target
   * @param {StepRing} spikes
   * @param {{ left: number, top: number, width: number, height: number }} area
   * @param {{ from: number, to: number, xOf: (step: number) => number }} range `xOf` from the left of the page
   * @param {MarkStyle} style
   */
  draw(target, spikes, { left, top, width, height }, { from, to, xOf }, style) {
    const ratio = devicePixelRatio;
    const pixels = this.#clear(Math.ceil(width * ratio), Math.ceil(height * ratio));
    const { width: across, height: down } = this.#image;
    const [colour, lead] = [wordOf(style.colour), wordOf(style.lead)];
    const [markWidth, markHeight] = [style.width, style.height].map((each) =>
      Math.max(1, Math.round(each * ratio))
    );
    const { values, rows } = spikes;
    const rowHeight = height * ratio / rows;
    for (let step = from; step < to; step++) {
      const at = spikes.at(step);
      if (at < 0) continue;
      const x = Math.round((xOf(step) - left) * ratio);
      const [begin, end] = [Math.max(0, x), Math.min(across, x + (markWidth ?? 1))];
      for (let row = 0; row < rows; row++) {
        if (values[at + row] === 0) continue;
        const y = Math.round(row * rowHeight + style.offset * ratio);
        const word = row === style.leader ? lead : colour;
        const bottom = Math.min(down, y + (markHeight ?? 1));
        for (let line = y; line < bottom; line++) {
          pixels.fill(word, line * across + begin, line * across + end);
        }
      }
    }
    this.#context.putImageData(this.#image, 0, 0);
    target.drawImage(this.#canvas, left, top, across / ratio, down / ratio);
  }

  /** Transparent pixels, one word each. @param {number} width @param {number} height */
  #clear(width, height) {
    if (width !== this.#image.width || height !== this.#image.height) {
      this.#image = new ImageData(Math.max(1, width), Math.max(1, height));
      [this.#canvas.width, this.#canvas.height] = [this.#image.width, this.#image.height];
    }
    const pixels = new Uint32Array(this.#image.data.buffer);
    pixels.fill(0);
    return pixels;
  }
}

/** A colour as it lies in memory. @param {string} text `#rrggbb` */
function wordOf(text) {
  const rgb = parseInt(text.trim().slice(1), 16);
  const bytes = Uint8Array.of(rgb >> 16, rgb >> 8, rgb, 255);
  return new Uint32Array(bytes.buffer)[0] ?? 0;
}
