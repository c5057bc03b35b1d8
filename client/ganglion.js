// Made by tools/gen_client.ts; do not edit.


// client/clock.ts
var realClock = {
  now: () => performance.now(),
  after(ms, action) {
    const id = setTimeout(action, ms);
    return { cancel: () => clearTimeout(id) };
  }
};
function sleep(clock, ms, signal, wake) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = (settle) => () => {
      timer.cancel();
      signal?.removeEventListener("abort", aborted);
      settle();
    };
    const aborted = end(() => reject(signal.reason));
    const timer = clock.after(ms, end(resolve));
    signal?.addEventListener("abort", aborted);
    void wake?.then(end(resolve));
  });
}
function deferred() {
  let resolve;
  let reject;
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

// client/errors.ts
var GanglionError = class extends Error {
  name = "GanglionError";
  /** Stable; docs/errors.md lists the server's. */
  code;
  /** HTTP status; 0 where the client itself says so. */
  status;
  /** What to do about it. */
  action;
  /** Stands in the server's log beside what happened; null where no server answered. */
  requestId;
  /** The numbers that the message names, by their names on the wire. */
  facts;
  /** When to come again, if the server said so. */
  retryAfterMs;
  constructor(code, message, details = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status ?? 0;
    this.action = details.action ?? "";
    this.requestId = details.requestId ?? null;
    this.facts = details.facts ?? {};
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
  /** A number of `facts`; NaN where there is none. */
  number(fact) {
    const value = this.facts[fact];
    return typeof value === "number" ? value : NaN;
  }
};
async function errorOf(response) {
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  const about = {
    status: response.status,
    requestId: response.headers.get("x-request-id"),
    retryAfterMs: seconds >= 0 ? seconds * 1e3 : null
  };
  const text = await response.text();
  const problem = parseProblem(text);
  if (problem === null) {
    return new GanglionError("bad_answer", `HTTP ${response.status}: ${text.slice(0, 200)}`, about);
  }
  const { type: _, title, status: __, detail, code, action, request_id: ___, ...facts } = problem;
  return new GanglionError(code, detail || title, { ...about, action, facts });
}
function parseProblem(text) {
  try {
    const value = JSON.parse(text);
    const isProblem = typeof value === "object" && value !== null && "code" in value;
    return isProblem ? value : null;
  } catch {
    return null;
  }
}
var NoAnswerError = class extends GanglionError {
  constructor(message, cause) {
    super("unreachable", message, { action: "See whether the server runs, then try again", cause });
  }
};

// client/codec.ts
var WIRE_ENCODING = {
  f32: "base64",
  bits: "bits",
  events: "events",
  json: "json"
};
function encodeChunk(data, sampleSize) {
  if (data instanceof Float32Array) {
    return packed("application/octet-stream", data, sampleSize, "values");
  }
  if ("bits" in data) {
    return packed("application/vnd.ganglion.bits", data.bits, Math.ceil(sampleSize / 32), "words");
  }
  const { steps, events } = data;
  const bytes = new TextEncoder().encode(JSON.stringify({ steps, events }));
  return { type: "application/json", bytes, steps };
}
function packed(type, values, stepSize, what) {
  const steps = values.length / stepSize;
  if (!Number.isInteger(steps) || steps === 0) {
    throw new GanglionError(
      "bad_chunk",
      `A chunk has ${values.length} ${what}; it must be a positive multiple of ${stepSize}`,
      { action: "Send whole time steps", facts: { step_values: stepSize } }
    );
  }
  const bytes = new Uint8Array(values.byteLength);
  bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  return { type, bytes, steps };
}
function packBits(spikes, size) {
  const words = Math.ceil(size / 32);
  const bits = new Uint32Array(words * Math.ceil(spikes.length / size));
  for (let at = 0; at < spikes.length; at++) {
    if (spikes[at] === 0) continue;
    const index = at % size;
    bits[words * ((at - index) / size) + (index >>> 5)] |= 1 << (index & 31);
  }
  return bits;
}
function eventsOf({ data, steps }) {
  const size = data.length / steps;
  const events = [];
  data.forEach((value, at) => {
    if (value === 0) return;
    const place = [Math.floor(at / size), at % size];
    events.push(value === 1 ? place : [...place, value]);
  });
  return events;
}
function decodeValues(encoding, value, steps, size) {
  switch (encoding) {
    case "base64":
      return new Float32Array(bytesOf(value));
    case "bits":
      return unpackBits(new Uint32Array(bytesOf(value)), steps, size);
    case "events": {
      const values = new Float32Array(steps * size);
      for (const [t, i, x = 1] of value) values[t * size + i] = x;
      return values;
    }
    default:
      return Float32Array.from(
        value.flat(Infinity),
        (each) => each ?? NaN
      );
  }
}
function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)).buffer;
}
function unpackBits(bits, steps, size) {
  const words = Math.ceil(size / 32);
  return Float32Array.from(
    { length: steps * size },
    (_, at) => bits[words * Math.floor(at / size) + (at % size >>> 5)] >>> (at % size & 31) & 1
  );
}

// client/sse.ts
var COMMENT = { event: "", data: "", id: null };
var EventParser = class {
  #text = "";
  #event = "";
  #data = [];
  #id = null;
  push(text) {
    this.#text += text;
    const events = [];
    const lines = this.#text.split(/\r\n|\n|\r(?!$)/);
    this.#text = lines.pop();
    for (const line of lines) this.#line(line, events);
    return events;
  }
  #line(line, events) {
    if (line === "") {
      if (this.#data.length > 0) {
        events.push({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
      }
      this.#event = "";
      this.#data = [];
      this.#id = null;
      return;
    }
    if (line.startsWith(":")) {
      events.push(COMMENT);
      return;
    }
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
  }
};

// client/transport.ts
var STATUS_AGAIN = [429, 502, 503, 504];
function isWorthRepeating(error) {
  return error instanceof NoAnswerError || error instanceof GanglionError && STATUS_AGAIN.includes(error.status);
}
async function attempt(connection, path, { signal, timeoutMs, headers, isStream = false, ...init }, read) {
  const { url, apiKey, clock } = connection;
  signal?.throwIfAborted();
  const own = new AbortController();
  const ms = timeoutMs ?? connection.timeoutMs;
  const timer = clock.after(ms, () => own.abort(new NoAnswerError(`No answer for ${ms} ms`)));
  const aborted = () => own.abort(signal.reason);
  signal?.addEventListener("abort", aborted);
  try {
    const response = await connection.fetch(url + path, {
      ...init,
      headers: { ...headers, ...apiKey === null ? {} : { authorization: `Bearer ${apiKey}` } },
      signal: own.signal
    });
    if (!response.ok) throw await errorOf(response);
    return await read(response);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof GanglionError) throw error;
    throw new NoAnswerError(`${init.method ?? "GET"} ${path}: ${messageOf(error)}`, error);
  } finally {
    timer.cancel();
    if (!isStream) signal?.removeEventListener("abort", aborted);
  }
}
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
async function call(connection, path, init, read) {
  const backoff = new Backoff(connection);
  for (; ; ) {
    try {
      return await attempt(connection, path, init, read);
    } catch (error) {
      if (!isWorthRepeating(error)) throw error;
      await backoff.pause(error, init.signal);
    }
  }
}
var Backoff = class {
  #connection;
  #tries = 0;
  #sinceMs;
  constructor(connection) {
    this.#connection = connection;
    this.#sinceMs = connection.clock.now();
  }
  /** Something went well: the next pause is short again. */
  reset() {
    this.#tries = 0;
    this.#sinceMs = this.#connection.clock.now();
  }
  /** Waits before the next try, or until `wake`. Throws `unreachable` when it has been too long. */
  async pause(error, signal, wake) {
    const { clock, random, backoffMs, backoffMsMax, retryForMs, url } = this.#connection;
    if (clock.now() - this.#sinceMs >= retryForMs) {
      throw new GanglionError(
        "unreachable",
        `${url} did not take it for ${retryForMs / 1e3} s: ${messageOf(error)}`,
        {
          action: "See whether the server runs; what was sent and read so far is not lost",
          cause: error
        }
      );
    }
    const upTo = Math.min(backoffMsMax, backoffMs * 2 ** Math.min(this.#tries++, 30));
    const asked = error instanceof GanglionError ? error.retryAfterMs ?? 0 : 0;
    await sleep(clock, asked + random() * upTo, signal, wake);
  }
};

// client/reader.ts
async function* readOutputs(host) {
  const { connection, signal, notify } = host;
  const backoff = new Backoff(connection);
  const timeline = new Timeline(host.cursor);
  for (; ; ) {
    const path = host.path();
    try {
      for await (const event of connect(host, path)) {
        backoff.reset();
        if (event.event === "lagged") break;
        if (event.event === "end") return endOf(event);
        const output = take(host, timeline, event);
        if (output === null) continue;
        host.onRead(output.steps);
        yield output;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (await host.recover(path, error)) continue;
      if (error instanceof ChunkFailedError) await host.onFailed(error);
      if (!isWorthRepeating(error)) throw error;
      notify({ kind: "reconnecting", error });
      await backoff.pause(error, signal);
    }
  }
}
async function* connect(host, path) {
  const { connection, encoding, cursor, signal } = host;
  const own = new AbortController();
  const aborted = () => own.abort(signal.reason);
  signal.addEventListener("abort", aborted);
  try {
    const headers = {
      accept: "text/event-stream",
      ...cursor.id === null ? {} : { "last-event-id": cursor.id }
    };
    const query = `?encoding=${WIRE_ENCODING[encoding]}`;
    const init = { headers, signal: own.signal, isStream: true };
    const response = await attempt(connection, `${path}/outputs${query}`, init, (each) => each);
    if (response.status === 204) return yield { event: "end", data: "{}", id: null };
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (; ; ) {
      const { value, done } = await inTime(connection, own, reader.read());
      if (done) throw new NoAnswerError("The stream was cut");
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    signal.removeEventListener("abort", aborted);
    own.abort();
  }
}
async function inTime({ clock, idleMs }, controller, reading) {
  const lost = deferred();
  const cut = (error) => error instanceof NoAnswerError ? error : new NoAnswerError(`The stream was cut: ${error}`, error);
  const aborted = () => lost.reject(cut(controller.signal.reason));
  controller.signal.addEventListener("abort", aborted);
  const timer = clock.after(
    idleMs,
    () => controller.abort(new NoAnswerError(`The stream was silent for ${idleMs} ms`))
  );
  reading.catch(() => {
  });
  try {
    return await Promise.race([reading, lost.promise]);
  } catch (error) {
    throw cut(error);
  } finally {
    timer.cancel();
    controller.signal.removeEventListener("abort", aborted);
  }
}
function take(host, timeline, { event, data, id }) {
  if (event === "") return null;
  const { cursor, notify } = host;
  switch (event) {
    case "open": {
      const { missing } = JSON.parse(data);
      if (missing !== null) timeline.assertNothingLost(missing.to_step);
      return null;
    }
    case "output":
      return timeline.newPart(outputOf(JSON.parse(data), id));
    case "rolled_back": {
      const told = JSON.parse(data);
      cursor.id = id;
      timeline.rolledBack(told.epoch);
      host.onRolledBack(told.next_chunk_seq, told.epoch);
      notify({ kind: "rolled_back", event: told });
      return null;
    }
    case "error": {
      const { seq, code, at_step: step } = JSON.parse(data);
      cursor.id = id;
      if (code !== "step_failed") return null;
      throw new ChunkFailedError(code, `Chunk ${seq} was given up at step ${step}`, {
        action: "Send the rest of it again, from at_step",
        facts: { seq, at_step: step }
      });
    }
    case "notice":
      if (id !== null) cursor.id = id;
      notify({ kind: "notice", event: JSON.parse(data) });
      return null;
    default:
      return null;
  }
}
function outputOf(event, id) {
  const { seq, start_step: startStep, steps, shape, encoding, data, probes = {} } = event;
  const size = shape.slice(1).reduce((product, axis) => product * axis, 1);
  return {
    id,
    epoch: Number(id.split("-", 1)[0]),
    seq,
    startStep,
    steps,
    shape,
    data: decodeValues(encoding, data, steps, size),
    probes: Object.fromEntries(
      Object.entries(probes).map(([name, value]) => [name, decodeValues(encoding, value, steps, 0)])
    ),
    prediction: event.prediction ?? null
  };
}
function endOf({ data }) {
  const { reason = "closed" } = JSON.parse(data);
  if (reason === "closed") return;
  throw new GanglionError("session_gone", `The session has ended (${reason})`, {
    status: 410,
    action: "Open a new one",
    facts: { reason }
  });
}
var ChunkFailedError = class extends GanglionError {
};
var Timeline = class {
  #cursor;
  constructor(cursor) {
    this.#cursor = cursor;
  }
  /** The time-line goes on from an earlier step; what is told again was had already. */
  rolledBack(epoch) {
    this.#cursor.epoch = Math.max(this.#cursor.epoch, epoch);
  }
  /** What of an output was not had before; null for nothing. */
  newPart(output) {
    const cursor = this.#cursor;
    const { id, epoch, startStep, steps } = output;
    if (epoch < cursor.firstEpoch) return null;
    if (epoch > cursor.epoch) {
      cursor.epoch = epoch;
      cursor.nextStep = startStep;
    }
    const nextStep = cursor.nextStep ?? startStep;
    this.assertNothingLost(startStep);
    cursor.id = id;
    if (startStep + steps <= nextStep) return null;
    cursor.nextStep = startStep + steps;
    return startStep === nextStep ? output : lastOf(output, nextStep - startStep);
  }
  /** Throws when steps before this one were dropped before we had them. */
  assertNothingLost(step) {
    const { nextStep } = this.#cursor;
    if (nextStep === null || step <= nextStep) return;
    this.#cursor.nextStep = null;
    throw new GanglionError(
      "outputs_missing",
      `The server no longer holds the outputs of steps ${nextStep} to ${step - 1}`,
      {
        action: 'Read sooner, or open with outputs: "hold"; the next reader goes on behind them',
        facts: { from_step: nextStep, to_step: step }
      }
    );
  }
};
function lastOf(output, skip) {
  const cut = (values) => values.slice(skip * (values.length / output.steps));
  return {
    ...output,
    startStep: output.startStep + skip,
    steps: output.steps - skip,
    shape: [output.steps - skip, ...output.shape.slice(1)],
    data: cut(output.data),
    probes: Object.fromEntries(
      Object.entries(output.probes).map(([name, values]) => [name, cut(values)])
    )
  };
}

// client/sender.ts
var POLL_MS = 1e3;
var DURABLE_POLL_MS = 200;
var GONE = [401, 403, 404, 410];
var REFUSED = [400, 406, 413, 415, 422];
var Sender = class {
  #host;
  #backoff;
  #ring = [];
  #first;
  // number of the oldest in the ring
  #next = 0;
  // index of the next to send
  #takenBytes = 0;
  #epoch;
  #durable;
  #credit;
  #room = null;
  #isWhole = true;
  // every chunk since the session began is in the ring
  #turns = 0;
  // times that numbers were given anew while a request may have been under way
  #posting = null;
  #pump = null;
  #broken = null;
  constructor(host, view) {
    this.#host = host;
    this.#backoff = new Backoff(host.connection);
    this.#begin(view);
  }
  /**
   * Queues a chunk. Resolves when the server has taken it; with `waits` when it has run, with what it
   * gave. When the signal aborts, the chunk is withdrawn unless it was already on its way.
   */
  push(body, waits, signal) {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#broken !== null) return Promise.reject(this.#broken);
    const answer = deferred();
    const state = { isAnswered: false, isTaken: false, isDoubtful: false, startStep: null };
    const entry = { body, waits, answer, ...state };
    this.#ring.push(entry);
    const aborted = () => {
      const index = this.#ring.indexOf(entry);
      const isOnItsWay = entry.isDoubtful || this.#posting === entry;
      if (index >= 0 && !entry.isTaken && !isOnItsWay) this.#ring.splice(index, 1);
      this.#settle(entry, () => answer.reject(signal.reason));
    };
    signal?.addEventListener("abort", aborted);
    const forget = () => signal?.removeEventListener("abort", aborted);
    answer.promise.then(forget, forget);
    this.#start();
    return answer.promise;
  }
  /** Resolves when nothing is left to send. */
  async idle() {
    while (this.#pump !== null) await this.#pump;
    if (this.#broken !== null) throw this.#broken;
  }
  /** Whether a session that begins anew would, with what is in the ring, be where this one is. */
  get isWhole() {
    return this.#isWhole && this.#first === 0 && this.#broken === null;
  }
  /** The state was replaced while nothing waited: what was sent before is never needed again. */
  restarted(view) {
    this.#ring = [];
    this.#isWhole = false;
    this.#takenBytes = 0;
    this.#begin(view);
  }
  /** Another session took the place of one that is lost: everything is sent again. */
  reopened(view) {
    this.#turns++;
    this.#begin(view);
    this.#start();
  }
  #begin(view) {
    this.#next = 0;
    this.#first = view.next_chunk_seq;
    this.#epoch = view.epoch;
    this.#durable = view.durable_seq;
    this.#credit = view.credit;
  }
  /** Outputs of so many steps were read: the queue has that much more room. */
  read(steps) {
    this.#credit += steps;
    if (this.#room !== null && this.#credit >= this.#room.steps) this.#room.wake.resolve();
  }
  /** The session lost the chunks from a number on; they are sent again. */
  rolledBack(nextSeq, epoch) {
    if (epoch <= this.#epoch || this.#broken !== null) return;
    this.#epoch = epoch;
    if (nextSeq >= this.#first + this.#next) return;
    if (nextSeq < this.#first) {
      return this.#break(
        new GanglionError(
          "replay_lost",
          `The session was rolled back to chunk ${nextSeq}; the replay ring begins with chunk ${this.#first}`,
          {
            action: "Open a session again; raise replayBytesMax, or serve with --state-dir",
            facts: { next_chunk_seq: nextSeq, replay_from: this.#first }
          }
        )
      );
    }
    this.#turns++;
    this.#next = nextSeq - this.#first;
    if (this.#durable !== null) this.#durable = Math.min(this.#durable, nextSeq - 1);
    this.#start();
  }
  /**
   * A reader heard that a chunk was given up, perhaps long ago. The server knows whether numbers are
   * free again; when this resolves, so do we.
   */
  async heardOfFailure(error) {
    if (this.#broken === null) await this.#resync(error);
  }
  /** Nothing more is sent. */
  close(error) {
    this.#break(error);
  }
  /** A chunk was given up, and all after it were dropped. */
  #failed(seq, error) {
    this.#turns++;
    this.#isWhole = false;
    const from = Math.max(0, seq - this.#first);
    const dropped = this.#ring.splice(from);
    if (seq < this.#first) this.#first = seq;
    this.#next = Math.min(this.#next, from);
    this.#takenBytes = this.#ring.reduce((sum, each) => sum + bytesKept(each), 0);
    for (const entry of dropped) this.#settle(entry, () => entry.answer.reject(error));
  }
  #start() {
    if (this.#pump !== null || this.#broken !== null) return;
    this.#pump = this.#sendAll().catch((error) => this.#break(error)).finally(() => {
      this.#pump = null;
      if (this.#next < this.#ring.length) this.#start();
    });
  }
  async #sendAll() {
    while (this.#next < this.#ring.length) {
      await this.#awaitDurable();
      const entry = this.#ring[this.#next];
      if (entry === void 0) continue;
      const { steps } = entry.body;
      if (this.#credit < steps) {
        await sleep(this.#host.connection.clock, POLL_MS, this.#host.signal, this.#roomFor(steps));
        if (this.#ring[this.#next] !== entry) continue;
      }
      const turn = this.#turns;
      try {
        const waits = entry.waits && !entry.isAnswered;
        this.#posting = entry;
        const taken = await this.#host.post(entry.body, this.#first + this.#next, waits);
        this.#posting = null;
        this.#backoff.reset();
        if (turn === this.#turns) this.#took(entry, taken, waits);
      } catch (error) {
        this.#posting = null;
        this.#host.signal.throwIfAborted();
        if (turn === this.#turns) await this.#refused(entry, error);
      }
    }
  }
  #took(entry, taken, waits) {
    const { credit, durableSeq, startStep } = taken;
    if (entry.startStep !== null && entry.startStep !== startStep) {
      throw new GanglionError(
        "replay_lost",
        `Chunk ${taken.seq} began at step ${entry.startStep} and would now begin at ${startStep}`,
        { action: "Open a session again: a chunk that had failed in part was rolled back" }
      );
    }
    if (credit !== null) this.#credit = credit;
    if (durableSeq !== void 0) this.#durable = durableSeq;
    this.#epoch = Math.max(this.#epoch, taken.epoch);
    this.#passed(entry, startStep);
    if (waits && taken.output === null) this.#next--;
    else this.#settle(entry, () => entry.answer.resolve(taken));
    this.#trim();
  }
  /** The number is used up; the entry stays for a replay. */
  #passed(entry, startStep) {
    if (!entry.isTaken) this.#takenBytes += entry.body.bytes.length;
    entry.isTaken = true;
    entry.startStep = startStep;
    this.#next++;
  }
  async #refused(entry, error) {
    const code = error instanceof GanglionError ? error.code : "";
    if (isWorthRepeating(error)) {
      const { status } = error;
      if (status !== 429 && status !== 503) entry.isDoubtful = true;
      const isFull = code === "queue_full" || code === "outputs_unread";
      if (code === "queue_full") this.#credit = error.number("credit") || 0;
      if (code === "outputs_unread") this.#credit = 0;
      const room = isFull ? this.#roomFor(entry.body.steps) : void 0;
      if (isFull) this.#backoff.reset();
      return await this.#backoff.pause(error, this.#host.signal, room);
    }
    if (!(error instanceof GanglionError) || GONE.includes(error.status)) {
      if (code !== "outputs_gone") throw error;
      this.#passed(entry, entry.startStep);
      return this.#settle(entry, () => entry.answer.reject(error));
    }
    if (code === "chunk_gap" || code === "rolled_back") return await this.#resync();
    if (code === "step_failed" || code === "after_failed_chunk") {
      return this.#failed(error.number("seq"), error);
    }
    if (code === "chunk_too_old" || code === "chunk_cancelled") {
      this.#passed(entry, entry.startStep);
      return this.#settle(entry, () => entry.answer.reject(error));
    }
    if (entry.isTaken || !REFUSED.includes(error.status)) throw error;
    this.#ring.splice(this.#next, 1);
    this.#settle(entry, () => entry.answer.reject(error));
  }
  /** The server expects an earlier number: it was rolled back, or a chunk failed. */
  async #resync(heard) {
    const [turn, expected] = [this.#turns, this.#first + this.#next];
    const { epoch, next_chunk_seq: nextSeq } = await this.#host.view();
    if (turn !== this.#turns) return;
    if (epoch > this.#epoch) return this.rolledBack(nextSeq, epoch);
    if (nextSeq >= expected) return;
    const error = heard ?? new GanglionError("step_failed", `Chunk ${nextSeq} was given up by the server`, {
      action: "Send what is left of it again, see the outputs",
      facts: { seq: nextSeq }
    });
    this.#failed(nextSeq, error);
  }
  #roomFor(steps) {
    this.#room = { steps, wake: deferred() };
    return this.#room.wake.promise;
  }
  /** Drops what cannot be lost any more, and where nothing is durable what is too much. */
  #trim() {
    const { replayBytesMax } = this.#host;
    while (this.#next > 0) {
      const isDurable = this.#durable !== null && this.#first <= this.#durable;
      const isTooMuch = this.#durable === null && this.#takenBytes > replayBytesMax;
      if (!isDurable && !isTooMuch) return;
      this.#takenBytes -= bytesKept(this.#ring.shift());
      this.#first++;
      this.#next--;
    }
  }
  /** Waits while the ring is full of chunks that the server is about to make durable. */
  async #awaitDurable() {
    const { replayBytesMax, connection, signal } = this.#host;
    while (this.#takenBytes > replayBytesMax && this.#durable !== null && this.#next > 0) {
      await sleep(connection.clock, DURABLE_POLL_MS, signal);
      const { durable_seq: durable } = await this.#host.view();
      this.#durable = durable;
      this.#trim();
    }
  }
  #settle(entry, settle) {
    if (entry.isAnswered) return;
    entry.isAnswered = true;
    settle();
  }
  #break(error) {
    if (this.#broken !== null) return;
    this.#broken = error;
    this.#turns++;
    const dropped = this.#ring;
    this.#ring = [];
    this.#next = 0;
    this.#takenBytes = 0;
    for (const entry of dropped) this.#settle(entry, () => entry.answer.reject(error));
  }
};
var bytesKept = ({ isTaken, body }) => isTaken ? body.bytes.length : 0;

// client/session.ts
var REPLAY_BYTES = 16 << 20;
var BUSY_MS = 50;
var readJson = (response) => response.json();
var Session = class _Session {
  #connection;
  #options;
  #sender;
  #given = new AbortController();
  #sampleSize;
  #cursor;
  #again;
  #reopening = null;
  #view;
  /** For the client. */
  constructor(connection, view, options, { start, again }) {
    this.#again = again;
    this.#connection = connection;
    this.#options = options;
    this.#view = view;
    this.#sampleSize = view.sample_shape.reduce((product, axis) => product * axis, 1);
    const epoch = start === null ? 0 : view.epoch;
    this.#cursor = { id: null, nextStep: start, epoch, firstEpoch: 0 };
    const { replayBytesMax = REPLAY_BYTES } = options;
    const signal = this.#given.signal;
    this.#sender = new Sender({
      connection,
      signal,
      replayBytesMax,
      post: (body, seq, waits) => this.#post(body, seq, waits),
      view: () => this.describe({ signal })
    }, view);
  }
  /** Changes only where a session that a server has lost was opened again. */
  get id() {
    return this.#view.id;
  }
  /** As the server last described it: shapes, `frame`, limits. */
  get view() {
    return this.#view;
  }
  /**
   * Sends a chunk and resolves when the server has taken it: wait for that, and the server's queue is
   * never overrun. Chunks arrive in the order of the calls, each once. Aborting withdraws the chunk
   * unless it is on its way.
   *
   * @throws GanglionError `bad_chunk`, or what the server says of it; `session_gone`; `step_failed` when
   *   an earlier chunk was given up and this one dropped; `replay_lost`; `unreachable`.
   */
  async send(data, { signal } = {}) {
    const body = encodeChunk(data, this.#sampleSize);
    const { output: _, ...receipt } = await this.#sender.push(body, false, signal);
    return receipt;
  }
  /** Sends a chunk and resolves with what exactly these steps gave. Readers of `outputs` get it too. */
  async run(data, { signal } = {}) {
    const taken = await this.#sender.push(encodeChunk(data, this.#sampleSize), true, signal);
    return taken.output;
  }
  /**
   * What the session gives, each step once and in order, until it is closed: over cuts, a frozen or
   * restarted server, and roll-backs. Another call goes on behind the last output that this object gave.
   * One reader at a time; `client.attach` makes others.
   *
   * @throws GanglionError `session_gone` with a `reason`; `step_failed`; `outputs_missing` when the server
   *   had dropped some before they were read; `unreachable`. Reading may go on after the middle two.
   */
  async *outputs(options = {}) {
    const { signal, after } = options;
    const { encoding = "f32", onNotice = () => {
    } } = this.#options;
    if (after !== void 0) Object.assign(this.#cursor, cursorAt(after));
    const isRecording = this.#view.record.length > 0 && encoding !== "json";
    yield* readOutputs({
      connection: this.#connection,
      path: () => this.#path,
      recover: (path, error) => this.#recover(path, error),
      encoding: isRecording ? "f32" : encoding,
      cursor: this.#cursor,
      signal: signal === void 0 ? this.#given.signal : AbortSignal.any([signal, this.#given.signal]),
      notify: onNotice,
      onRead: (steps) => this.#sender.read(steps),
      onRolledBack: (nextSeq, epoch) => this.#sender.rolledBack(nextSeq, epoch),
      onFailed: (error) => this.#sender.heardOfFailure(error)
    });
  }
  /** Asks the server how the session stands. */
  async describe({ signal } = {}) {
    const path = this.#path;
    try {
      this.#view = await this.#call("", { signal: signal ?? null });
    } catch (error) {
      if (!await this.#recover(path, error)) throw error;
    }
    return this.#view;
  }
  /** The state after the last frame that ran: a `.safetensors` file. */
  async snapshot({ signal } = {}) {
    const init = { signal: signal ?? null };
    return await call(
      this.#connection,
      `${this.#path}/state`,
      init,
      async (response) => new Uint8Array(await response.arrayBuffer())
    );
  }
  /**
   * Puts a state in place of this one, once all that was sent has run. Steps are counted on from the
   * state's; outputs that nobody has read are dropped.
   */
  async restore(state, { signal, allowInexact = false } = {}) {
    const view = await this.#whenQuiet(`/state${allowInexact ? "?allow_inexact=true" : ""}`, {
      method: "PUT",
      headers: { "content-type": "application/octet-stream" },
      body: state,
      signal: signal ?? null
    });
    this.#sender.restarted(view);
    const { epoch, steps_done: step } = view;
    const place = { id: `${epoch}-${step}`, nextStep: step, epoch, firstEpoch: epoch };
    Object.assign(this.#cursor, place);
    return view;
  }
  /** Puts the state back to rest, once all that was sent has run. Step numbers go on. */
  async reset({ signal } = {}) {
    const view = await this.#whenQuiet("/reset", { method: "POST", signal: signal ?? null });
    this.#sender.restarted(view);
    return view;
  }
  /** Takes the state off the device, once all that was sent has run; the next chunk brings it back. */
  async park({ signal } = {}) {
    return await this.#whenQuiet("/park", { method: "POST", signal: signal ?? null });
  }
  /**
   * A new session that goes on from the state after the last frame that ran.
   *
   * @throws GanglionError `unreachable` at the first answer that is lost: a repeat might make two.
   */
  async fork({ signal } = {}) {
    const init = { method: "POST", signal: signal ?? null };
    const view = await attempt(
      this.#connection,
      `${this.#path}/fork`,
      init,
      readJson
    );
    const origin = { start: view.steps_done, again: null };
    return new _Session(this.#connection, view, this.#options, origin);
  }
  /** Ends the session on the server; its outputs end with what has run. No error when it is gone. */
  async close({ signal } = {}) {
    this.#sender.close(new GanglionError("session_gone", "The session was closed here"));
    try {
      await call(
        this.#connection,
        this.#path,
        { method: "DELETE", signal: signal ?? null },
        () => void 0
      );
    } catch (error) {
      const isGone = error instanceof GanglionError && [404, 410].includes(error.status);
      if (!isGone) throw error;
    }
  }
  /** Forgets the session without ending it: readers and senders here stop; `client.attach` comes back. */
  detach() {
    const error = new GanglionError("session_gone", "The session was detached from here");
    this.#sender.close(error);
    this.#given.abort(error);
  }
  get #path() {
    return `/v1/sessions/${encodeURIComponent(this.id)}`;
  }
  /**
   * A server that was killed before it kept the session does not know it any more. When the replay ring
   * holds all that was ever sent, another session begins in its place and soon is where this one was.
   */
  async #recover(path, error) {
    const isLost = error instanceof GanglionError && error.code === "session_unknown";
    if (!isLost) return false;
    if (path !== this.#path) return true;
    if (this.#again === null || this.#reopening === null && !this.#sender.isWhole) return false;
    this.#reopening ??= this.#reopen(this.#again).finally(() => this.#reopening = null);
    await this.#reopening;
    return true;
  }
  async #reopen(again) {
    const view = await again(this.#given.signal);
    this.#view = view;
    this.#cursor.id = null;
    this.#sender.reopened(view);
    this.#options.onNotice?.({ kind: "reopened", id: view.id });
  }
  async #call(path, init) {
    return await call(this.#connection, this.#path + path, init, readJson);
  }
  /** For what needs an empty queue. */
  async #whenQuiet(path, init) {
    const { clock } = this.#connection;
    const backoff = new Backoff(this.#connection);
    for (; ; ) {
      await this.#sender.idle();
      try {
        return this.#view = await this.#call(path, init);
      } catch (error) {
        const isBusy = error instanceof GanglionError && error.code === "session_busy";
        if (!isBusy) throw error;
        backoff.reset();
        await sleep(clock, BUSY_MS, init.signal);
      }
    }
  }
  async #post(body, seq, waits) {
    const { record, readout } = this.#view;
    const isJson = !waits || record.length > 0 || readout === true;
    const init = {
      method: "POST",
      headers: {
        "content-type": body.type,
        "chunk-seq": String(seq),
        "accept": isJson ? "application/json" : "application/octet-stream"
      },
      body: body.bytes,
      signal: this.#given.signal,
      // One that waits may wait long; after so long a repeat finds out whether anybody is there.
      ...waits ? { timeoutMs: this.#connection.idleMs } : {}
    };
    const path = this.#path;
    const address = `${path}/chunks${waits ? "?wait=true" : ""}`;
    try {
      return await attempt(
        this.#connection,
        address,
        init,
        async (response) => response.status === 200 && !isJson ? takenOf(response.headers, await response.arrayBuffer(), this.#view) : takenOfJson(await response.json(), response.status === 200)
      );
    } catch (error) {
      if (!await this.#recover(path, error)) throw error;
      throw new NoAnswerError("The session was opened again, and begins with its first chunk");
    }
  }
};
function cursorAt(id) {
  const [, epoch, step] = /^(\d+)-(\d+)/.exec(id) ?? [];
  if (step === void 0) {
    throw new GanglionError("bad_id", `"${id}" is no id of an output`, {
      action: "Give the id of an output of this session"
    });
  }
  return { id, epoch: Number(epoch), nextStep: Number(step) };
}
function takenOfJson(answer, hasRun) {
  const { seq, steps, start_step: startStep, epoch, credit, durable_seq: durableSeq } = answer;
  const taken = { seq, steps, startStep, epoch, credit, durableSeq, output: null };
  if (!hasRun) return taken;
  const { shape, data, probes = {}, prediction = null } = answer;
  const decode = (value) => decodeValues("json", value, steps, 0);
  const output = {
    ...{ id: `${epoch}-${startStep + steps}`, epoch, seq, startStep, steps, shape, prediction },
    data: decode(data),
    probes: Object.fromEntries(
      Object.entries(probes).map(([name, value]) => [name, decode(value)])
    )
  };
  return { ...taken, output };
}
function takenOf(headers, values, { output_shape }) {
  const number = (name) => Number(headers.get(name));
  const [seq, startStep, steps, epoch] = [
    number("chunk-seq"),
    number("start-step"),
    number("steps"),
    number("session-epoch")
  ];
  const output = {
    ...{ id: `${epoch}-${startStep + steps}`, epoch, seq, startStep, steps },
    shape: [steps, ...output_shape],
    data: new Float32Array(values),
    probes: {},
    prediction: null
  };
  return { seq, steps, startStep, epoch, credit: null, output };
}

// client/client.ts
var NOT_READY = ["starting", "draining", "device_lost", "origin_unreachable"];
var readJson2 = (response) => response.json();
var Ganglion = class {
  #connection;
  /** @param url Where the server is, e.g. `http://127.0.0.1:8787`. */
  constructor(url, options = {}) {
    this.#connection = {
      url: url.replace(/\/+$/, ""),
      apiKey: options.apiKey ?? null,
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      timeoutMs: options.timeoutMs ?? 1e4,
      idleMs: options.idleMs ?? 2e4,
      retryForMs: options.retryForMs ?? 12e4,
      backoffMs: options.backoffMs ?? 100,
      backoffMsMax: options.backoffMsMax ?? 5e3,
      clock: options.clock ?? realClock,
      random: options.random ?? Math.random
    };
  }
  /** The models that are served. */
  async models({ signal } = {}) {
    const { models } = await this.#get("/v1/models", signal);
    return models;
  }
  /** One model: shapes, `frame`, `dt`, layers. */
  async model(id, { signal } = {}) {
    return await this.#get(`/v1/models/${encodeURIComponent(id)}`, signal);
  }
  /** Every limit of the server by name. */
  async limits({ signal } = {}) {
    return await this.#get("/v1/limits", signal);
  }
  /** The open sessions of this key. */
  async sessions({ signal } = {}) {
    const { sessions } = await this.#get("/v1/sessions", signal);
    return sessions;
  }
  /**
   * Opens a session, from rest or from a state. While the server starts, this waits.
   *
   * @throws GanglionError `model_required`, `model_unknown`, `no_slot` (see `wait_s`), `snapshot_refused`,
   *   `unreachable` …
   */
  async open({ state, ...request } = {}, { signal, ...options } = {}) {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
      timeoutMs: this.#connection.timeoutMs + 1e3 * (request.wait_s ?? 0),
      signal: signal ?? null
    };
    const view = await this.#openWhenReady(init);
    const again = (given) => this.#openAgain({ ...init, signal: given });
    const origin = { start: view.steps_done, again: state === void 0 ? again : null };
    const session = new Session(this.#connection, view, options, origin);
    if (state === void 0) return session;
    try {
      await session.restore(state, { signal });
      return session;
    } catch (error) {
      await session.close().catch(() => {
      });
      throw error;
    }
  }
  /**
   * Comes back to a session that is open, for example of another process. Its outputs begin with the
   * oldest that the server holds, or behind `outputs({ after })`; chunks go on with its next number.
   */
  async attach(id, { signal, ...options } = {}) {
    const path = `/v1/sessions/${encodeURIComponent(id)}`;
    const view = await this.#get(path, signal);
    return new Session(this.#connection, view, options, { start: null, again: null });
  }
  /** Not repeated when no answer came: a session that nobody knows of would hold a slot. */
  async #openWhenReady(init) {
    const backoff = new Backoff(this.#connection);
    for (; ; ) {
      try {
        return await attempt(this.#connection, "/v1/sessions", init, readJson2);
      } catch (error) {
        if (!(error instanceof GanglionError) || !NOT_READY.includes(error.code)) throw error;
        await backoff.pause(error, init.signal);
      }
    }
  }
  /** For a session that is lost: there is no other way on, so this is repeated. */
  async #openAgain(init) {
    const open = await call(this.#connection, "/v1/sessions", init, readJson2);
    return open;
  }
  async #get(path, signal) {
    return await call(this.#connection, path, { signal: signal ?? null }, readJson2);
  }
};
export {
  Ganglion,
  GanglionError,
  Session,
  eventsOf,
  packBits
};
