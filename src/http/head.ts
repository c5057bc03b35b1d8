/**
 * The answer to HEAD: what GET would answer, with the length of its body and without the body. Left
 * alone both runtimes would tell a length of 0.
 */

/** An answer that the server still writes has no length yet and must not be waited for. */
const ENDLESS = "text/event-stream";

/** `answer` with its `content-length`; its body, read here, is not sent. */
export async function withLength(answer: Response): Promise<Response> {
  const { status, headers, body } = answer;
  if (body === null || headers.get("content-type")?.startsWith(ENDLESS)) return answer;
  const { byteLength } = await new Response(body).arrayBuffer();
  const own = new Headers(headers);
  own.set("content-length", String(byteLength));
  return new Response(null, { status, headers: own });
}
