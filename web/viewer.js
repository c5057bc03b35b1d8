// @ts-check
/**
 * One session on the scope: its outputs and recorded values as its stream brings them, and in words
 * what the picture shows. Another session takes its place.
 */
import { EventFollower, sessionPath } from "./api.js";
import { byId, setText } from "./dom.js";
import { number, plural, shapeText, sizeOf } from "./format.js";
import { layersText } from "./record.js";
import { Scope } from "./scope.js";
import { StepRing } from "./step_ring.js";
import { bits, floats } from "./wire.js";

/** @import { Band } from "./scope.js" */
/** @import { Graph, Model, Prediction, Session } from "./types.d.ts" */
/**
 * @typedef {object} Watched
 * @property {Session} session
 * @property {Model} model
 * @property {Graph} graph
 * @property {boolean} fromStart whether to show what its ring still holds
 * @property {boolean} knowsInput whether `putInput` will be called
 */

/** Bands are many only where somebody recorded everything; a picture has no room for more. */
const BANDS_MAX = 8;
/** So many steps without a spike are worth a word. */
const QUIET_STEPS = 100;

/** @param {StepRing} ring */
const partText = ({ size, rows }) => rows < size ? `; the first ${number(rows)} shown` : "";

export class Viewer extends EventTarget {
  #scope = new Scope(/** @type {HTMLCanvasElement} */ (byId("scope")));
  /** @type {Watched | null} */
  #watched = null;
  /** @type {EventFollower | null} */
  #feed = null;
  /** @type {Map<string, { ring: StepRing, isSpikes: boolean }>} by the name under which values come */
  #rings = new Map();
  #outputs = new StepRing(1);
  /** @type {StepRing | null} */
  #input = null;
  /** @type {Prediction | null} */
  prediction = null;
  /** Where the count of outputs begins. */
  countFrom = 0;
  /** Whether a neuron has fired since the count began. */
  #hasFired = false;

  constructor() {
    super();
    setInterval(() => this.#summarise(), 1000);
  }

  get scope() {
    return this.#scope;
  }

  get watched() {
    return this.#watched;
  }

  get outputsAreSpikes() {
    const { graph } = this.#watched ?? {};
    return graph?.layers.find(({ name }) => name === graph.output)?.kind === "spike";
  }

  /** @param {Watched} watched */
  watch(watched) {
    this.stop();
    this.#watched = watched;
    const { session, fromStart } = watched;
    this.#makeBands(watched);
    this.countFrom = session.steps_done;
    this.#hasFired = false;
    const encoding = this.outputsAreSpikes ? "bits" : "base64";
    const path = `${sessionPath(session.id)}/outputs?encoding=${encoding}${
      fromStart ? "" : "&from=now"
    }`;
    this.#feed = new EventFollower(path, {
      onEvent: (event, data) => this.#heard(event, data),
      onOver: () => this.#say("The session has ended."),
      onRefused: ({ message }) => this.#say(message),
      onLost: () => this.#say("The stream broke; it goes on as soon as the server answers."),
      onOpen: () => this.#say(""),
    });
    this.dispatchEvent(new Event("watch"));
    this.#summarise();
  }

  stop() {
    this.#feed?.close();
    this.#feed = null;
    this.#watched = null;
    this.prediction = null;
    this.#rings.clear();
    this.#input = null;
    this.#scope.show([], 0);
    setText(byId("scope-layers"), "");
    this.#say("");
    this.dispatchEvent(new Event("watch"));
    this.#summarise();
  }

  /** What was sent for the steps from `start`: [steps][inputs]. @param {number} start @param {Float32Array} values */
  putInput(start, values) {
    this.#input?.put(start, values);
  }

  /** From here on the outputs are counted anew. @param {number} step @param {string} word */
  beginCount(step, word) {
    this.countFrom = step;
    this.#hasFired = false;
    this.#scope.mark(step, word);
  }

  /** Whether none of the neurons whose spikes are seen has fired for some time. */
  get isQuiet() {
    const seesSpikes = this.outputsAreSpikes ||
      [...this.#rings.values()].some(({ isSpikes }) => isSpikes);
    return seesSpikes && !this.#hasFired && this.#scope.last - this.countFrom >= QUIET_STEPS;
  }

  /**
   * What each output has done since the count began, over at most as many steps as the scope shows:
   * spikes, or the mean of values.
   */
  counts() {
    const to = this.#scope.last;
    const from = Math.max(this.countFrom, to - this.#scope.window);
    const steps = Math.max(1, to - from);
    const over = this.outputsAreSpikes ? 1 : steps;
    return Array.from(
      { length: this.#outputs.rows },
      (_, row) => this.#outputs.rowTotal(row, from, to) / over,
    );
  }

  /** @param {Watched} watched */
  #makeBands({ session, model, graph, knowsInput }) {
    /** @type {Band[]} */
    const bands = [];
    const outputs = sizeOf(model.output_shape);
    this.#outputs = new StepRing(outputs);
    if (knowsInput) {
      const ring = this.#input = new StepRing(sizeOf(model.sample_shape));
      const note = `${plural(ring.size, "input")}, spikes sent${partText(ring)}`;
      bands.push({
        id: "input",
        title: "input",
        note,
        look: "input",
        spikes: ring,
        trace: null,
        labels: null,
      });
    }
    const membrane = `${graph.output}.v`;
    for (const name of session.record) {
      const probe = graph.record.find((each) => each.name === name);
      if (probe === undefined) continue;
      const isSpikes = name.endsWith(".s");
      const ring = new StepRing(sizeOf(probe.shape));
      this.#rings.set(name, { ring, isSpikes });
      if (name === membrane || name === `${graph.output}.s` || bands.length >= BANDS_MAX) continue;
      const what = isSpikes
        ? `${plural(ring.size, "neuron")}, spikes`
        : `${name.slice(name.lastIndexOf(".") + 1)} of ${
          plural(ring.size, "neuron")
        }, each to its own scale`;
      bands.push({
        id: name,
        title: name.slice(0, name.lastIndexOf(".")),
        note: what + partText(ring),
        look: "spikes",
        spikes: isSpikes ? ring : null,
        trace: isSpikes ? null : ring,
        labels: null,
      });
    }
    const areSpikes = this.outputsAreSpikes;
    const trace = areSpikes ? this.#rings.get(membrane)?.ring ?? null : this.#outputs;
    const shows = areSpikes
      ? (trace === null ? "spikes" : "spikes and scaled membranes")
      : "values";
    bands.push({
      id: "output",
      title: graph.output,
      note: `${plural(outputs, "output")}, ${shows}`,
      look: "output",
      spikes: areSpikes ? this.#outputs : null,
      trace,
      labels: graph.labels,
    });
    this.#scope.show(bands, session.steps_done);
    const shown = new Set(bands.map(({ id }) => id));
    setText(byId("scope-layers"), layersText(graph, session, shown, knowsInput));
  }

  /** @param {string} event @param {any} data */
  #heard(event, data) {
    switch (event) {
      case "output":
        return this.#output(data);
      case "rolled_back":
        this.#scope.mark(data.to_step, "rolled back");
        return;
      case "error":
        return this.#say(`Chunk ${data.seq} failed at step ${number(data.at_step)}: ${data.code}`);
      case "end":
        return this.#say(`The session has ended: ${data.reason}.`);
      case "notice":
        if (data.code === "expiring") this.#say(`The session ends soon: ${data.reason}.`);
        return;
    }
  }

  /** @param {any} data */
  #output({ start_step: start, steps, data, probes = {}, prediction = null }) {
    const values = this.outputsAreSpikes ? bits(data, steps, this.#outputs.size) : floats(data);
    this.#outputs.put(start, values);
    const counts = start + steps > this.countFrom;
    if (counts && this.outputsAreSpikes) this.#hasFired ||= values.some((value) => value !== 0);
    for (const [name, text] of Object.entries(probes)) {
      const { ring, isSpikes } = this.#rings.get(name) ?? {};
      if (ring === undefined) continue;
      const packed = isSpikes && this.outputsAreSpikes;
      const recorded = packed ? bits(String(text), steps, ring.size) : floats(String(text));
      ring.put(start, recorded);
      if (counts && isSpikes) this.#hasFired ||= recorded.some((value) => value !== 0);
    }
    this.prediction = prediction;
    this.#scope.advance(start + steps, steps);
    this.dispatchEvent(new Event("output"));
  }

  /** @param {string} text */
  #say(text) {
    setText(byId("scope-message"), text);
  }

  #summarise() {
    setText(byId("scope-summary"), this.#summary());
  }

  #summary() {
    if (this.#watched === null) return "";
    const { session, model } = this.#watched;
    const to = this.#scope.last;
    const rates = this.#scope.bands.flatMap(({ title, spikes }) => {
      const { sum, steps } = spikes?.total(to - this.#scope.window, to) ?? { sum: 0, steps: 0 };
      return steps === 0 ? [] : [`${title} ${number(sum / steps)}`];
    });
    const spikes = rates.length === 0 ? "" : ` · spikes a step: ${rates.join(", ")}`;
    return `Session ${session.id} of ${model.id}, ${shapeText(model.sample_shape)} to ` +
      `${shapeText(model.output_shape)} · step ${number(to)} · ${
        number(this.#scope.rate())
      } steps/s${spikes}`;
  }
}
