// @ts-check
/** The panel to try it: a session of one's own, fed with a drawing, with noise or with a file, and what it answers. */
import { byId, h, replace, setText } from "./dom.js";
import { compact, number, sizeOf } from "./format.js";
import { openRecording } from "./npy.js";
import { Pad } from "./pad.js";
import { Player } from "./player.js";
import { recordOf } from "./record.js";

/** @import { Recording } from "./npy.js" */
/** @import { Graph, Model } from "./types.d.ts" */
/** @import { Server } from "./server.js" */
/** @import { Viewer } from "./viewer.js" */
/** @typedef {"draw" | "noise" | "file"} Source */
/** @typedef {{ recording: Recording, at: number }} Play a file, and the step of it that is next */

/** Inputs that a pad has room for. */
const CELLS_MAX = 32 * 32;
const BARS_MAX = 20;
const FIRST_DIGIT = 3;
/** Up to here the scope lies below the panel, out of sight. */
const PHONE = "(max-width: 760px)";

/** @type {Record<Source, string>} */
const HINTS = {
  draw:
    "Opens a session and streams what you draw as spikes: the more ink in a cell, the more often it fires.",
  noise: "Opens a session and streams spikes by chance to all of its inputs.",
  file: "Opens a session and plays a recording to it: an array of time steps.",
};

/** Where a step of input is a picture: its rows and columns. @param {Model | undefined} model */
function pictureOf(model) {
  if (model === undefined) return null;
  const shape = model.sample_shape;
  const size = sizeOf(shape);
  if (size > CELLS_MAX || size < 4) return null;
  const [rows = 1, columns = 1] = shape.slice(-2);
  if (shape.length > 1 && rows > 1 && columns > 1 && rows * columns === size) {
    return { rows, columns };
  }
  const side = Math.sqrt(size);
  return Number.isInteger(side) ? { rows: side, columns: side } : null;
}

/** Whether all of a recording was sent. @param {Play} play */
const isAtEnd = ({ recording, at }) => at === recording.steps;

export class TryIt {
  #server;
  #viewer;
  #pad = new Pad(byId("pad"));
  #player;
  #modelSelect = /** @type {HTMLSelectElement} */ (byId("try-model"));
  #speed = /** @type {HTMLSelectElement} */ (byId("try-speed"));
  #noise = /** @type {HTMLInputElement} */ (byId("noise"));
  #startButton = /** @type {HTMLButtonElement} */ (byId("try-start"));
  /** The same in the empty scope. */
  #elsewhere = /** @type {HTMLButtonElement} */ (byId("scope-start"));
  #endButton = /** @type {HTMLButtonElement} */ (byId("try-end"));
  /** @type {Source} */
  #source = "draw";
  #wantsReset = false;
  /** @type {Play | null} */
  #play = null;
  /** @type {{ bar: HTMLElement, count: HTMLElement, item: HTMLElement }[]} */
  #bars = [];

  /** @param {Server} server @param {Viewer} viewer */
  constructor(server, viewer) {
    this.#server = server;
    this.#viewer = viewer;
    this.#player = new Player({
      options: () => this.#sessionOptions(),
      draw: (steps) => this.#draw(steps),
      takeReset: () => this.#takeReset(),
      onSession: async (session) => {
        const { model, graph } = this.#chosen();
        if (model === undefined || graph === undefined) {
          throw new Error("The model is not served any more");
        }
        this.#wantsReset = false;
        viewer.watch({
          session,
          model,
          graph,
          fromStart: true,
          knowsInput: true,
        });
        await server.refresh();
      },
      onSent: (start, { values }, reset) => {
        if (viewer.watched?.session.id !== this.#player.session?.id) return;
        viewer.putInput(start, values);
        if (reset) viewer.beginCount(start, "from rest");
      },
      say: (text, isTrouble = false) => this.#say(text, isTrouble),
      unsay: (text) => {
        if (byId("try-message").textContent === text) this.#say("");
      },
      onChange: () => this.#showState(),
    });
    this.#listen();
    this.#choose("draw");
    server.addEventListener("models", () => this.#showModels());
    viewer.addEventListener("output", () => this.#showAnswer());
    viewer.addEventListener("watch", () => this.#showBars());
  }

  /** The session of one's own, if there is one. */
  get session() {
    return this.#player.session;
  }

  /** Begins with what is chosen. */
  #start() {
    if (this.#source === "file" && this.#play === null) {
      byId("file").click();
      return;
    }
    if (this.#source === "file" && this.#play !== null && isAtEnd(this.#play)) {
      this.#play.at = 0;
      this.#inputChanged();
    }
    if (matchMedia(PHONE).matches) byId("scope-title").scrollIntoView();
    void this.#player.start();
  }

  /** @param {string} text @param {boolean} [isTrouble] */
  #say(text, isTrouble = false) {
    const place = byId("try-message");
    setText(place, text);
    place.classList.toggle("news", !isTrouble);
  }

  /** Ends the session, and what it was fed with. */
  async #end() {
    this.#play = null;
    this.#player.forget();
    await this.#player.end();
  }

  /** Other input: it begins at rest, and what was to come of the last is not sent. */
  #inputChanged() {
    this.#wantsReset = this.#player.session !== null;
    this.#player.forget();
  }

  #listen() {
    this.#startButton.addEventListener("click", () => {
      if (this.#player.isRunning) this.#player.pause();
      else this.#start();
    });
    this.#elsewhere.addEventListener("click", () => this.#start());
    this.#endButton.addEventListener("click", () => {
      void this.#end().then(() => this.#server.refresh());
    });
    this.#modelSelect.addEventListener("change", () => {
      void this.#end();
      this.#fitModel();
    });
    this.#speed.addEventListener("change", () => this.#setSpeed());
    this.#noise.addEventListener("input", () => this.#showNoise());
    for (const radio of this.#radios()) {
      radio.addEventListener("change", () => this.#choose(/** @type {Source} */ (radio.value)));
    }
    this.#pad.addEventListener("change", () => {
      this.#wantsReset = this.#player.session !== null;
      this.#showAnswer();
    });
    replace(
      byId("presets"),
      ...Array.from({ length: 10 }, (_, digit) =>
        h("button", {
          type: "button",
          "aria-label": `Draw a ${digit}`,
          onclick: () => this.#pad.drawDigit(digit),
        }, digit)),
      h("button", { type: "button", class: "wide", onclick: () => this.#pad.clear() }, "Clear"),
    );
    const drop = byId("drop");
    const file = /** @type {HTMLInputElement} */ (byId("file"));
    file.addEventListener(
      "change",
      () => void this.#playFile(file.files?.[0]).then(() => file.value = ""),
    );
    drop.addEventListener("dragover", (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      void this.#playFile(event.dataTransfer?.files[0]);
    });
  }

  #radios() {
    return /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("input[name=source]")]);
  }

  #chosen() {
    const id = this.#modelSelect.value;
    return { model: this.#server.model(id), graph: this.#server.graphs.get(id) };
  }

  #showModels() {
    const { models } = this.#server;
    const before = this.#modelSelect.value;
    replace(this.#modelSelect, ...models.map(({ id }) => h("option", { value: id }, id)));
    if (models.some(({ id }) => id === before)) this.#modelSelect.value = before;
    byId("try-model-field").hidden = models.length < 2;
    for (const button of [this.#startButton, this.#elsewhere]) {
      button.disabled = models.length === 0;
    }
    this.#fitModel();
  }

  /** Offers what the chosen model can be fed with. */
  #fitModel() {
    const picture = pictureOf(this.#chosen().model);
    const draw = this.#radios().find(({ value }) => value === "draw");
    if (draw !== undefined) {
      draw.disabled = picture === null;
      const why = `The input of this model is no picture of at most ${number(CELLS_MAX)} cells`;
      draw.parentElement?.setAttribute("title", picture === null ? why : "");
    }
    if (picture !== null) {
      const isNew = picture.rows !== this.#pad.rows || picture.columns !== this.#pad.columns;
      this.#pad.resize(picture.rows, picture.columns);
      if (isNew) this.#pad.drawDigit(FIRST_DIGIT);
    } else if (this.#source === "draw") this.#choose("noise");
  }

  /** @param {Source} source */
  #choose(source) {
    this.#source = source;
    setText(byId("try-hint"), HINTS[source]);
    this.#say("");
    for (const radio of this.#radios()) radio.checked = radio.value === source;
    for (const each of ["draw", "noise", "file"]) byId(`source-${each}`).hidden = each !== source;
    this.#setSpeed();
    this.#play = null;
    if (source === "file") this.#player.pause();
    this.#inputChanged();
    this.#showState();
  }

  #setSpeed() {
    this.#player.stepsASecond = Number(this.#speed.value);
  }

  #showNoise() {
    setText(byId("noise-value"), `${this.#noise.value} %`);
  }

  /** @param {File | undefined} file */
  async #playFile(file) {
    const { model } = this.#chosen();
    if (file === undefined || model === undefined) return;
    this.#player.pause();
    this.#play = null;
    try {
      this.#play = { recording: await openRecording(file, model.sample_shape), at: 0 };
      this.#inputChanged();
      this.#start();
    } catch (error) {
      this.#player.fail(error);
    }
    this.#showState();
  }

  /** The next steps of the file; null at its end. @param {number} most */
  async #readFile(most) {
    const play = this.#play;
    if (play === null) return null;
    const { recording, at } = play;
    const left = recording.steps - at;
    if (left === 0) {
      this.#say(`Sent ${number(recording.steps)} steps.`);
      return null;
    }
    const steps = Math.min(most, left);
    const values = await recording.read(at, at + steps);
    play.at += steps;
    // Once a second, for it is read out.
    const second = (/** @type {number} */ step) => Math.floor(step / this.#player.stepsASecond);
    if (at === 0 || second(at) !== second(play.at)) {
      this.#say(`Step ${number(play.at)} of ${number(recording.steps)}`);
    }
    return { steps, values };
  }

  #sessionOptions() {
    const { model, graph } = this.#chosen();
    if (model === undefined || graph === undefined) throw new Error("No model is served");
    const readout = graph.readout && sizeOf(model.output_shape) > 1;
    return { model: model.id, record: recordOf(graph), ...(readout && { readout }) };
  }

  /** The next steps: of the file, or every input spikes at each with its own chance. @param {number} steps */
  async #draw(steps) {
    if (this.#source === "file") return await this.#readFile(steps);
    const size = sizeOf(this.#chosen().model?.sample_shape ?? []);
    const chance = Number(this.#noise.value) / 100;
    const isDrawn = this.#source === "draw";
    const values = new Float32Array(steps * size);
    /** @type {[number, number][]} */
    const events = [];
    for (let t = 0; t < steps; t++) {
      for (let i = 0; i < size; i++) {
        if (Math.random() >= (isDrawn ? this.#pad.cells[i] ?? 0 : chance)) continue;
        events.push([t, i]);
        values[t * size + i] = 1;
      }
    }
    return { steps, events, values };
  }

  /** A new drawing starts from rest, once the pen is up. */
  #takeReset() {
    const now = this.#wantsReset && !this.#pad.isDrawing;
    if (now) this.#wantsReset = false;
    return now;
  }

  #showState() {
    const { isRunning, session } = this.#player;
    const isOver = this.#source === "file" && this.#play !== null && isAtEnd(this.#play);
    const idle = isOver ? "Play again" : session === null ? "Start" : "Resume input";
    // Without a file there is nothing to start: its place to drop one is the button.
    this.#startButton.hidden = this.#source === "file" && this.#play === null;
    setText(this.#startButton, isRunning ? "Pause input" : idle);
    this.#startButton.title = isRunning
      ? "Sends nothing more; the session keeps its slot and its state"
      : session === null
      ? "Opens a session and sends it this input"
      : isOver
      ? "Sends the same recording once more, from rest"
      : "Sends this input on to the same session";
    this.#startButton.classList.toggle("primary", !isRunning);
    this.#endButton.hidden = session === null;
  }

  #showBars() {
    const { watched } = this.#viewer;
    const panel = byId("answer");
    panel.hidden = watched === null;
    if (watched === null) return;
    const { graph, model } = watched;
    const outputs = sizeOf(model.output_shape);
    this.#bars = Array.from({ length: Math.min(outputs, BARS_MAX) }, (_, i) => {
      const bar = h("i", {});
      const count = h("b", {}, "0");
      const item = h(
        "li",
        {},
        count,
        h("span", { class: "track" }, bar),
        h("span", { class: "name" }, graph.labels?.[i] ?? i),
      );
      return { bar, count, item };
    });
    replace(byId("bars"), ...this.#bars.map(({ item }) => item));
    byId("answer-verdict").hidden = outputs < 2;
    setText(byId("answer-class"), "–");
    const since = watched.knowsInput ? " since the input changed," : "";
    const more = outputs > BARS_MAX ? ` The first ${BARS_MAX} of ${outputs} outputs.` : "";
    const what = this.#viewer.outputsAreSpikes ? "Spikes of each output" : "Mean of each output";
    setText(byId("answer-about"), `${what}${since} in the steps shown.${more}`);
  }

  #showAnswer() {
    const counts = this.#viewer.counts();
    const most = Math.max(...counts, 1e-9);
    const { prediction, watched, scope } = this.#viewer;
    const quiet = this.#quietText();
    setText(byId("answer-quiet"), quiet);
    byId("answer-verdict").hidden = quiet !== "" || this.#bars.length < 2;
    byId("answer").classList.toggle("dim", this.#isPadEmpty());
    const hasClass = this.#bars.length > 1 && !this.#isPadEmpty();
    const lead = hasClass ? prediction?.class ?? (most > 1e-9 ? counts.indexOf(most) : null) : null;
    scope.leader = lead;
    this.#bars.forEach(({ bar, count, item }, i) => {
      const value = counts[i] ?? 0;
      bar.style.setProperty("--share", String(Math.max(0, value / most)));
      setText(count, compact(value));
      item.classList.toggle("lead", i === lead);
    });
    const name = lead === null
      ? "–"
      : prediction?.label ?? watched?.graph.labels?.[lead] ?? String(lead);
    setText(byId("answer-class"), name);
  }

  /** Whether what is seen is the answer to no ink. */
  #isPadEmpty() {
    const isOwn = this.#viewer.watched?.session.id === this.#player.session?.id;
    return isOwn && this.#source === "draw" && this.#pad.cells.every((cell) => cell === 0);
  }

  /** What to do where nothing fires, and what the model's reader warned of; nothing where it does. */
  #quietText() {
    const { watched } = this.#viewer;
    if (watched === null || !this.#viewer.isQuiet) return "";
    if (this.#isPadEmpty()) return "Nothing is drawn.";
    const isOwn = watched.session.id === this.#player.session?.id;
    const more = !isOwn || this.#source === "file"
      ? "check the input"
      : this.#source === "draw"
      ? "draw more ink"
      : "raise the chance";
    const warnings = watched.model.notes.filter(({ level }) => level === "warning");
    const texts = new Set(warnings.map(({ text }) => text.replace(/\.?$/, ".")));
    return [`No spikes yet: ${more}, or check --dt and --dialect.`, ...texts].join(" ");
  }
}
