/**
 * Reading a body without ever holding more than the limit, and checks that come before: media type,
 * encoding, length.
 */
import { z } from "@hono/zod-openapi";
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import type { Context } from "./context.ts";

/** The media type without parameters, in lower case; 415 unless it is one of `types`. */
export function mediaTypeOf(c: Context, types: readonly string[]): string {
  const header = c.req.header("content-type");
  const encoding = c.req.header("content-encoding")?.trim().toLowerCase();
  if (encoding === undefined && header !== undefined && types.includes(header)) return header;
  const given = header?.split(";", 1)[0]!.trim().toLowerCase();
  if (encoding !== undefined && encoding !== "identity") {
    throw unsupported(`The content encoding "${encoding}" is not taken`, types);
  }
  if (given === undefined || given === "") {
    throw unsupported(`Content-Type is missing; taken are ${types.join(", ")}`, types);
  }
  if (!types.includes(given)) {
    throw unsupported(`"${given}" is not taken; taken are ${types.join(", ")}`, types);
  }
  return given;
}

/** How much of a body is taken, and how long it may take to come. */
export interface BodyLimits {
  readonly bytesMax: number;
  /** A JSON field with which a body may be larger. */
  readonly large?: LargeField;
  /** What helps whoever sent too much. */
  readonly hint?: string;
  readonly seconds: number;
  readonly clock: Clock;
}

/**
 * The whole body. `body_too_large` as soon as it is known to be larger than it may be; `body_timeout`
 * when it does not come to its end in time.
 */
export async function readBody(c: Context, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  const { seconds, clock } = limits;
  const bytesMax = largest(limits);
  const header = c.req.header("content-length");
  const declared = header === undefined ? null : Number(header);
  if (declared !== null && !(declared <= bytesMax)) throw tooLarge(limits);
  if (declared === 0) return new Uint8Array(0);
  try {
    // Of a body whose length is known the stream is not even asked for: runtimes read it faster.
    if (declared !== null) {
      return bounded(await inTime(c.req.raw.arrayBuffer(), seconds, clock), limits);
    }
    const { body } = c.req.raw;
    if (body === null) return new Uint8Array(0);
    return await inTime(readChunks(body, limits), seconds, clock);
  } catch (error) {
    if (error instanceof GanglionError) throw error;
    throw new GanglionError("bad_request", "The body ended before its end", {}, { cause: error });
  }
}

/** JSON text, parsed. `bad_json` when it is none. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    const detail = error instanceof SyntaxError
      ? `The body is not JSON: ${error.message}`
      : "The body is not UTF-8";
    throw new GanglionError("bad_json", detail, {}, { cause: error });
  }
}

/** A field that may make a JSON body larger than others. */
export interface LargeField {
  readonly name: string;
  /** The whole body with it. */
  readonly bytesMax: number;
}

/**
 * A small JSON body that fits `schema`. An empty one without a type counts as `{}`. Only with the field
 * `limits.large` may it have more bytes than `limits.bytesMax`.
 */
export async function readJson<T>(
  c: Context,
  schema: z.ZodType<T>,
  limits: BodyLimits,
): Promise<T> {
  const hasType = c.req.header("content-type") !== undefined;
  if (hasType) mediaTypeOf(c, ["application/json"]);
  // Whether there is a body at all is only known once it was read.
  const bytes = await readBody(c, limits);
  if (!hasType && bytes.length > 0) mediaTypeOf(c, ["application/json"]);
  const value = hasType ? parseJson(bytes) : {};
  const isLarge = bytes.length > limits.bytesMax;
  if (isLarge && !Object.hasOwn(Object(value) as object, limits.large?.name ?? "")) {
    throw tooLarge(limits);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidBody(parsed.error);
}

/** For a route that takes no body: there is none, or an empty JSON object. */
export async function readNothing(c: Context, limits: BodyLimits): Promise<void> {
  const bytes = await readBody(c, limits);
  if (bytes.length === 0) return;
  mediaTypeOf(c, ["application/json"]);
  const parsed = NOTHING.safeParse(parseJson(bytes));
  if (!parsed.success) throw invalidBody(parsed.error);
}

const NOTHING = z.strictObject({});

/** What zod found, as one sentence and as data. */
export function invalidBody(error: z.ZodError): GanglionError {
  const issues = error.issues.slice(0, 10).map(({ path, message }) => ({
    path: path.map(String).join("."),
    message,
  }));
  const detail = issues.map(({ path, message }) => path === "" ? message : `${path}: ${message}`)
    .join("; ");
  return new GanglionError("invalid_body", detail, { issues });
}

function inTime<T>(whole: Promise<T>, seconds: number, clock: Clock): Promise<T> {
  // One promise and no race, for every request has a body.
  return new Promise((resolve, reject) => {
    const timer = clock.after(seconds * 1000, () => {
      reject(
        new GanglionError("body_timeout", `The body did not come within ${seconds} s`, { seconds }),
      );
    });
    whole.then((value) => {
      timer.cancel();
      resolve(value);
    }, (error: unknown) => {
      timer.cancel();
      reject(error as Error);
    });
  });
}

function bounded(buffer: ArrayBuffer, limits: BodyLimits): Uint8Array<ArrayBuffer> {
  if (buffer.byteLength > largest(limits)) throw tooLarge(limits);
  return new Uint8Array(buffer);
}

async function readChunks(
  body: ReadableStream<Uint8Array>,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const parts: Uint8Array[] = [];
  const bytesMax = largest(limits);
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.byteLength;
    if (length > bytesMax) {
      // Not awaited: the answer must not wait for a sender that never ends.
      void reader.cancel().catch(() => undefined);
      throw tooLarge(limits);
    }
    parts.push(part.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

function largest({ bytesMax, large }: BodyLimits): number {
  return large?.bytesMax ?? bytesMax;
}

/** One answer, whichever of its limits a body exceeds: the client sees one rule. */
function tooLarge({ bytesMax, large, hint }: BodyLimits): GanglionError {
  const more = large === undefined ? "" : `, or ${large.bytesMax} with the field "${large.name}"`;
  const help = hint === undefined ? "" : `; ${hint}`;
  return new GanglionError(
    "body_too_large",
    `A body has at most ${bytesMax} bytes here${more}${help}`,
    {
      bytes_max: bytesMax,
      ...(large && { bytes_max_with: { [large.name]: large.bytesMax } }),
    },
  );
}

function unsupported(detail: string, types: readonly string[]): GanglionError {
  return new GanglionError("unsupported_media_type", detail, { types });
}
