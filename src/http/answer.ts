/**
 * What a handler answers, as data: the Response is made of it once, at the end, with all of its headers. A
 * runtime makes the head of an answer together with its Response, and makes it again for headers that
 * are set later; no handler makes one.
 */

/** Read by whoever makes the Response, and by nobody changed: answers may share them. */
export type AnswerHeaders = Readonly<Record<string, string>>;

export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> | null;
}

export const JSON_TYPE = "application/json";

const JSON_HEADERS: AnswerHeaders = { "content-type": JSON_TYPE };

/** A value as JSON. */
export function jsonAnswer(value: unknown, status = 200, headers?: AnswerHeaders): Answer {
  return {
    status,
    headers: headers === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...headers },
    body: JSON.stringify(value),
  };
}

/** 204: it is done, and there is nothing to say. */
export const EMPTY_ANSWER: Answer = { status: 204, headers: {}, body: null };

/**
 * The answer to HEAD: what GET would answer, with the length of its body and without the body. Left
 * alone both runtimes would tell a length of 0. What is still being written has no length.
 */
export function headOf({ status, headers, body }: Answer): Answer {
  const length = typeof body === "string"
    ? new TextEncoder().encode(body).byteLength
    : body instanceof Uint8Array
    ? body.byteLength
    : null;
  return {
    status,
    headers: length === null ? headers : { ...headers, "content-length": String(length) },
    body: null,
  };
}
