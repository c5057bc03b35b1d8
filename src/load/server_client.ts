/**
 * A running server as a client knows it: which model, how many sessions it takes, and questions whose
 * answers are problems or JSON. Every failure is said with the address, and what to do.
 */
import { type ErrorCode, ERRORS, GanglionError } from "../base/errors.ts";
import { sizeOf } from "../base/numeric.ts";

export interface ServerModel {
  readonly id: string;
  readonly sampleShape: readonly number[];
  readonly sampleSize: number;
  /** Time steps of a frame. */
  readonly frame: number;
  /** Seconds a step. */
  readonly dt: number;
  readonly slots: number;
  /** What computes: `cpu`, `webgpu`, …, and on which device. */
  readonly executor: { readonly kind: string; readonly device: string };
}

export interface ConnectOptions {
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** May be left out where one model is served. */
  readonly model?: string | undefined;
}

export class ServerClient {
  /** Without a slash at its end. */
  readonly url: string;
  readonly model: ServerModel;
  /** Most sessions in one stream of outputs. */
  readonly sessionsPerStream: number;
  readonly #apiKey: string | undefined;

  private constructor(
    url: string,
    apiKey: string | undefined,
    model: ServerModel,
    sessionsPerStream: number,
  ) {
    this.url = url;
    this.#apiKey = apiKey;
    this.model = model;
    this.sessionsPerStream = sessionsPerStream;
  }

  /** Asks for the model and the limits. Throws `usage`, `server_unreachable`, or what the server says. */
  static async connect({ url, apiKey, model: wanted }: ConnectOptions): Promise<ServerClient> {
    const base = baseOf(url);
    const { models } = await askJson(base, apiKey, "/v1/models") as { models?: WireModel[] };
    if (!Array.isArray(models) || models.some((each) => !Array.isArray(each.sample_shape))) {
      throw notGanglion(base, "/v1/models", "no list of models");
    }
    const limits = await askJson(base, apiKey, "/v1/limits") as Record<string, number>;
    const perStream = Number(limits.sessionsPerStreamMax) || 1;
    return new ServerClient(base, apiKey, chooseModel(base, models, wanted), perStream);
  }

  /** Sessions that could be opened now. */
  async room(): Promise<number> {
    const limits = await askJson(this.url, this.#apiKey, "/v1/limits") as Record<string, number>;
    const { models } = await askJson(this.url, this.#apiKey, "/v1/slots") as {
      models: { model: string; slots_total: number; sessions: number }[];
    };
    const { slots_total: slots, sessions } = models.find(({ model }) => model === this.model.id)!;
    return Math.max(0, (limits.sessionsMax || slots) - sessions);
  }

  /** A request with the key. Throws `server_unreachable`; a refusal is an answer like any other. */
  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    return await ask(this.url, this.#apiKey, path, init);
  }

  /** What a refusal says, as an error. Reads the body. */
  async refusal(response: Response, path: string): Promise<GanglionError> {
    return await refusal(this.url, response, path);
  }
}

interface WireModel {
  id: string;
  sample_shape: number[];
  frame: number;
  dt: number;
  slots: number;
  executor: { kind: string; device: string };
}

function baseOf(url: string): string {
  const text = /^[a-z]+:\/\//i.test(url) ? url : `http://${url}`;
  const parsed = URL.canParse(text) ? new URL(text) : null;
  const isPlain = parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.hostname !== "";
  if (!isPlain || parsed.search !== "" || parsed.hash !== "" || parsed.username !== "") {
    throw new GanglionError(
      "usage",
      `URL is the address of a server, e.g. http://127.0.0.1:8787, not ${url}`,
    );
  }
  return parsed.href.replace(/\/+$/, "");
}

function chooseModel(
  base: string,
  models: readonly WireModel[],
  wanted: string | undefined,
): ServerModel {
  const ids = models.map(({ id }) => id);
  if (wanted === undefined && models.length !== 1) {
    throw new GanglionError("usage", `${base} serves ${ids.join(", ")}: choose one with --model`);
  }
  const found = models.find(({ id }) => id === (wanted ?? ids[0]));
  if (found === undefined) {
    throw new GanglionError("usage", `${base} serves no model "${wanted}"; it serves ${ids}`);
  }
  const { id, sample_shape: sampleShape, frame, dt, slots, executor } = found;
  const sampleSize = sizeOf(sampleShape);
  return { id, sampleShape, sampleSize, frame, dt, slots, executor };
}

async function ask(
  base: string,
  apiKey: string | undefined,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  if (apiKey !== undefined) headers.set("authorization", `Bearer ${apiKey}`);
  try {
    return await fetch(`${base}${path}`, { ...init, headers, redirect: "manual" });
  } catch (cause) {
    if ((cause as Error).name === "AbortError") throw cause;
    throw unreachable(base, cause);
  }
}

async function askJson(base: string, apiKey: string | undefined, path: string): Promise<unknown> {
  const response = await ask(base, apiKey, path);
  if (response.status !== 200) throw await refusal(base, response, path);
  const text = await response.text();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw notGanglion(base, path, "no JSON");
  }
}

async function refusal(base: string, response: Response, path: string): Promise<GanglionError> {
  const text = await response.text();
  let problem: { code?: string; detail?: string; title?: string } = {};
  try {
    problem = JSON.parse(text) as typeof problem;
  } catch {
    // No problem document: no Ganglion server, or something in between.
  }
  const { code, detail, title } = problem;
  // A route that every Ganglion server has.
  if (typeof code !== "string" || !Object.hasOwn(ERRORS, code) || code === "not_found") {
    return notGanglion(base, path, `status ${response.status}`);
  }
  const hint = code === "unauthorized" ? "; give the server's key with --api-key" : "";
  const said = `${base} refuses (${response.status} ${code}): ${detail ?? title}${hint}`;
  return new GanglionError(code as ErrorCode, said);
}

function notGanglion(base: string, path: string, what: string): GanglionError {
  return new GanglionError(
    "server_unreachable",
    `${base} answers ${path} with ${what}: that is no Ganglion server, or not its address`,
  );
}

/** Why nothing was answered, in the words that the two runtimes have for it. */
function unreachable(base: string, cause: unknown): GanglionError {
  const said = reasonsOf(cause);
  const reason = /ECONNREFUSED|refused/i.test(said)
    ? "nobody listens there"
    : /ENOTFOUND|dns|lookup|resolve|FailedToOpenSocket/i.test(said)
    ? "there is no host of that name"
    : /timed? ?out/i.test(said)
    ? "it does not answer"
    : /TLS|EPROTO|corrupt message/i.test(said)
    ? "it does not speak TLS; is it http:// ?"
    : said;
  const text = `${base} cannot be reached: ${reason}`;
  return new GanglionError("server_unreachable", text, {}, { cause });
}

/** What an error says, and those that caused it. */
function reasonsOf(error: unknown): string {
  const { message = String(error), code = "", cause } = error as Partial<NodeJS.ErrnoException>;
  const own = [code, message].filter(Boolean).join(" ");
  return cause === undefined ? own : `${own}: ${reasonsOf(cause)}`;
}
