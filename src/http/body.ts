/**
 * Reading a body without ever holding more than the limit, and checks that come before: media type,
 * encoding, length.
 */
import { z } from "@hono/zod-openapi";
import { GanglionError } from "../base/errors.ts";
import type { Context } from "./context.ts";

/** The media type without parameters, in lower case; 415 unless it is one of `types`. */
export function mediaTypeOf(c: Context, types: readonly string[]): string {
  const header = c.req.header("content-type");
  const encoding = c.req.header("content-encoding")?.trim().toLowerCase();
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

/** The whole body. `body_too_large` as soon as it is known to be larger than `bytesMax`. */
export async function readBody(c: Context, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const header = c.req.header("content-length");
  const declared = header === undefined ? null : Number(header);
  if (declared !== null && !(declared <= bytesMax)) throw tooLarge(bytesMax);
  const { body } = c.req.raw;
  if (body === null) return new Uint8Array(0);
  try {
    if (declared !== null) return bounded(await c.req.raw.arrayBuffer(), bytesMax);
    return await readChunks(body, bytesMax);
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

/** A small JSON body that fits `schema`. An empty one without a type counts as `{}`. */
export async function readJson<T>(c: Context, schema: z.ZodType<T>, bytesMax: number): Promise<T> {
  const isEmpty = c.req.header("content-type") === undefined &&
    (c.req.raw.body === null || c.req.header("content-length") === "0");
  if (!isEmpty) mediaTypeOf(c, ["application/json"]);
  const parsed = schema.safeParse(isEmpty ? {} : parseJson(await readBody(c, bytesMax)));
  if (parsed.success) return parsed.data;
  throw invalidBody(parsed.error);
}

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

function bounded(buffer: ArrayBuffer, bytesMax: number): Uint8Array<ArrayBuffer> {
  if (buffer.byteLength > bytesMax) throw tooLarge(bytesMax);
  return new Uint8Array(buffer);
}

async function readChunks(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.byteLength;
    if (length > bytesMax) {
      // Not awaited: the answer must not wait for a sender that never ends.
      void reader.cancel().catch(() => undefined);
      throw tooLarge(bytesMax);
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

function tooLarge(bytesMax: number): GanglionError {
  return new GanglionError("body_too_large", `A body has at most ${bytesMax} bytes here`, {
    bytes_max: bytesMax,
  });
}

function unsupported(detail: string, types: readonly string[]): GanglionError {
  return new GanglionError("unsupported_media_type", detail, { types });
}
