// @ts-check
/** The slot map: a tile for each slot and each parked session, with its state, session and rate. */
import { byId, h, replace, setText } from "./dom.js";
import { compact, number, plural, shortId } from "./format.js";

/** @import { Place, PlaceTable, Server } from "./server.js" */

/** From here on tiles show their colour only. */
const LARGE_TILES_MAX = 64;
const TILES_MAX = 4096;

export class SlotsView {
  #onChoose;
  /** @type {Map<string, { tile: HTMLElement, show: (place: Place) => void }>} */
  #tiles = new Map();
  #layout = "";
  #server;
  /** @type {string | null} */
  #watched = null;

  /** @param {Server} server @param {(model: string, session: string) => void} onChoose */
  constructor(server, onChoose) {
    this.#server = server;
    this.#onChoose = onChoose;
    server.addEventListener("slots", () => this.#show());
  }

  /** @param {string | null} session */
  set watched(session) {
    this.#watched = session;
    this.#show();
  }

  #show() {
    const { places } = this.#server;
    const layout = places.map(layoutOf).join(" ");
    if (layout !== this.#layout) this.#build(places);
    this.#layout = layout;
    for (const table of places) {
      for (const place of table.places) this.#tiles.get(keyOf(table.model, place))?.show(place);
    }
    const total = places.reduce((sum, each) => sum + each.total, 0);
    const free = places.reduce((sum, each) => sum + each.free, 0);
    const waiting = places.reduce((sum, each) => sum + each.waiting, 0);
    const queue = waiting === 0 ? "" : `, ${plural(waiting, "request")} waiting for one`;
    setText(
      byId("slots-summary"),
      total === 0 ? "" : `${number(free)} of ${plural(total, "slot")} free${queue}`,
    );
  }

  /** New tiles, and the focus where it was. @param {readonly PlaceTable[]} places */
  #build(places) {
    const focused = document.activeElement?.closest("li")?.dataset["key"];
    this.#tiles.clear();
    replace(
      byId("slots"),
      ...places.map((table) =>
        h(
          "div",
          { class: "slot-group" },
          places.length > 1 && h("h3", {}, table.model),
          h(
            "ul",
            { class: table.places.length > LARGE_TILES_MAX ? "tiles-small" : "tiles-large" },
            ...table.places.slice(0, TILES_MAX).map((place) =>
              this.#tile(table.model, place, table.places.length > LARGE_TILES_MAX)
            ),
          ),
          table.places.length > TILES_MAX &&
            h("p", { class: "hint" }, `The first ${number(TILES_MAX)} are shown.`),
          table.parkedOfOthers > 0 &&
            h(
              "p",
              { class: "hint" },
              `${plural(table.parkedOfOthers, "parked session")} of other keys.`,
            ),
        )
      ),
    );
    if (focused !== undefined) this.#tiles.get(focused)?.tile.querySelector("button")?.focus();
  }

  /** @param {string} model @param {Place} place @param {boolean} isSmall its words are only for readers of screens */
  #tile(model, place, isSmall) {
    const key = keyOf(model, place);
    const { session } = place;
    const [state, detail, rate] = [
      h("span", { class: "state" }),
      h("span", { class: "who" }),
      h("span", { class: "rate" }),
    ];
    const name = place.slot === null ? "off" : String(place.slot);
    const number_ = h("span", { class: "number" }, h("span", { class: "unseen" }, "Slot "), name);
    const content = [number_, " ", state, " ", detail, " ", rate];
    const box = session === null
      ? h("div", {}, ...content)
      : h("button", { type: "button", onclick: () => this.#onChoose(model, session) }, ...content);
    const tile = h("li", { "data-key": key }, box);
    const show = (/** @type {Place} */ now) => {
      tile.dataset["state"] = now.state;
      setText(state, now.state);
      setText(
        detail,
        now.session === null ? (now.state === "free" ? "" : "another key") : shortId(now.session),
      );
      setText(
        rate,
        now.state === "running"
          ? `${number(now.rate)} /s`
          : now.steps > 0
          ? `${compact(now.steps)} step${now.steps === 1 ? "" : "s"}`
          : "",
      );
      const words =
        `${now.slot === null ? "No slot" : `Slot ${now.slot}`} of ${model}: ${now.state}` +
        (now.state === "free"
          ? ""
          : `, ${number(now.rate)} steps a second, ${plural(now.steps, "step")} done`);
      box.title = words;
      if (session === null) return;
      if (isSmall) box.setAttribute("aria-label", `${words}, session ${shortId(session)}`);
      box.setAttribute("aria-pressed", String(session === this.#watched));
    };
    this.#tiles.set(key, { tile, show });
    return tile;
  }
}

/** @param {string} model @param {Place} place */
const keyOf = (model, { slot, session }) => `${model}/${slot ?? "off"}/${session ?? "-"}`;

/** Tiles are built anew when this changes; all else is shown in place. @param {PlaceTable} table */
const layoutOf = (table) =>
  `${table.parkedOfOthers} ${
    table.places.map((place) => `${keyOf(table.model, place)}${place.state === "free"}`).join(" ")
  }`;
