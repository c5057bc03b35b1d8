/**
 * Junk at real servers on both runtimes: each answer is the error that the API names, the process lives,
 * no slot is lost, and a stream that was open meanwhile goes on as if nothing had happened.
 */
import { describe, expect, test } from "bun:test";
import { assertSameBits } from "../contract/cases.ts";
import { DIGITS_NIR, onePassOutputs, PIXELS, recordings, STEPS } from "../support/digits.ts";
import { startServer } from "../support/server_process.ts";
import { closeSession, openSession, postChunk } from "../support/stream_client.ts";

const TEST_MS = 120_000;
const SLOTS = 4;
const HUGE = 200 << 20;

interface Junk {
  readonly what: string;
  readonly type?: string;
  readonly body: BodyInit | (() => ReadableStream<Uint8Array>);
  readonly status: number;
  readonly code: string;
  readonly accept?: string;
}

const OCTETS = "application/octet-stream";

/** Zeros without a Content-Length. */
function zeros(bytes: number): ReadableStream<Uint8Array> {
  const part = new Uint8Array(1 << 20);
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      if (left <= 0) return controller.close();
      controller.enqueue(part);
      left -= part.length;
    },
  });
}

const JUNK: readonly Junk[] = [
  { what: "half a step", type: OCTETS, body: new Uint8Array(130), status: 400, code: "bad_length" },
  { what: "no step", type: OCTETS, body: new Uint8Array(0), status: 400, code: "empty_chunk" },
  { what: "no type", body: new Uint8Array(256), status: 415, code: "unsupported_media_type" },
  { what: "text", type: "text/plain", body: "1 0 1", status: 415, code: "unsupported_media_type" },
  { what: "broken JSON", type: "application/json", body: "{", status: 400, code: "bad_json" },
  {
    what: "JSON of another shape",
    type: "application/json",
    body: JSON.stringify({ data: [[1, 2, 3]] }),
    status: 422,
    code: "invalid_body",
  },
  {
    what: "an event outside",
    type: "application/json",
    body: JSON.stringify({ steps: 2, events: [[2, 0]] }),
    status: 422,
    code: "event_out_of_range",
  },
  {
    what: "NaN",
    type: OCTETS,
    body: new Float32Array(PIXELS).fill(NaN),
    status: 422,
    code: "non_finite",
  },
  {
    what: "an npy that is none",
    type: "application/x-npy",
    body: "not numpy",
    status: 422,
    code: "bad_array",
  },
  {
    what: "an answer nobody makes",
    type: OCTETS,
    body: new Float32Array(PIXELS),
    accept: "image/png",
    status: 406,
    code: "not_acceptable",
  },
  {
    what: "200 MB",
    type: OCTETS,
    body: new Uint8Array(HUGE),
    status: 413,
    code: "body_too_large",
  },
  {
    what: "200 MB without a length",
    type: OCTETS,
    body: () => zeros(HUGE),
    status: 413,
    code: "body_too_large",
  },
];

describe.each(["deno", "bun"] as const)("junk at a server on %s", (runtime) => {
  test("each is the error that the API names, and nothing is lost", async () => {
    const args = [DIGITS_NIR, "--device", "cpu", "--slots", String(SLOTS)];
    await using server = await startServer(runtime, args);
    const input = recordings()[0]!;
    const id = await openSession(server.url);
    const outputs: Float32Array[] = [];
    let at = 0;
    const goOn = async () => {
      const chunk = input.subarray(at, at += PIXELS);
      const response = await postChunk(server.url, id, chunk, "?wait=true");
      expect(response.status).toBe(200);
      outputs.push(new Float32Array(await response.arrayBuffer()));
    };
    const given: unknown[] = [];
    for (const { what, type, body, accept } of JUNK) {
      await goOn();
      const response = await fetch(`${server.url}/v1/sessions/${id}/chunks?wait=true`, {
        method: "POST",
        headers: { ...(type ? { "content-type": type } : {}), ...(accept ? { accept } : {}) },
        body: typeof body === "function" ? body() : body,
      });
      const problem = await response.json() as { code: string; status: number };
      expect(response.headers.get("content-type")).toContain("application/problem+json");
      given.push({ what, status: response.status, code: problem.code });
    }
    expect(given).toEqual(JUNK.map(({ what, status, code }) => ({ what, status, code })));
    while (at < STEPS * PIXELS) await goOn();
    const whole = Float32Array.from(outputs.flatMap((part) => [...part]));
    assertSameBits(whole, (await onePassOutputs())[0]!, "the stream that went on");
    await closeSession(server.url, id);
    const opened = await Promise.all(Array.from({ length: SLOTS }, () => openSession(server.url)));
    expect(new Set(opened).size).toBe(SLOTS);
    expect(await server.stop()).toBe(0);
  }, TEST_MS);
});
