/**
 * One measurement: sends every chunk when it is due, whatever became of those before it, and takes the
 * time from then to the event with the chunk's last step. A client that is late makes latencies longer,
 * never shorter, and is measured itself. Must hold: every chunk that was due in a counted window is in
 * the result, answered or not.
 */
import type { Clock, Timer } from "../base/clock.ts";
import { Pacer } from "./pacer.ts";
import { changeBetween, type ServerChange, type ServerState } from "./server_state.ts";
import { curveOf, summarise } from "./summary.ts";
import type {
  Ending,
  LoadListener,
  LoadSessions,
  Measurement,
  Pace,
  Rules,
  WindowResult,
} from "./types.ts";
import { agree, LoadWindow } from "./window.ts";

/** Windows that must agree, and from which the result is made. */
export const WINDOWS_COUNTED = 3;

/** A timer that does nothing else: how late it fires is how late events are read. */
const LAG_MS = 20;
/** The client is late when 1 % of its timers are later than this share of the target, and than 5 ms. */
const LAG_SHARE = 0.1;
const LAG_MS_MIN = 5;

export interface MeasureDeps {
  readonly clock: Clock;
  /** Processor time of this process so far. */
  readonly cpuMs: () => number;
  readonly signal?: AbortSignal | undefined;
  /** Called after each window of the measurement, not of the warm-up. */
  readonly onWindow?: ((window: WindowResult) => void) | undefined;
}

/**
 * Sends until the rules say that it is enough. `join` gets what listens and gives the open sessions,
 * which stay open. Rejects with what made a session fail.
 */
export async function measure(
  pace: Pace,
  rules: Rules,
  join: (listener: LoadListener) => Promise<LoadSessions>,
  deps: MeasureDeps,
): Promise<Measurement> {
  const run = new Run(pace, rules, deps);
  return await run.begin(await join(run));
}

class Run implements LoadListener {
  readonly #pace: Pace;
  readonly #rules: Rules;
  readonly #deps: MeasureDeps;
  readonly #pacer: Pacer;
  readonly #ended = Promise.withResolvers<Ending>();
  readonly #warmUp = new LoadWindow();
  readonly #windows: LoadWindow[] = [];
  /** Chunks of each session that were sent, and whose outputs came. */
  readonly #sent: number[];
  readonly #answered: number[];
  /** Of each session: frames that have come of the chunk after its last answered one. */
  readonly #begun: number[];
  /** The server's numbers at the start of each window, and the processor time then. */
  readonly #states: Promise<ServerState | null>[] = [];
  readonly #cpu: { at: number; ms: number }[] = [];
  #sessions!: LoadSessions;
  #startedAt = 0;
  #next = 0;
  /** Windows that are over. */
  #over = 0;
  #isOver = false;
  readonly #timers: { pace: Timer | null; lag: Timer | null } = { pace: null, lag: null };

  constructor(pace: Pace, rules: Rules, deps: MeasureDeps) {
    this.#pace = pace;
    this.#rules = rules;
    this.#deps = deps;
    this.#pacer = new Pacer(pace);
    this.#sent = Array.from({ length: pace.sessions }, () => 0);
    this.#answered = this.#sent.slice();
    this.#begun = this.#sent.slice();
  }

  async begin(sessions: LoadSessions): Promise<Measurement> {
    const { clock, signal } = this.#deps;
    this.#sessions = sessions;
    this.#startedAt = clock.now();
    const interrupt = () => this.#end("interrupted");
    signal?.addEventListener("abort", interrupt);
    if (signal?.aborted) interrupt();
    this.#tick();
    this.#watchLag();
    try {
      return await this.#result(await this.#ended.promise);
    } finally {
      this.#isOver = true;
      signal?.removeEventListener("abort", interrupt);
      this.#timers.pace?.cancel();
      this.#timers.lag?.cancel();
    }
  }

  onFailure(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended.reject(error);
  }

  onOutput(session: number, startStep: number, steps: number): void {
    if (this.#isOver) return;
    const { chunkSteps, frameSteps } = this.#sessions;
    const now = this.#now();
    const chunk = Math.floor(startStep / chunkSteps);
    const doneSteps = startStep + steps - chunk * chunkSteps;
    const latency = now - this.#pacer.dueMs(session, chunk);
    const window = this.#windowOf(session, chunk);
    window.frames++;
    if (latency > Math.ceil(doneSteps / frameSteps) * this.#pace.periodMs) window.framesLate++;
    this.#begun[session] = doneSteps < chunkSteps ? Math.ceil(doneSteps / frameSteps) : 0;
    if (doneSteps < chunkSteps) return;
    this.#answered[session] = chunk + 1;
    window.latencies.push(latency);
    this.#windowAt(now).finished++;
    if (window.isAnswered && this.#windows.indexOf(window) < this.#over) this.#judge();
  }

  /** Ms since the start. */
  #now(): number {
    return this.#deps.clock.now() - this.#startedAt;
  }

  #windowAt(ms: number): LoadWindow {
    const at = Math.floor((ms - this.#rules.warmUpMs) / this.#rules.windowMs);
    if (at < 0) return this.#warmUp;
    while (this.#windows.length <= at) this.#windows.push(new LoadWindow());
    return this.#windows[at]!;
  }

  #windowOf(session: number, chunk: number): LoadWindow {
    return this.#windowAt(this.#pacer.dueMs(session, chunk));
  }

  /** Sends what is due, and comes back when the next chunk is, or a window ends. */
  #tick(): void {
    if (this.#isOver) return;
    const { warmUpMs, windowMs, windowsMax } = this.#rules;
    const last = warmUpMs + windowsMax * windowMs;
    const now = this.#now();
    let wakeMs = Infinity;
    for (;;) {
      const { session, chunk, atMs } = this.#pacer.at(this.#next);
      // What is due before the end of a window is sent before the window is judged.
      if (atMs > now || atMs >= last) {
        if (atMs < last) wakeMs = atMs;
        break;
      }
      this.#next++;
      this.#send(session, chunk, now - atMs);
    }
    // Window number #over begins, or ends, then.
    while (this.#states.length <= windowsMax) {
      const boundary = warmUpMs + this.#states.length * windowMs;
      if (now < boundary) {
        wakeMs = Math.min(wakeMs, boundary);
        break;
      }
      this.#passBoundary();
      this.#judge();
    }
    if (this.#isOver || wakeMs === Infinity) return; // or only answers are missing
    const waitMs = Math.max(0, wakeMs - this.#now());
    this.#timers.pace = this.#deps.clock.after(waitMs, () => this.#tick());
  }

  #send(session: number, chunk: number, lagMs: number): void {
    const window = this.#windowOf(session, chunk);
    window.offered++;
    window.lags.push(lagMs);
    this.#sent[session] = chunk + 1;
    this.#sessions.send(session, chunk).then((taken) => {
      if (!taken) this.#end("overloaded");
    }, (error: unknown) => this.onFailure(error));
  }

  #passBoundary(): void {
    const { clock, cpuMs, onWindow } = this.#deps;
    this.#states.push(this.#sessions.readServer().catch(() => null));
    this.#cpu.push({ at: clock.now(), ms: cpuMs() });
    this.#over = this.#states.length - 1;
    if (this.#over > 0) onWindow?.(this.#resultOf(this.#over - 1, false));
  }

  /** Ends the measurement if the windows that are over say so. */
  #judge(): void {
    if (this.#isOver) return;
    const { endsWhenLate, targetMs, windowsMax } = this.#rules;
    const first = this.#over - WINDOWS_COUNTED;
    if (first < 0) return;
    const windows = this.#windows.slice(first, this.#over);
    if (windows.length < WINDOWS_COUNTED || !windows.every((each) => each.isAnswered)) return;
    if (agree(windows)) return this.#end("stable");
    const isLate = windows.every(({ latencies }) => summarise(latencies).p99 > targetMs);
    if (endsWhenLate && isLate) this.#end("late");
    else if (this.#over === windowsMax) this.#end("unstable");
  }

  /** How long ago the oldest chunk without outputs was due. */
  #oldestAge(): number {
    let oldest = Infinity;
    for (let session = 0; session < this.#sent.length; session++) {
      const chunk = this.#answered[session]!;
      if (chunk < this.#sent[session]!) {
        oldest = Math.min(oldest, this.#pacer.dueMs(session, chunk));
      }
    }
    return this.#now() - oldest;
  }

  #end(ending: Ending): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended.resolve(ending);
  }

  /** How late a timer fires that does nothing else; and whether the server keeps up at all. */
  #watchLag(): void {
    const { clock } = this.#deps;
    const expected = clock.now() + LAG_MS;
    this.#timers.lag = clock.after(LAG_MS, () => {
      if (this.#isOver) return;
      this.#windowAt(this.#now()).lags.push(clock.now() - expected);
      if (this.#oldestAge() > this.#rules.overloadMs) return this.#end("overloaded");
      this.#watchLag();
    });
  }

  #resultOf(at: number, counted: boolean): WindowResult {
    return (this.#windows[at] ?? new LoadWindow()).result(at * this.#rules.windowMs, counted);
  }

  async #result(ending: Ending): Promise<Measurement> {
    const { targetMs, windowMs } = this.#rules;
    const now = this.#now();
    const isSettled = ending === "stable" || ending === "late";
    // An end before its time: everything since the warm-up, or the warm-up where there is no more.
    const first = isSettled ? this.#over - WINDOWS_COUNTED : 0;
    const after = isSettled || ending === "unstable" ? this.#over : this.#windows.length;
    const counted = after > 0 ? this.#windows.slice(first, after) : [this.#warmUp];
    const unanswered = this.#addUnanswered(now, counted);
    const sum = (number: (window: LoadWindow) => number): number =>
      counted.reduce((total, window) => total + number(window), 0);
    const latencies = counted.flatMap((window) => window.latencies);
    const latencyMs = summarise(latencies);
    const seconds = (isSettled ? WINDOWS_COUNTED * windowMs : this.#measuredMs(now)) / 1000;
    const lagMs = summarise(counted.flatMap((window) => window.lags));
    return {
      ending,
      holds: ending !== "overloaded" && unanswered === 0 && latencyMs.p99 <= targetMs,
      latencyMs,
      curve: curveOf(latencies),
      offeredPerSecond: sum(({ offered }) => offered) / seconds,
      finishedPerSecond: sum(({ finished }) => finished) / seconds,
      unanswered,
      frames: sum(({ frames }) => frames),
      framesLate: sum(({ framesLate }) => framesLate),
      windows: this.#windows.slice(0, Math.max(after, this.#over)).map((_, at) =>
        this.#resultOf(at, at >= first && at < after)
      ),
      client: {
        lagMs,
        cores: this.#coresSince(first),
        late: lagMs.p99 > Math.max(LAG_MS_MIN, LAG_SHARE * targetMs),
      },
      server: await this.#serverChange(first, Math.min(after, this.#over)),
    };
  }

  /**
   * Puts the age of every chunk without outputs that is late already among the latencies of its window;
   * of one that may still be in time nothing is known, so it does not count.
   */
  #addUnanswered(now: number, counted: readonly LoadWindow[]): number {
    let count = 0;
    for (let session = 0; session < this.#sent.length; session++) {
      for (let chunk = this.#answered[session]!; chunk < this.#sent[session]!; chunk++) {
        const window = this.#windowOf(session, chunk);
        if (!counted.includes(window)) continue;
        const age = now - this.#pacer.dueMs(session, chunk);
        if (age > this.#rules.targetMs) {
          count++;
          window.latencies.push(age);
          this.#addMissingFrames(session, chunk, age, window);
        } else window.offered--;
      }
    }
    return count;
  }

  /** Those frames of a chunk without outputs that would be late if they came now. */
  #addMissingFrames(session: number, chunk: number, age: number, window: LoadWindow): void {
    const { chunkFrames, periodMs } = this.#pace;
    const came = chunk === this.#answered[session] ? this.#begun[session]! : 0;
    const due = Math.min(chunkFrames, Math.ceil(age / periodMs) - 1);
    const missing = Math.max(0, due - came);
    window.frames += missing;
    window.framesLate += missing;
  }

  #measuredMs(now: number): number {
    const { warmUpMs, windowMs, windowsMax } = this.#rules;
    const since = now > warmUpMs ? warmUpMs : 0;
    return Math.max(1, Math.min(now - since, windowsMax * windowMs));
  }

  #coresSince(window: number): number {
    const { clock, cpuMs } = this.#deps;
    const from = this.#cpu[window] ?? this.#cpu[0];
    if (from === undefined) return NaN;
    return (cpuMs() - from.ms) / Math.max(1, clock.now() - from.at);
  }

  /** What the server counted from the start of one window to the start of another. */
  async #serverChange(first: number, after: number): Promise<ServerChange | null> {
    const [before, then] = await Promise.all([this.#states[first], this.#states[after]]);
    return before && then && first < after ? changeBetween(before, then) : null;
  }
}
