/** API §3, bodies and answers: every media type in, every answer type out, every refusal. */
import { describe, expect, test } from "bun:test";
import { parseNpy, writeNpy } from "../../src/base/npy.ts";
import { Random } from "../support/plans.ts";
import { expectProblem } from "./support/problems.ts";
import { bytesOf, leakyPlan, makeWorld, onePass, settle, spikingPlan } from "./support/world.ts";

type Body = RequestInit["body"];

async function setUp(options: Parameters<typeof makeWorld>[0] = {}) {
  const world = makeWorld(options);
  const id = await world.open();
  const send = (
    type: string | null,
    body: Body,
    query = "",
    headers: Record<string, string> = {},
  ) =>
    world.send(`/v1/sessions/${id}/chunks${query}`, {
      method: "POST",
      body,
      headers: type === null ? headers : { "content-type": type, ...headers },
    });
  const untouched = async () => {
    const session = await (await world.send(`/v1/sessions/${id}`)).json();
    expect(session).toMatchObject({ next_chunk_seq: 0, frames_waiting: 0, steps_done: 0 });
  };
  return { ...world, id, chunk: send, untouched };
}

const OCTETS = "application/octet-stream";
const NPY = "application/x-npy";
const JSON_TYPE = "application/json";
const BITS = "application/vnd.ganglion.bits";

/** Three steps of [2, 3], zeros and ones, in every form. */
const spikes = Float32Array.of(1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1);
const nested = [[[1, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 0]], [[0, 1, 1], [0, 0, 1]]];
const flat = nested.map((rows) => rows.flat());
const events = [[2, 5], [0, 3], [0, 0, 1], [2, 1], [2, 2]];
const words = Uint32Array.of(0b001001, 0, 0b100110);

describe("bodies", () => {
  test("every type gives the same steps", async () => {
    const expected = await onePass(spikingPlan(), spikes);
    const bodies: [string, Body][] = [
      [OCTETS, bytesOf(spikes)],
      [NPY, writeNpy(spikes, [3, 2, 3]) as Uint8Array<ArrayBuffer>],
      [NPY, writeNpy(spikes, [3, 6]) as Uint8Array<ArrayBuffer>],
      [JSON_TYPE, JSON.stringify({ data: nested })],
      [JSON_TYPE, JSON.stringify({ data: flat })],
      [JSON_TYPE, JSON.stringify({ steps: 3, events, reset: false })],
      [JSON_TYPE, JSON.stringify({ steps: 3, events: [...events, [1, 1, 2], [1, 1, -2]] })],
      [BITS, new Uint8Array(words.buffer)],
      ["Application/OCTET-stream; x=y", bytesOf(spikes)],
    ];
    for (const [type, body] of bodies) {
      const { chunk } = await setUp();
      const answer = await chunk(type, body, "?wait=true", { accept: OCTETS });
      expect([type, answer.status]).toEqual([type, 200]);
      expect(new Float32Array(await answer.arrayBuffer())).toEqual(expected);
    }
  });

  test("a body without a length is read too", async () => {
    const { chunk } = await setUp();
    const body = new Blob([bytesOf(spikes)]).stream();
    expect((await chunk(OCTETS, body)).status).toBe(202);
  });

  test("one value a step: [n] is enough for an array", async () => {
    const plan = spikingPlan();
    const single = { ...plan, sampleShape: [1], sampleSize: 1 };
    const { decodeChunk } = await import("../../src/http/chunk_codec.ts");
    const shape = { sampleShape: single.sampleShape, assertSteps: () => {} };
    const bytes = writeNpy(Float32Array.of(1, 2), [2]) as Uint8Array<ArrayBuffer>;
    expect(decodeChunk(NPY, bytes, shape).steps).toBe(2);
  });

  test.each(
    [
      [OCTETS, new Uint8Array(25), "bad_length", { bytes: 25, step_bytes: 24 }],
      [OCTETS, new Uint8Array(23), "bad_length", {}],
      [OCTETS, new Uint8Array(0), "empty_chunk", {}],
      [OCTETS, bytesOf(Float32Array.of(0, 0, 0, 0, 0, 0, 0, NaN, 0, 0, 0, 0)), "non_finite", {
        step: 1,
        index: 1,
      }],
      [OCTETS, bytesOf(Float32Array.of(0, 0, 0, 0, 0, -Infinity)), "non_finite", {
        step: 0,
        index: 5,
      }],
      [BITS, new Uint8Array(6), "bad_length", { bytes: 6, step_bytes: 4 }],
      [BITS, new Uint8Array(0), "empty_chunk", {}],
      [BITS, new Uint8Array(Uint32Array.of(0, 64).buffer), "event_out_of_range", { t: 1, i: 6 }],
      [NPY, "junk", "bad_array", {}],
      [NPY, writeNpy(new Float32Array(6), [6]), "bad_array", { shape: [6], sample_shape: [2, 3] }],
      [NPY, writeNpy(new Float32Array(6), [1, 3, 2]), "bad_array", {}],
      [NPY, writeNpy(new Float32Array(0), [0, 2, 3]), "empty_chunk", {}],
      [NPY, writeNpy(Float32Array.of(0, 0, NaN, 0, 0, 0), [1, 6]), "non_finite", {
        step: 0,
        index: 2,
      }],
      [JSON_TYPE, "{", "bad_json", {}],
      [JSON_TYPE, new Uint8Array([0x22, 0xff, 0x22]), "bad_json", {}],
      [JSON_TYPE, "", "bad_json", {}],
      [JSON_TYPE, "null", "invalid_body", {}],
      [JSON_TYPE, "{}", "invalid_body", {}],
      [JSON_TYPE, '{"data":[],"steps":1,"events":[]}', "invalid_body", {}],
      [JSON_TYPE, '{"data":[[0,0,0,0,0,0]],"events":[]}', "invalid_body", {}],
      [JSON_TYPE, '{"data":[[0,0,0,0,0,0]],"x":1}', "invalid_body", { field: "x" }],
      [JSON_TYPE, '{"data":[[0,0,0,0,0,0]],"reset":1}', "invalid_body", { field: "reset" }],
      [JSON_TYPE, '{"data":[]}', "empty_chunk", {}],
      [JSON_TYPE, '{"data":7}', "invalid_body", { field: "data" }],
      [JSON_TYPE, '{"data":[[0,0,0,0,0]]}', "invalid_body", {}],
      [JSON_TYPE, '{"data":[[0,0,0,0,0,null]]}', "invalid_body", { field: "data[0][5]" }],
      [JSON_TYPE, '{"data":[[[0,0,0],[0,0,0]],[[0,0,0],[0,"1",0]]]}', "invalid_body", {
        field: "data[1][1][1]",
      }],
      [JSON_TYPE, '{"data":[[0,0,0,0,1e39,0]]}', "non_finite", { step: 0, index: 4 }],
      [JSON_TYPE, '{"data":[[0,0,0,0,1e999,0]]}', "non_finite", { step: 0, index: 4 }],
      [JSON_TYPE, '{"steps":0,"events":[]}', "empty_chunk", {}],
      [JSON_TYPE, '{"steps":1}', "invalid_body", { field: "events" }],
      [JSON_TYPE, '{"steps":-1,"events":[]}', "invalid_body", { field: "steps" }],
      [JSON_TYPE, '{"steps":1.5,"events":[]}', "invalid_body", { field: "steps" }],
      [JSON_TYPE, '{"steps":1e9,"events":[]}', "chunk_too_long", { steps: 1e9, steps_max: 65_536 }],
      [JSON_TYPE, '{"steps":2,"events":[[0,0],[2,0]]}', "event_out_of_range", {
        position: 1,
        t: 2,
        i: 0,
      }],
      [JSON_TYPE, '{"steps":2,"events":[[0,6]]}', "event_out_of_range", {
        position: 0,
        t: 0,
        i: 6,
      }],
      [JSON_TYPE, '{"steps":2,"events":[[-1,0]]}', "event_out_of_range", {}],
      [JSON_TYPE, '{"steps":2,"events":[[0.5,0]]}', "invalid_body", { field: "events[0]" }],
      [JSON_TYPE, '{"steps":2,"events":[[0]]}', "invalid_body", {}],
      [JSON_TYPE, '{"steps":2,"events":[[0,0,"1"]]}', "invalid_body", {}],
      [JSON_TYPE, '{"steps":2,"events":[[0,0,3e38],[0,0,3e38]]}', "non_finite", {
        step: 0,
        index: 0,
      }],
      [JSON_TYPE, '{"steps":2,"events":{"0":1}}', "invalid_body", {}],
      ["text/plain", "1", "unsupported_media_type", {}],
      ["application/x-www-form-urlencoded", "a=1", "unsupported_media_type", {}],
      [null, new Uint8Array(24), "unsupported_media_type", {}],
    ] as const,
  )("%s %p is %s", async (type, body, code, facts) => {
    const { chunk, untouched, faults } = await setUp();
    await expectProblem(await chunk(type, body as Body), code, facts);
    await untouched();
    expect(faults).toEqual([]);
  });

  test("Content-Encoding may only be identity", async () => {
    const { chunk, untouched } = await setUp();
    for (const encoding of ["gzip", "br", "identity, gzip"]) {
      const answer = await chunk(OCTETS, bytesOf(spikes), "", { "content-encoding": encoding });
      await expectProblem(answer, "unsupported_media_type");
    }
    await untouched();
    expect((await chunk(OCTETS, bytesOf(spikes), "", { "content-encoding": "Identity" })).status)
      .toBe(202);
  });

  test("413 by Content-Length before the body is read, and while reading without one", async () => {
    const { chunk, untouched } = await setUp({ limits: { bodyBytesMax: 48 } });
    let pulled = 0;
    const endless = () =>
      new ReadableStream<Uint8Array<ArrayBuffer>>({
        pull(controller) {
          pulled++;
          controller.enqueue(new Uint8Array(16));
        },
      });
    const declared = await chunk(OCTETS, endless(), "", { "content-length": "49" });
    await expectProblem(declared, "body_too_large", { bytes_max: 48 });
    expect(pulled).toBeLessThanOrEqual(1);
    await expectProblem(await chunk(OCTETS, endless()), "body_too_large");
    expect(pulled).toBeLessThan(10);
    await untouched();
    expect((await chunk(OCTETS, new Uint8Array(48))).status).toBe(202);
  });

  test("a body that breaks off is 400 and nothing is taken", async () => {
    const { chunk, untouched } = await setUp();
    const broken = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        controller.enqueue(new Uint8Array(24));
        controller.error(new Error("connection lost"));
      },
    });
    await expectProblem(await chunk(OCTETS, broken), "bad_request");
    await untouched();
  });
});

describe("the queue", () => {
  test("a chunk longer than the whole queue is 413, one that does not fit now 429 with credit", async () => {
    const { chunk, executor, send, id } = await setUp({ limits: { queueStepsMax: 8 } });
    await expectProblem(await chunk(OCTETS, new Uint8Array(9 * 24)), "chunk_too_long", {
      steps: 9,
      steps_max: 8,
    });
    const gate = Promise.withResolvers<void>();
    executor.gate = gate.promise;
    expect(await (await chunk(OCTETS, new Uint8Array(5 * 24))).json()).toMatchObject({ credit: 3 });
    const full = await chunk(OCTETS, new Uint8Array(4 * 24));
    expect(full.headers.get("retry-after")).toBe("1");
    await expectProblem(full, "queue_full", { credit: 3 });
    // A refused chunk uses up no number.
    expect(await (await chunk(OCTETS, new Uint8Array(3 * 24))).json()).toMatchObject({
      seq: 1,
      credit: 0,
    });
    expect(await (await send(`/v1/sessions/${id}`)).json()).toMatchObject({
      frames_waiting: 3,
      credit: 0,
    });
    gate.resolve();
    await settle();
    expect(await (await send(`/v1/sessions/${id}`)).json()).toMatchObject({
      frames_waiting: 0,
      credit: 8,
    });
  });

  test("the limit in bytes counts too", async () => {
    const { chunk } = await setUp({ limits: { queueBytesMax: 50 } });
    await expectProblem(await chunk(OCTETS, new Uint8Array(72)), "chunk_too_long", {
      steps_max: 2,
    });
  });

  test("planned steps follow what waits", async () => {
    const { chunk, executor } = await setUp();
    executor.gate = new Promise(() => {});
    const starts: unknown[] = [];
    for (const steps of [5, 1, 3]) {
      const { start_step, end_step } = await (await chunk(OCTETS, new Uint8Array(steps * 24)))
        .json();
      starts.push([start_step, end_step]);
    }
    expect(starts).toEqual([[0, 5], [5, 6], [6, 9]]);
  });

  test("outputs: hold refuses chunks whose outputs nobody could keep", async () => {
    const world = makeWorld({ limits: { ringBytesMax: 2000 } });
    const id = await world.open({ outputs: "hold" });
    // One frame of 4 steps: 4 * 12 + 128 bytes = 176.
    await expectProblem(await world.post(id, new Float32Array(6 * 4 * 12)), "chunk_too_long");
    for (let i = 0; i < 11; i++) {
      expect((await world.post(id, new Float32Array(24))).status).toBe(202);
    }
    const refused = await world.post(id, new Float32Array(24));
    expect(refused.headers.get("retry-after")).toBe("1");
    await expectProblem(refused, "outputs_unread", { ring_bytes: 2000 });
    await settle();
    await expectProblem(await world.post(id, new Float32Array(24)), "outputs_unread", {
      unread_bytes: 1936,
    });
    const reader = await world.send(`/v1/sessions/${id}/outputs`);
    await settle();
    expect((await world.post(id, new Float32Array(24))).status).toBe(202);
    await reader.body!.cancel();
  });
});

describe("answers", () => {
  test("?wait=true gives the outputs of exactly these steps", async () => {
    const plan = leakyPlan();
    const { chunk } = await setUp({ plans: [plan] });
    const stream = new Random(3).floats(9 * 4);
    const expected = await onePass(plan, stream);
    await chunk(OCTETS, bytesOf(stream.subarray(0, 8)));
    const octets = await chunk(OCTETS, bytesOf(stream.subarray(8, 28)), "?wait=true", {
      accept: OCTETS,
    });
    expect(new Float32Array(await octets.arrayBuffer())).toEqual(expected.slice(4, 14));
    expect(Object.fromEntries(octets.headers)).toMatchObject({
      "content-type": OCTETS,
      "chunk-seq": "1",
      "start-step": "2",
      "steps": "5",
      "session-epoch": "1",
    });
    const npy = await chunk(OCTETS, bytesOf(stream.subarray(28, 32)), "?wait=true", {
      accept: "text/html, application/x-npy;q=0.5, application/json;q=0.1",
    });
    expect(npy.headers.get("content-type")).toBe(NPY);
    const array = parseNpy(new Uint8Array(await npy.arrayBuffer()));
    expect([array.dtype, array.shape, array.values]).toEqual([
      "<f4",
      [1, 1, 2],
      expected.slice(14, 16),
    ]);
    const answer = await chunk(OCTETS, bytesOf(stream.subarray(32)), "?wait=true");
    expect(await answer.json()).toEqual({
      seq: 3,
      steps: 1,
      start_step: 8,
      end_step: 9,
      epoch: 1,
      next_chunk_seq: 4,
      credit: 65_536,
      durable_seq: null,
      shape: [1, 1, 2],
      data: [[[...expected.slice(16)]]],
    });
  });

  test("recorded values come with the outputs", async () => {
    const world = makeWorld();
    const id = await world.open({ record: ["lif.v", "lif.s"] });
    const answer = await world.post(id, new Float32Array(36).fill(0.5), "?wait=true");
    const { data, probes } = await answer.json();
    expect(probes["lif.s"]).toEqual(data);
    expect(probes["lif.v"]).toHaveLength(6);
    const without = await world.open();
    const plain = await (await world.post(without, new Float32Array(36).fill(0.5), "?wait=true"))
      .json();
    expect("probes" in plain).toBe(false);
  });

  test("406 is decided before the chunk is taken", async () => {
    const { chunk, untouched } = await setUp();
    for (const query of ["", "?wait=true"]) {
      for (const accept of ["text/html", "application/json;q=0", "image/*"]) {
        await expectProblem(
          await chunk(OCTETS, bytesOf(spikes), query, { accept }),
          "not_acceptable",
        );
      }
    }
    await untouched();
    for (const accept of ["*/*", "application/*", "text/html, */*;q=0.1", ""]) {
      expect(
        (await chunk(OCTETS, bytesOf(spikes), "?wait=true", { accept })).headers.get(
          "content-type",
        ),
      )
        .toBe(JSON_TYPE);
    }
  });

  test("a wrong query takes nothing", async () => {
    const { chunk, untouched } = await setUp();
    await expectProblem(await chunk(OCTETS, bytesOf(spikes), "?wait=yes"), "invalid_query", {
      parameter: "wait",
    });
    await untouched();
  });

  test("a wait longer than 60 s answers 202; the chunk goes on", async () => {
    const { chunk, executor, clock, send, id } = await setUp();
    const gate = Promise.withResolvers<void>();
    executor.gate = gate.promise;
    const waiting = chunk(OCTETS, bytesOf(spikes), "?wait=true");
    await clock.advance(59_999);
    await clock.advance(1);
    const answer = await waiting;
    expect([answer.status, (await answer.json()).seq]).toEqual([202, 0]);
    gate.resolve();
    await settle();
    expect(await (await send(`/v1/sessions/${id}`)).json()).toMatchObject({ steps_done: 3 });
  });

  test("leaving during a wait cancels nothing", async () => {
    const { send, executor, id, clock } = await setUp();
    const gate = Promise.withResolvers<void>();
    executor.gate = gate.promise;
    const timers = clock.timers;
    const client = new AbortController();
    const waiting = send(`/v1/sessions/${id}/chunks?wait=true`, {
      method: "POST",
      body: bytesOf(spikes),
      headers: { "content-type": OCTETS },
      signal: client.signal,
    });
    await settle();
    client.abort();
    await clock.advance(1000); // so soon it is noticed
    await waiting;
    expect(clock.timers).toBe(timers + 1); // the watch over the step that runs
    gate.resolve();
    await settle();
    expect(clock.timers).toBe(timers);
    expect(await (await send(`/v1/sessions/${id}`)).json()).toMatchObject({ steps_done: 3 });
  });

  test("an answer that would be too large is refused before the chunk is taken", async () => {
    const { chunk, untouched } = await setUp({ limits: { answerBytesMax: 24 } });
    await expectProblem(await chunk(OCTETS, bytesOf(spikes), "?wait=true"), "answer_too_large", {
      bytes: 36,
      bytes_max: 24,
    });
    await untouched();
    expect((await chunk(OCTETS, bytesOf(spikes))).status).toBe(202);
  });

  test("a wait sees all its outputs though the ring is smaller", async () => {
    const { chunk } = await setUp({ limits: { ringBytesMax: 200 } });
    const stream = new Random(9).floats(40 * 6);
    const answer = await chunk(OCTETS, bytesOf(stream), "?wait=true", { accept: OCTETS });
    expect(new Float32Array(await answer.arrayBuffer())).toEqual(
      await onePass(spikingPlan(), stream),
    );
  });

  test("non-finite outputs are null in JSON and themselves in bytes", async () => {
    const plan = leakyPlan();
    const { chunk } = await setUp({ plans: [plan] });
    const huge = new Float32Array(8).fill(3.4e38);
    const answer = await chunk(OCTETS, bytesOf(huge), "?wait=true");
    const { data } = await answer.json() as { data: (number | null)[][][] };
    const expected = await onePass(plan, huge);
    expect(data.flat(2)).toEqual(
      [...expected].map((value) => Number.isFinite(value) ? value : null),
    );
    expect(data.flat(2)).toContain(null);
  });
});
