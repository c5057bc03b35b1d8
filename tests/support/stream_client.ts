/** A plain client of the HTTP API, as a user would write it with fetch. */
import { createParser } from "eventsource-parser";

export interface OutputEvent {
  readonly seq: number;
  readonly start_step: number;
  readonly steps: number;
  readonly data: string;
}

const RETRY_MS = 5;

/** Opens a session, waiting for a free slot by asking again. */
export async function openSession(url: string): Promise<string> {
  for (;;) {
    const response = await fetch(`${url}/v1/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    const body = await response.json() as { id: string; code?: string };
    if (response.status === 201) return body.id;
    if (response.status !== 503) throw new Error(JSON.stringify(body));
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

export const closeSession = async (url: string, id: string): Promise<number> =>
  (await fetch(`${url}/v1/sessions/${id}`, { method: "DELETE" })).status;

export async function postChunk(
  url: string,
  id: string,
  chunk: Float32Array,
  query = "",
): Promise<Response> {
  return await fetch(`${url}/v1/sessions/${id}/chunks${query}`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream", accept: "application/octet-stream" },
    body: chunk.slice(),
  });
}

/** Reads output events until `steps` steps have come; returns their values as one array. */
export async function readOutputs(url: string, id: string, steps: number): Promise<Float32Array> {
  const leave = new AbortController();
  const response = await fetch(`${url}/v1/sessions/${id}/outputs?encoding=base64`, {
    signal: leave.signal,
  });
  const parts: Float32Array[] = [];
  let seen = 0;
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event !== "output") return;
      const output = JSON.parse(data) as OutputEvent;
      if (output.start_step !== seen) throw new Error(`step ${output.start_step} after ${seen}`);
      seen += output.steps;
      const bytes = Uint8Array.from(atob(output.data), (char) => char.charCodeAt(0));
      parts.push(new Float32Array(bytes.buffer));
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body!) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    if (seen >= steps) break;
  }
  leave.abort();
  return Float32Array.from(parts.flatMap((part) => [...part]));
}
