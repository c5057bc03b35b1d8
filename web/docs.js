// @ts-check
/** The API reference: /openapi.json of this very server, as a page. */
import { getJson } from "./api.js";
import { byId, h, replace, setText } from "./dom.js";
import { keyForm } from "./key_form.js";

/** @typedef {Record<string, any>} Json a part of the document */

const METHODS = ["get", "post", "put", "delete"];
const DEPTH_MAX = 3;
/** A route belongs to the first that fits. @type {readonly (readonly [name: string, path: RegExp])[]} */
const GROUPS = [
  ["Chunks and outputs", /\/(chunks|outputs|ticket)/],
  ["State", /^\/v1\/sessions\/.*\/(state|reset|fork|park|transfer)$/],
  ["Sessions", /^\/v1\/sessions/],
  ["Models", /^\/v1\/models/],
  ["Server", /^/],
];
const GROUP_ORDER = ["Sessions", "Chunks and outputs", "State", "Models", "Server"];

/** @type {Json} */
let spec = {};

/** Follows `$ref` within the document. @param {Json} part @returns {Json} */
function resolved(part) {
  const path = part["$ref"];
  if (typeof path !== "string") return part;
  return path.slice(2).split("/").reduce((inner, name) => inner[name] ?? {}, spec);
}

/** @param {Json} schema what a value is, in a few words @returns {string} */
function typeText(schema) {
  const name = schema["$ref"]?.split("/").at(-1);
  if (name !== undefined) return name;
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (choices !== undefined) return choices.map(typeText).join(" or ");
  if (schema["enum"] !== undefined) {
    return schema["enum"].map((/** @type {unknown} */ each) => JSON.stringify(each)).join(", ");
  }
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  const type = [schema["type"] ?? "any"].flat().join(" or ");
  if (type === "array") return `array of ${typeText(schema["items"] ?? {})}`;
  return schema["format"] === undefined ? type : `${type}, ${schema["format"]}`;
}

/** The fields of an object, and of what they hold. @param {Json} given @param {number} depth @returns {Node[]} */
function fields(given, depth = 0) {
  const schema = resolved(given);
  if (schema["type"] === "array") return fields(schema["items"] ?? {}, depth);
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (choices !== undefined) {
    return choices.flatMap((/** @type {Json} */ each) => fields(each, depth));
  }
  const properties = Object.entries(/** @type {Json} */ (schema["properties"] ?? {}));
  if (properties.length === 0 || depth > DEPTH_MAX) return [];
  const required = schema["required"] ?? [];
  return [h(
    "dl",
    { class: "fields" },
    ...properties.map(([name, field]) => {
      const bounds = ["minimum", "maximum", "maxLength"].filter((each) => each in field)
        .map((each) => `${each} ${field[each]}`).join(", ");
      return h(
        "div",
        {},
        h("dt", {}, h("code", {}, name), required.includes(name) && h("small", {}, " required")),
        h(
          "dd",
          {},
          h("span", { class: "type" }, [typeText(field), bounds].filter(Boolean).join("; ")),
          field["description"] !== undefined && h("p", {}, ...prose(field["description"])),
          ...fields(field, depth + 1),
        ),
      );
    }),
  )];
}

/** Words with `code` in them. @param {string} text */
const prose = (text) => text.split("`").map((part, i) => i % 2 === 1 ? h("code", {}, part) : part);

/** @param {Json} [content] bodies by media type @returns {Node[]} */
function bodies(content = {}) {
  return Object.entries(content).map(([type, { schema = {} }]) => {
    const inner = fields(schema);
    const name = typeText(schema);
    const head = [h("code", {}, type), " ", h("small", {}, name)];
    if (inner.length === 0) return h("p", { class: "body" }, ...head);
    const details = h("details", { class: "body" }, h("summary", {}, ...head));
    // Put in when it is opened: all of them together are thousands of elements.
    details.addEventListener("toggle", () => details.append(...inner), { once: true });
    return details;
  });
}

/** @param {string} path @param {string} method @param {Json} route */
function article(path, method, route) {
  const parameters = /** @type {Json[]} */ (route["parameters"] ?? []);
  const responses = Object.entries(/** @type {Json} */ (route["responses"] ?? {}));
  return h(
    "article",
    { class: "card route", id: idOf(method, path) },
    h(
      "h3",
      {},
      h("span", { class: `method ${method}` }, method.toUpperCase()),
      " ",
      h("code", {}, path),
    ),
    h("p", {}, route["summary"] ?? ""),
    parameters.length > 0 && h("h4", {}, "Parameters"),
    parameters.length > 0 && h(
      "dl",
      { class: "fields" },
      ...parameters.map((each) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            h("code", {}, each["name"]),
            h("small", {}, ` ${each["in"]}${each["required"] ? ", required" : ""}`),
          ),
          h(
            "dd",
            {},
            h("span", { class: "type" }, typeText(each["schema"] ?? {})),
            (each["description"] ?? each["schema"]?.["description"]) !== undefined &&
              h("p", {}, ...prose(each["description"] ?? each["schema"]["description"])),
          ),
        )
      ),
    ),
    route["requestBody"] !== undefined && h("h4", {}, "Body"),
    ...bodies(route["requestBody"]?.["content"]),
    h("h4", {}, "Answers"),
    h(
      "dl",
      { class: "fields answers" },
      ...responses.map(([status, answer]) =>
        h(
          "div",
          {},
          h("dt", {}, h("code", { class: status < "400" ? "good" : "bad" }, status)),
          h(
            "dd",
            {},
            ...prose(resolved(answer)["description"] ?? ""),
            ...bodies(status < "400" ? answer["content"] : {}),
          ),
        )
      ),
    ),
  );
}

/** @param {string} method @param {string} path */
const idOf = (method, path) => `${method}${path.replaceAll(/[^\w]+/g, "-")}`;

async function show() {
  try {
    spec = await getJson("/openapi.json");
  } catch (error) {
    setText(byId("message"), error instanceof Error ? `${error.message}.` : "");
    return;
  }
  const { info = {}, paths = {}, components = {} } = spec;
  setText(byId("version"), info.version ?? "");
  /** @type {[string, string, Json][]} */
  const routes = Object.entries(/** @type {Json} */ (paths)).flatMap(([path, methods]) =>
    METHODS.filter((method) => method in methods)
      .map((method) => /** @type {[string, string, Json]} */ ([path, method, methods[method]]))
  );
  const groupOf = (/** @type {string} */ path) => GROUPS.find(([, fits]) => fits.test(path))?.[0];
  const groups = GROUP_ORDER.map((name) => ({
    name,
    own: routes.filter(([path]) => groupOf(path) === name),
  })).filter(({ own }) => own.length > 0);
  replace(
    byId("contents"),
    ...groups.flatMap(({ name, own }) => [
      h("p", { class: "group" }, name),
      h(
        "ul",
        {},
        ...own.map(([path, method]) =>
          h(
            "li",
            {},
            h(
              "a",
              { href: `#${idOf(method, path)}` },
              h("span", { class: `method ${method}` }, method.toUpperCase()),
              " ",
              path,
            ),
          )
        ),
      ),
    ]),
  );
  replace(
    byId("reference"),
    h("h2", {}, `${info.title} API`, " ", h("small", {}, info.version ?? "")),
    h(
      "p",
      { class: "hint" },
      info.description ?? "",
      " For programs: ",
      h("a", { href: "/openapi.json" }, "/openapi.json"),
      ".",
    ),
    h("pre", { class: "card", tabindex: "0" }, example()),
    ...groups.flatMap(({ name, own }) => [
      h("h2", {}, name),
      ...own.map((route) => article(...route)),
    ]),
    h("h2", {}, "Schemas"),
    ...Object.entries(/** @type {Json} */ (components.schemas ?? {})).map(([name, schema]) =>
      h(
        "article",
        { class: "card route", id: `schema-${name}` },
        h("h3", {}, h("code", {}, name)),
        ...fields(schema),
      )
    ),
  );
  if (location.hash !== "") document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

/** The shortest way to an output, for this server. */
function example() {
  return [
    `URL=${location.origin}`,
    'ID=$(curl -s -X POST $URL/v1/sessions | sed \'s/.*"id":"\\([^"]*\\)".*/\\1/\')',
    "curl -s \"$URL/v1/sessions/$ID/chunks?wait=true\" -H 'Content-Type: application/json' \\",
    '  -d \'{"steps": 10, "events": [[0, 0], [3, 1]]}\'',
  ].join("\n");
}

keyForm(() => void show());
void show();
