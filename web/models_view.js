// @ts-check
/** Models: what each one is, the graph of its layers as a picture and as a table, and what to know. */
import { byId, h, replace, svg } from "./dom.js";
import { bytes, duration, number, shapeText } from "./format.js";
import { layOut } from "./graph_layout.js";

/** @import { Graph, Layer, Model } from "./types.d.ts" */
/** @import { Server } from "./server.js" */

const BOX = { width: 148, height: 62, right: 44, down: 22, margin: 14 };
/** Edges that arrive a step late pass so far below the boxes. */
const LATE_DROP = 32;
/** Where the time step comes from. */
const DT_SOURCES = {
  flag: "set by --dt or run.json",
  metadata: "from the file",
  dialect: "as its dialect has it",
  inferred: "inferred from the file",
  default: "assumed",
};
const ROOM = BOX.width - 20;
/** Width of a character of a label, about. */
const CHARACTER = 6.6;

/** @param {Server} server */
export function modelsView(server) {
  const show = () =>
    replace(
      byId("models"),
      ...server.models.map((model) => card(model, server.graphs.get(model.id))),
    );
  server.addEventListener("models", show);
}

/** @param {Model} model @param {Graph | undefined} graph */
function card(model, graph) {
  const { executor } = model;
  const parameters = graph?.layers.reduce((sum, layer) => sum + layer.parameters, 0) ?? 0;
  return h(
    "article",
    { class: "card" },
    h("h2", {}, model.id),
    h(
      "dl",
      { class: "facts" },
      ...fact("Input of a step", shapeText(model.sample_shape)),
      ...fact("Output of a step", shapeText(model.output_shape)),
      ...fact("Parameters", number(parameters)),
      ...fact("State of all slots", bytes(model.state_bytes)),
      ...fact("Time step", `${duration(model.dt)}, ${DT_SOURCES[model.dt_source]}`),
      ...fact("Discretization", model.discretization),
      ...fact("Frame", `${model.frame} steps`),
      ...fact("Slots", number(model.slots)),
      ...fact(
        "Computes on",
        `${executor.kind}: ${executor.device}${executor.software ? " (software)" : ""}`,
      ),
      ...fact("Numerics", model.numerics),
      ...fact("Digest", h("code", { title: model.digest }, model.digest.slice(0, 12))),
    ),
    ...(graph === undefined ? [] : [picture(graph), table(graph)]),
    ...notes(model),
  );
}

/** What was assumed in reading it; what holds for several layers is said once. @param {Model} model */
function notes({ notes: all }) {
  /** @type {Map<string, { level: string, nodes: string[] }>} */
  const byText = new Map();
  for (const { level, node, text } of all) {
    const note = byText.get(text) ?? { level, nodes: [] };
    if (node !== undefined) note.nodes.push(node);
    byText.set(text, note);
  }
  return [...byText].map(([text, { level, nodes }]) =>
    h(
      "p",
      { class: level === "warning" ? "note warning" : "note" },
      nodes.length > 0 && h("strong", {}, `${nodes.join(", ")}: `),
      text,
    )
  );
}

/** @param {string} name @param {Node | string} value */
const fact = (name, value) => [h("div", {}, h("dt", {}, name), h("dd", {}, value))];

/** @param {Graph} graph */
function picture({ id, layers, output }) {
  const { places, columns, rows } = layOut(layers);
  const width = 2 * BOX.margin + columns * (BOX.width + BOX.right) - BOX.right;
  const hasLate = layers.some(({ late }) => late.length > 0);
  const height = 2 * BOX.margin + rows * (BOX.height + BOX.down) - BOX.down +
    (hasLate ? LATE_DROP : 0);
  const corner = (/** @type {string} */ name) => {
    const { column, row } = places.get(name) ?? { column: 0, row: 0 };
    return {
      x: BOX.margin + column * (BOX.width + BOX.right),
      y: BOX.margin + row * (BOX.height + BOX.down),
    };
  };
  const drawing = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": `Layers of ${id}: ${inWords(layers)}`,
    },
    ...layers.flatMap((layer) =>
      layer.from.map((from) => edge(corner(from), corner(layer.name), layer.late.includes(from)))
    ),
    ...layers.map((layer) => box(layer, corner(layer.name), layer.name === output)),
  );
  return h(
    "div",
    { class: "graph", role: "group", tabindex: "0", "aria-label": `Graph of ${id}` },
    drawing,
  );
}

/** @param {Layer} layer @param {{ x: number, y: number }} at @param {boolean} isOutput */
function box({ name, type, shape, kind }, { x, y }, isOutput) {
  const text = (
    /** @type {number} */ dy,
    /** @type {string} */ style,
    /** @type {string} */ words,
  ) => svg("text", { x: x + 12, y: y + dy, class: style }, short(words));
  return svg(
    "g",
    { class: `layer ${kind}${isOutput ? " output" : ""}` },
    svg("title", {}, `${name}: ${type} ${shapeText(shape)}`),
    svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 8 }),
    svg("rect", { x, y: y + 8, width: 3, height: BOX.height - 16, rx: 1.5, class: "stripe" }),
    text(20, "name", name),
    text(37, "type", type),
    text(
      53,
      "shape",
      `${shapeText(shape)} ${
        kind === "real"
          ? "values"
          : kind === "count"
          ? "counts"
          : kind === "input"
          ? "input"
          : "spikes"
      }`,
    ),
  );
}

/** @param {{ x: number, y: number }} from @param {{ x: number, y: number }} to @param {boolean} isLate */
function edge(from, to, isLate) {
  const [x1, y1, x2, y2] = [
    from.x + BOX.width,
    from.y + BOX.height / 2,
    to.x,
    to.y + BOX.height / 2,
  ];
  if (isLate) {
    const [right, left] = [from.x + BOX.width / 2, to.x + BOX.width / 2];
    const [fromY, toY] = [from.y + BOX.height, to.y + BOX.height];
    const low = Math.max(fromY, toY) + LATE_DROP;
    const [a, b] = right === left ? [right + 24, left - 24] : [right, left];
    return svg("path", {
      class: "edge late",
      d: `M${a} ${fromY} C${a} ${low} ${b} ${low} ${b} ${toY + 2} m-4 6 l4 -6 l4 6`,
    });
  }
  const middle = (x1 + x2) / 2;
  return svg("path", {
    class: "edge",
    d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2 - 6} ${y2} M${x2 - 7} ${y2 - 4} L${
      x2 - 1
    } ${y2} L${x2 - 7} ${y2 + 4}`,
  });
}

/** @param {string} text */
function short(text) {
  const most = Math.floor(ROOM / CHARACTER);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** @param {readonly Layer[]} layers */
const inWords = (layers) =>
  layers.map(({ name, from }) => from.length === 0 ? name : `${from.join(" and ")} to ${name}`)
    .join("; ");

/** @param {Graph} graph */
function table({ id, layers }) {
  const head = ["Layer", "Type", "Shape", "From", "Parameters", "State", "Details"];
  const areNumbers = ["Parameters", "State"];
  return h(
    "div",
    { class: "scroll", role: "group", tabindex: "0", "aria-label": `Layers of ${id}` },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...head.map((name) =>
            h("th", { scope: "col", class: areNumbers.includes(name) && "number" }, name)
          ),
        ),
      ),
      h(
        "tbody",
        {},
        ...layers.map((layer) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, layer.name),
            h("td", {}, layer.type),
            h("td", {}, shapeText(layer.shape)),
            h(
              "td",
              {},
              layer.from.map((name) => layer.late.includes(name) ? `${name} (a step late)` : name)
                .join(", ") || "–",
            ),
            h("td", { class: "number" }, number(layer.parameters)),
            h("td", { class: "number" }, layer.state_bytes === 0 ? "–" : bytes(layer.state_bytes)),
            h("td", {}, layer.details || "–"),
          )
        ),
      ),
    ),
  );
}
