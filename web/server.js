// @ts-check
/**
 * What the page knows of the server: whether it is there, its models, its slots and how fast each of
 * them goes, what happened. Kept by the event feed, which says every second that the server lives.
 */
import { EventFollower, getJson } from "./api.js";

/** @import { Refusal } from "./api.js" */
/** @import { Graph, Model, Session, SlotTable } from "./types.d.ts" */
/** @typedef {"free" | "fresh" | "running" | "idle" | "parked"} SlotState */
/** @typedef {{ slot: number | null, state: SlotState, session: string | null, rate: number, steps: number, waiting: number }} Place */
/** @typedef {{ model: string, total: number, free: number, waiting: number, places: Place[], parkedOfOthers: number }} PlaceTable */

/** The feed speaks every second; a server that is silent for longer is frozen or cut off. */
const SILENCE_MS = 4000;
const LOG_MAX = 50;
/** Tables of more slots are asked for less often. */
const SLOTS_A_SECOND = 512;

export class Server extends EventTarget {
  /** @type {"connecting" | "live" | "lost" | "refused"} */
  status = "connecting";
  statusSince = new Date();
  /** Why, in words, when it refuses. */
  reason = "";
  /** @type {readonly Model[]} */
  models = [];
  /** @type {ReadonlyMap<string, Graph>} */
  graphs = new Map();
  /** @type {readonly PlaceTable[]} */
  places = [];
  /** @type {{ at: Date, event: string, data: any }[]} */
  log = [];
  /** @type {EventFollower | null} */
  #feed = null;
  /** @type {Map<string, { steps: number, at: number, rate: number }>} */
  #progress = new Map();
  #served = "";
  #wasLost = false;
  #isAsking = false;
  #askedAt = -Infinity;

  start() {
    this.#feed?.close();
    this.#feed = new EventFollower("/v1/events", {
      silenceMs: SILENCE_MS,
      onOpen: () => void this.#opened(),
      onLost: () => this.#turn("lost"),
      onRefused: (error) => this.#refused(error),
      onEvent: (event, data) => this.#heard(event, data),
    });
  }

  retryNow() {
    this.#feed?.retryNow();
  }

  /** @param {string} id */
  model(id) {
    return this.models.find((model) => model.id === id);
  }

  /** @param {Server["status"]} status */
  #turn(status) {
    if (status === this.status) return;
    if (status === "lost") this.#wasLost = true;
    if (status === "lost" || (status === "live" && this.#wasLost)) {
      this.#note({
        at: new Date(),
        event: status === "lost" ? "server_lost" : "server_back",
        data: {},
      });
    }
    if (status === "live") this.#wasLost = false;
    this.status = status;
    this.statusSince = new Date();
    this.dispatchEvent(new Event("status"));
  }

  /** @param {Refusal} error */
  #refused(error) {
    this.reason = error.message;
    this.#turn("refused");
  }

  async #opened() {
    try {
      const { models } = await getJson("/v1/models");
      const graphs = await Promise.all(
        models.map((/** @type {Model} */ { id }) =>
          getJson(`/v1/models/${encodeURIComponent(id)}/graph`)
        ),
      );
      const served = JSON.stringify([models, graphs]);
      if (served !== this.#served) {
        this.#served = served;
        this.models = models;
        this.graphs = new Map(graphs.map((graph) => [graph.id, graph]));
        this.dispatchEvent(new Event("models"));
      }
    } catch {
      return; // the feed breaks too, and all this is tried again
    }
    this.#turn("live");
    void this.refresh();
  }

  /** @param {{ at: Date, event: string, data: any }} entry */
  #note(entry) {
    this.log.unshift(entry);
    this.log.length = Math.min(this.log.length, LOG_MAX);
    this.dispatchEvent(new Event("log"));
  }

  /** @param {string} event @param {any} data */
  #heard(event, data) {
    if (event !== "load") {
      this.#note({ at: data.at === undefined ? new Date() : new Date(data.at), event, data });
      return void this.refresh();
    }
    const slots = this.places.reduce((sum, { total }) => sum + total, 0);
    const isDue = performance.now() - this.#askedAt > 1000 * slots / SLOTS_A_SECOND;
    if (!document.hidden && isDue) void this.refresh();
  }

  /** Asks for the slots again. */
  async refresh() {
    if (this.#isAsking || this.status !== "live") return;
    this.#isAsking = true;
    this.#askedAt = performance.now();
    try {
      /** @type {{ models: SlotTable[] }} */
      const { models } = await getJson("/v1/slots");
      const isParked = models.some((each) => each.sessions > each.slots_total - each.slots_free);
      /** @type {{ sessions: Session[] }} */
      const { sessions } = isParked ? await getJson("/v1/sessions") : { sessions: [] };
      const parked = sessions.filter(({ state }) => state === "parked");
      this.places = models.map((table) => this.#placesOf(table, parked));
      this.dispatchEvent(new Event("slots"));
    } catch {
      // The next second asks again; a server that is away is the feed's to tell.
    } finally {
      this.#isAsking = false;
    }
  }

  /** @param {SlotTable} table @param {readonly Session[]} parked @returns {PlaceTable} */
  #placesOf(table, parked) {
    const places = table.slots.map((slot) => {
      const { state, session = null, steps_done: steps = 0, frames_waiting: waiting = 0 } = slot;
      const rate = state === "free"
        ? 0
        : this.#rateOf(`${table.model}/${slot.slot}/${session}`, steps);
      /** @type {SlotState} */
      const now = state === "free"
        ? "free"
        : rate > 0 || waiting > 0
        ? "running"
        : steps === 0
        ? "fresh"
        : "idle";
      return { slot: slot.slot, state: now, session, rate, steps, waiting };
    });
    const own = parked.filter(({ model }) => model === table.model);
    const held = table.slots_total - table.slots_free;
    return {
      model: table.model,
      total: table.slots_total,
      free: table.slots_free,
      waiting: table.sessions_waiting,
      places: [
        ...places,
        ...own.map(({ id, steps_done: steps }) => ({
          slot: null,
          state: /** @type {const} */ ("parked"),
          session: id,
          rate: 0,
          steps,
          waiting: 0,
        })),
      ],
      parkedOfOthers: Math.max(0, table.sessions - held - own.length),
    };
  }

  /** Steps a second since the last look. @param {string} key @param {number} steps */
  #rateOf(key, steps) {
    const now = performance.now();
    const before = this.#progress.get(key);
    const seconds = before === undefined ? 0 : (now - before.at) / 1000;
    if (before !== undefined && seconds < 0.5) return before.rate;
    const rate = before === undefined || seconds > 30
      ? 0
      : Math.max(0, steps - before.steps) / seconds;
    this.#progress.delete(key);
    this.#progress.set(key, { steps, at: now, rate });
    for (const [old, { at }] of this.#progress) {
      if (now - at < 60_000) break;
      this.#progress.delete(old);
    }
    return rate;
  }
}
