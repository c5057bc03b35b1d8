/**
 * The client of the HTTP benches, a process of its own, always on Bun whatever the server runs on. Takes
 * commands as lines of JSON, answers each with `begin` when its warm-up is over and with what it counted.
 * Sessions stay open from one command to the next.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { packBits } from "../src/base/numeric.ts";
import type { LoadCommand, LoadCounts, LoadRun } from "./http_load.ts";
import { Random, spikes } from "./models.ts";
import { openStream, RawConnection, requestBytes } from "./raw_http.ts";
import { quantile } from "./support.ts";

const WARM_SECONDS = 0.3;
/** Different chunks, in turn. */
const BODIES = 8;

interface Session {
  readonly id: string;
  post: RawConnection;
  /** Of chunks whose outputs have not come, when they were due, oldest first. */
  due: number[];
  isPosting: boolean;
  /** Outputs that are still to come of the oldest of them. */
  missing: number;
}

let url = new URL("http://127.0.0.1");
const sessions: Session[] = [];
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function open(command: LoadCommand & { do: "open" }): Promise<null> {
  url = new URL(command.url);
  const json = { "content-type": "application/json" };
  const request = requestBytes("POST", url, "/v1/sessions", json, new TextEncoder().encode("{}"));
  for (let i = 0; i < command.sessions; i++) {
    const post = await RawConnection.open(url);
    const { status, body } = await post.ask(request);
    if (status !== 201) throw new Error(`no session: ${status} ${body.toString()}`);
    const { id } = JSON.parse(body.toString()) as { id: string };
    sessions.push({ id, post, due: [], isPosting: false, missing: 0 });
  }
  return null;
}

const TYPES = { f32: "application/octet-stream", bits: "application/vnd.ganglion.bits" } as const;

function bodiesOf({ steps, sampleSize, density, input }: LoadRun): Uint8Array[] {
  const random = new Random(1);
  return Array.from({ length: BODIES }, () => {
    const values = spikes(random, steps * sampleSize, density);
    const { buffer } = input === "bits" ? packBits(values, steps) : values;
    return new Uint8Array(buffer as ArrayBuffer);
  });
}

/** The requests of one session, to be sent in turn. */
function requestsOf({ id }: Session, index: number, how: LoadRun, bodies: Uint8Array[]) {
  const query = how.readers === "wait" ? "?wait=true" : "";
  const headers = { "content-type": TYPES[how.input], accept: how.accept };
  const path = `/v1/sessions/${id}/chunks${query}`;
  return bodies.map((_, k) =>
    requestBytes("POST", url, path, headers, bodies[(k + index) % bodies.length]!)
  );
}

async function run(how: LoadRun): Promise<LoadCounts> {
  const [counts, latencies] = [{ chunks: 0, events: 0, outputBytes: 0 }, [] as number[]];
  let isOver = false;
  let failure: unknown = null;
  const wanted = how.readers === "wait" ? 200 : 202;
  const bodies = bodiesOf(how);
  const requests = new Map(sessions.map((each, i) => [each, requestsOf(each, i, how, bodies)]));
  const came = (session: Session): void => {
    counts.events++;
    if (session.missing === 0) session.missing = how.readers === "wait" ? 1 : how.frames;
    if (--session.missing > 0) return;
    const due = session.due.shift();
    if (due !== undefined) latencies.push(performance.now() - due);
    if (how.periodMs === 0) more(session);
  };
  const post = async (session: Session, due: number): Promise<void> => {
    session.isPosting = true;
    session.due.push(due);
    const mine = requests.get(session)!;
    const { status, body } = await session.post.ask(mine[counts.chunks++ % mine.length]!);
    session.isPosting = false;
    if (status !== wanted) throw new Error(`status ${status}: ${body.toString()}`);
    if (how.readers === "wait") {
      counts.outputBytes += body.length;
      came(session);
    } else if (how.periodMs === 0) more(session);
  };
  /** The next chunk, if this session may send one now. */
  const more = (session: Session): void => {
    if (isOver || session.isPosting || session.due.length >= how.ahead) return;
    post(session, performance.now()).catch((error: unknown) => failure ??= error);
  };
  // A server may have cut those that were silent since the last run.
  for (const session of sessions) {
    session.post.close();
    session.post = await RawConnection.open(url);
  }
  const streams = await openReaders(how, came, (bytes) => counts.outputBytes += bytes);
  const stop = how.periodMs === 0 ? closedLoop(more) : paced(how, post, (e) => failure ??= e);
  await sleep(WARM_SECONDS * 1000);
  Object.assign(counts, { chunks: 0, events: 0, outputBytes: 0 });
  latencies.length = 0;
  say({ mark: "begin" });
  const begin = performance.now();
  const cpu = process.cpuUsage();
  await sleep(how.seconds * 1000);
  say({ mark: "end" });
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - begin) / 1000;
  const result: LoadCounts = {
    ...counts,
    seconds,
    cpuSeconds: (user + system) / 1e6,
    p50: quantile(latencies, 0.5) ?? 0,
    p99: quantile(latencies, 0.99) ?? 0,
  };
  isOver = true;
  stop();
  // What is under way ends before the streams do, so that the next run begins with empty queues.
  const isQuiet = ({ isPosting, due }: Session) =>
    !isPosting && (due.length === 0 || how.readers === "none");
  for (let i = 0; i < 1000 && !sessions.every(isQuiet); i++) await sleep(5);
  if (how.readers === "none") await sleep(200);
  for (const session of sessions) Object.assign(session, { due: [], missing: 0 });
  for (const end of streams) end();
  if (failure !== null) throw failure;
  return result;
}

async function openReaders(
  { readers, encoding }: LoadRun,
  came: (session: Session) => void,
  onBytes: (bytes: number) => void,
): Promise<(() => void)[]> {
  if (readers === "wait" || readers === "none") return [];
  const query = `encoding=${encoding}&from=now`;
  const mark = "event: output\ndata: ";
  if (readers === "each") {
    return await Promise.all(
      sessions.map((session) =>
        openStream(url, `/v1/sessions/${session.id}/outputs?${query}`, (text) => {
          onBytes(text.length);
          for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + mark.length)) {
            came(session);
          }
        })
      ),
    );
  }
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const ids = sessions.map(({ id }) => `session=${id}`).join("&");
  const named = `${mark}{"session":"`;
  const stream = await openStream(url, `/v1/outputs?${query}&${ids}`, (text) => {
    onBytes(text.length);
    for (let at = text.indexOf(named); at >= 0; at = text.indexOf(named, at)) {
      at += named.length;
      came(byId.get(text.slice(at, text.indexOf('"', at)))!);
    }
  });
  return [stream];
}

function closedLoop(more: (session: Session) => void): () => void {
  for (const session of sessions) more(session);
  return () => {};
}

/** Every session posts at its own phase of the period, late or not. */
function paced(
  { periodMs, polls }: LoadRun,
  post: (session: Session, due: number) => Promise<void>,
  onFailure: (error: unknown) => void,
): () => void {
  const begin = performance.now();
  const next = sessions.map((_, i) => begin + (periodMs * i) / sessions.length);
  const look = (): void => {
    const now = performance.now();
    sessions.forEach((session, i) => {
      if (next[i]! > now || session.isPosting) return;
      post(session, next[i]!).catch(onFailure);
      next[i]! += periodMs;
    });
  };
  if (!polls) {
    const timer = setInterval(look, 1);
    return () => clearInterval(timer);
  }
  let isOver = false;
  const turn = (): void => {
    look();
    if (!isOver) setImmediate(turn);
  };
  turn();
  return () => {
    isOver = true;
  };
}

for await (const line of createInterface(process.stdin)) {
  const command = JSON.parse(line) as LoadCommand;
  try {
    say({ result: command.do === "open" ? await open(command) : await run(command) });
  } catch (error) {
    say({ error: String(error) });
  }
}
process.exit(0);
