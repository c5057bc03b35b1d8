/**
 * Random requests made from the OpenAPI document: mostly as it says, some of them bent. What must hold for
 * every answer: a documented status, a problem document for every refusal, no 5xx but those that are
 * documented as no fault (501, 503).
 */
import { type ErrorCode, ERRORS } from "../../src/base/errors.ts";
import type { Random } from "./plans.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly format?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly schema: Schema;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema?: Schema }>> };
  readonly responses: Readonly<Record<string, unknown>>;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface FuzzOptions {
  readonly document: ApiDocument;
  readonly random: Random;
  readonly requests: number;
  /** Bytes of one time step, so that many chunks fit. */
  readonly stepBytes: number;
  readonly models: readonly string[];
  /** Requests at once. */
  readonly atOnce: number;
  readonly send: (path: string, init: RequestInit) => Promise<Response>;
  /** Called while requests are under way, until they have all been answered. */
  readonly meanwhile?: () => Promise<void>;
}

export interface FuzzReport {
  readonly statuses: Readonly<Record<string, number>>;
  readonly operations: number;
  /** One line for each answer that must not be. */
  readonly faults: readonly string[];
}

/** What any route may answer, whatever it is. */
const ALWAYS = new Set([401, 403, 404, 405]);
const NO_FAULT = new Set([501, 503]);
const ODD_TEXTS = [
  "",
  " ",
  "0",
  "-1",
  "1e9",
  "null",
  "true",
  "a\u0000b",
  "é😀",
  "../..",
  "%",
  "'\"<>",
];
const ODD_TYPES = ["text/plain", "application/xml", "", "application/json; charset=x", "*/*", ";"];

export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { document, random, requests, atOnce, send, meanwhile } = options;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  );
  // What takes a body has the most ways to go wrong, and chunks are what it is all about.
  const shareOf = ({ path, operation }: (typeof operations)[number]): number =>
    operation.requestBody === undefined ? 1 : path.endsWith("/chunks") ? 20 : 5;
  const drawn = operations.flatMap((each) => Array.from({ length: shareOf(each) }, () => each));
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  const sessions: string[] = ["unknown"];
  const pick = <T>(values: readonly T[]): T => values[random.int(0, values.length - 1)]!;
  const maker = new Maker(options);

  async function one(): Promise<void> {
    const { path, method, operation } = pick(drawn);
    const { to, init, what } = maker.request(path, method, operation, sessions);
    let answer: Response;
    try {
      answer = await send(to, init);
    } catch (error) {
      // What a client cannot even send is nothing that the server said.
      if (error instanceof TypeError && /header|invalid|method/i.test(error.message)) return;
      faults.push(`${what}: ${String(error)}`);
      return;
    }
    const { status } = answer;
    statuses[status] = (statuses[status] ?? 0) + 1;
    const type = answer.headers.get("content-type");
    if (type === "text/event-stream") return await answer.body?.cancel();
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    if (status === 200 && path.endsWith("/state") && init.method === "GET") maker.snapshot = bytes;
    const asked = document.paths[path]![init.method.toLowerCase()] ?? { responses: {} };
    const fault = faultOf(asked, status, type, text);
    if (fault !== null) faults.push(`${what} → ${status}: ${fault}`);
    // Most that have ended are asked no more, so that enough requests reach a live one.
    if (/"code":"session_(gone|unknown)"/.test(text) && random.next() < 0.7) {
      const at = sessions.findIndex((id, i) => i > 0 && to.split(/[/?&=]/).includes(id));
      if (at > 0) sessions.splice(at, 1);
    }
    if (status === 201 && /\/(sessions|fork)$/.test(path)) {
      sessions.push((JSON.parse(text) as { id: string }).id);
      if (sessions.length > 40) sessions.splice(1, 1);
    }
  }

  for (let sent = 0; sent < requests; sent += atOnce) {
    let isOver = false;
    const all = Promise.all(Array.from({ length: Math.min(atOnce, requests - sent) }, one));
    const over = all.finally(() => isOver = true);
    while (!isOver && meanwhile !== undefined) await Promise.race([over, meanwhile()]);
    await over;
  }
  return { statuses, operations: operations.length, faults };
}

function faultOf(
  operation: Operation,
  status: number,
  type: string | null,
  text: string,
): string | null {
  if (status >= 500 && !NO_FAULT.has(status)) return text.slice(0, 300);
  if (!(String(status) in operation.responses) && !ALWAYS.has(status) && status !== 501) {
    return `not documented: ${text.slice(0, 200)}`;
  }
  if (status < 400) return null;
  if (type !== "application/problem+json") return `no problem document but ${type}`;
  const { code } = JSON.parse(text) as { code: ErrorCode };
  if (ERRORS[code]?.status !== status) return `code ${code}`;
  return /\.ts\b|node_modules/.test(text) ? `tells of our files: ${text.slice(0, 300)}` : null;
}

/** Makes requests. */
class Maker {
  readonly #options: FuzzOptions;
  /** A real one, of some session. */
  snapshot: Uint8Array<ArrayBuffer> | null = null;

  constructor(options: FuzzOptions) {
    this.#options = options;
  }

  request(path: string, method: string, operation: Operation, sessions: readonly string[]) {
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    const place: Record<string, string> = {
      session: this.#likely(() => this.#pick(sessions.slice(-12)), 0.95),
      model: this.#likely(() => this.#pick(this.#options.models), 0.8),
      seq: this.#likely(() => String(this.#int(0, 12)), 0.9),
    };
    for (const { name, in: where, schema } of operation.parameters ?? []) {
      if (where === "path" || !this.#chance(0.4)) continue;
      const value = this.#parameter(name, schema, sessions);
      if (where === "query") { for (const each of [value].flat()) query.append(name, each); }
      else headers[name.toLowerCase()] = String(value);
    }
    if (this.#chance(0.05)) query.append(this.#pick(ODD_TEXTS), this.#pick(ODD_TEXTS));
    if (this.#chance(0.1)) {
      headers["accept"] = this.#pick([
        "application/octet-stream",
        "application/x-npy",
        "text/event-stream",
        "image/png",
        "*/*;q=0",
        "a,b;q=x",
      ]);
    }
    const body = operation.requestBody === undefined
      ? this.#chance(0.05) ? "{}" : null
      : this.#body(operation.requestBody.content, headers);
    const to = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(place[name]!)) +
      (query.size > 0 ? `?${query}` : "");
    const used = this.#chance(0.02) ? this.#pick(["GET", "POST", "PUT", "PATCH"]) : method;
    const carries = body !== null && !/^(get|head)$/i.test(used);
    const init: RequestInit & { method: string } = {
      method: used.toUpperCase(),
      headers,
      ...(carries ? { body } : {}),
    };
    const shown = typeof body === "string" ? body.slice(0, 200) : `${body?.length ?? 0} bytes`;
    return { to, init, what: `${init.method} ${to} ${JSON.stringify(headers)} ${shown}` };
  }

  #parameter(name: string, schema: Schema, sessions: readonly string[]): string | string[] {
    if (this.#chance(0.1)) return this.#pick(ODD_TEXTS);
    if (name === "session") {
      return Array.from({ length: this.#int(1, 4) }, () => this.#pick(sessions));
    }
    if (/last.event.id/i.test(name)) {
      const id = () => `${this.#int(1, 3)}-${this.#int(0, 40)}`;
      return this.#pick([id(), `${id()},${id()}`, `${id()}.1`, "*"]);
    }
    if (name === "Chunk-Seq") return String(this.#int(0, 12));
    return String(this.#value(schema, 0));
  }

  #body(
    content: Readonly<Record<string, { schema?: Schema }>>,
    headers: Record<string, string>,
  ): string | Uint8Array<ArrayBuffer> | null {
    if (this.#chance(0.03)) return null;
    const type = this.#pick(Object.keys(content));
    headers["content-type"] = this.#likely(() => type, 0.95);
    if (this.#chance(0.05)) headers["content-type"] = this.#pick(ODD_TYPES);
    if (this.#chance(0.02)) headers["content-encoding"] = this.#pick(["gzip", "identity"]);
    if (type === "application/json") return this.#json(content[type]!.schema ?? {});
    // The only body that is octets alone is a state.
    if (Object.keys(content).length === 1 && this.snapshot !== null && this.#chance(0.7)) {
      return this.#snapshot(this.snapshot);
    }
    const { stepBytes } = this.#options;
    const steps = this.#int(0, 6);
    const bytes = new Uint8Array(steps * stepBytes + (this.#chance(0.1) ? this.#int(1, 7) : 0));
    if (this.#chance(0.3)) { for (let i = 0; i < bytes.length; i++) bytes[i] = this.#int(0, 255); }
    return bytes;
  }

  /** Mostly as it was, else with one bit flipped or an end missing. */
  #snapshot(whole: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const bytes = whole.slice();
    if (this.#chance(0.8)) return bytes;
    const at = this.#int(0, bytes.length - 1);
    if (this.#chance(0.5)) return bytes.slice(0, at);
    bytes[at]! ^= 1 << this.#int(0, 7);
    return bytes;
  }

  #json(schema: Schema): string {
    if (this.#chance(0.15)) {
      const steps = this.#int(1, 8);
      const events = Array.from(
        { length: this.#int(0, 6) },
        () => [this.#int(0, steps), this.#int(0, 70)],
      );
      return JSON.stringify({ steps, events });
    }
    const text = JSON.stringify(this.#value(schema, 0)) ?? "";
    if (!this.#chance(0.05)) return text;
    return text.slice(0, this.#int(0, text.length)) +
      this.#pick(["", "}", "\u0000", "[".repeat(5_000)]);
  }

  #value(schema: Schema, depth: number): unknown {
    if (this.#chance(0.02)) return this.#odd();
    if (schema.$ref !== undefined) {
      const name = schema.$ref.split("/").at(-1)!;
      return this.#value(this.#options.document.components.schemas[name] ?? {}, depth);
    }
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return this.#pick(schema.enum);
    const choice = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (choice !== undefined) return this.#value(this.#pick(choice), depth);
    const type = Array.isArray(schema.type) ? this.#pick(schema.type) : schema.type;
    switch (type) {
      case "object": {
        const value: Record<string, unknown> = {};
        for (const [name, each] of Object.entries(schema.properties ?? {})) {
          const isNeeded = schema.required?.includes(name) ?? false;
          if (!this.#chance(isNeeded ? 0.97 : name === "model" ? 0.85 : 0.15)) continue;
          value[name] = name === "model" && this.#chance(0.9)
            ? this.#pick(this.#options.models)
            : name === "state" && this.snapshot !== null && this.#chance(0.8)
            ? Buffer.from(this.#snapshot(this.snapshot)).toString("base64")
            : this.#value(each, depth + 1);
        }
        if (this.#chance(0.03)) value[this.#pick(ODD_TEXTS)] = this.#odd();
        return value;
      }
      case "array": {
        const length = this.#int(0, depth > 2 ? 2 : 5);
        return Array.from({ length }, () => this.#value(schema.items ?? {}, depth + 1));
      }
      case "string":
        return this.#pick([...ODD_TEXTS, "lif.v"]);
      case "boolean":
        return this.#chance(0.5);
      case "integer":
      case "number":
        return this.#chance(0.9) ? this.#int(0, 4) : this.#pick([-1, 0.5, 1e9, 2 ** 53, -0]);
      case "null":
        return null;
      default:
        return depth > 3 ? this.#int(0, 1) : this.#odd();
    }
  }

  #odd(): unknown {
    return this.#pick<unknown>([
      null,
      true,
      -1,
      1e308,
      0.1,
      2 ** 60,
      "",
      "x".repeat(1000),
      [],
      {},
      [[[[]]]],
      { a: { b: 1 } },
      ...ODD_TEXTS,
    ]);
  }

  /** The value, or once in a while an odd text. */
  #likely(value: () => string, share: number): string {
    return this.#chance(share) ? value() : this.#pick(ODD_TEXTS.slice(2));
  }

  #chance(share: number): boolean {
    return this.#options.random.next() < share;
  }

  #int(from: number, to: number): number {
    return this.#options.random.int(from, to);
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#int(0, values.length - 1)]!;
  }
}
