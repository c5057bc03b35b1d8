// @ts-check
/** Elements from names, attributes and children. Text is only ever text: nothing here parses markup. */

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {{ readonly [name: string]: unknown }} Attributes */

const SVG = "http://www.w3.org/2000/svg";

/**
 * `class`, `data-x` and the like are attributes; `onclick` and other functions are listeners; true is
 * an attribute without a value, false and null none at all.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/**
 * The same for SVG.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} name
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes} attributes
 * @param {readonly Child[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/** @param {readonly Child[]} children */
function nodes(children) {
  /** @type {(Node | string)[]} */
  const kept = [];
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    kept.push(typeof child === "number" ? String(child) : child);
  }
  return kept;
}

/**
 * Puts other children into an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Sets a text only where it changes, so that nothing is laid out or read out for nothing.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * An element of the page that must be there.
 * @param {string} id
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}
