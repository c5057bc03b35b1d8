// @ts-check
/** Texts on a canvas that must stay in their place: cut to a width, or broken into lines. */

/**
 * A text cut to a width.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} width
 */
export function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = Math.min(text.length, 200);
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}

/**
 * A text in lines, broken between words.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} first width of the first line
 * @param {number} rest width of the others
 */
export function wrapped(context, text, first, rest) {
  /** @type {string[]} */
  const lines = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line === "" || context.measureText(longer).width <= (lines.length === 0 ? first : rest)) {
      line = longer;
    } else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line].map((each, i) => fitted(context, each, i === 0 ? first : rest));
}
