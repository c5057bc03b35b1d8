/** What an operator sees: metrics, the slot table, server events, the access log. */
import { describe, expect, test } from "bun:test";
import { traceOf } from "../../src/http/access_log.ts";
import type { RequestEntry } from "../../src/http/mod.ts";
import { METRICS } from "../../src/metrics/table.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { makeWorld, settle, type World } from "./support/world.ts";

const step = new Float32Array(6);

/** Name with labels → value; throws for a line that is none of the format. */
export function parseMetrics(text: string): Map<string, number> {
  const values = new Map<string, number>();
  const line =
    /^([a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*\})?) (-?[\d.e+-]+|NaN|[+-]Inf)$/;
  for (const each of text.trimEnd().split("\n")) {
    if (/^# (HELP|TYPE) ganglion_[a-z_]+ ./.test(each)) continue;
    const match = line.exec(each);
    if (match === null) throw new Error(`no metric: ${each}`);
    if (values.has(match[1]!)) throw new Error(`twice: ${each}`);
    values.set(match[1]!, Number(match[2]!.replace("Inf", "Infinity")));
  }
  return values;
}

async function measured(world: World) {
  const answer = await world.send("/metrics");
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return parseMetrics(await answer.text());
}

test("/metrics: what happened is counted, event streams are in no duration", async () => {
  const world = makeWorld({ slots: 3, deps: { residentBytes: () => 1e8 } });
  const [a, b] = [await world.open(), await world.open()];
  const reader = await world.send(`/v1/sessions/${a}/outputs`);
  await world.post(a, new Float32Array(9 * 6), "?wait=true");
  await world.post(b, step, "?wait=true");
  await world.send(`/v1/sessions/${b}`, { method: "DELETE" });
  await expectProblem(await world.send("/v1/sessions/x"), "session_unknown");
  world.executor.fails = (_, at) => at === 4;
  await world.post(a, step, "?wait=true");
  await world.send("/nothing");
  const values = await measured(world);
  const of = (name: string) => values.get(name);
  const model = '{model="spiking"}';
  expect(Object.fromEntries([...values].filter(([name]) => !name.includes("http"))))
    .toMatchObject({
      'ganglion_build_info{version="1.2.3",commit=""}': 1,
      ganglion_ready: 1,
      [`ganglion_slots${model}`]: 3,
      [`ganglion_slots_occupied${model}`]: 1,
      [`ganglion_sessions${model}`]: 1,
      [`ganglion_sessions_parked${model}`]: 0,
      [`ganglion_sessions_waiting${model}`]: 0,
      [`ganglion_sessions_opened_total${model}`]: 2,
      'ganglion_sessions_ended_total{model="spiking",reason="closed"}': 1,
      [`ganglion_frames_waiting${model}`]: 0,
      [`ganglion_frames_total${model}`]: 5,
      [`ganglion_steps_failed_total${model}`]: 1,
      [`ganglion_step_seconds_count${model}`]: 6,
      // Executors that tell nothing of the parts spend all on compute; failed steps have none.
      'ganglion_step_phase_seconds_count{model="spiking",phase="upload"}': 5,
      'ganglion_step_phase_seconds_sum{model="spiking",phase="upload"}': 0,
      'ganglion_step_phase_seconds_count{model="spiking",phase="compute"}': 5,
      'ganglion_step_phase_seconds_count{model="spiking",phase="readback"}': 5,
      [`ganglion_step_fill_count${model}`]: 6,
      'ganglion_step_fill_bucket{model="spiking",le="0.4"}': 6,
      'ganglion_step_fill_bucket{model="spiking",le="0.3"}': 0,
      [`ganglion_chunk_seconds_count${model}`]: 3,
      [`ganglion_readers${model}`]: 1,
      ganglion_event_streams: 1,
      'ganglion_refusals_total{code="session_unknown"}': 1,
      'ganglion_refusals_total{code="not_found"}': 1,
      ganglion_resident_memory_bytes: 1e8,
    });
  const outputs = "/v1/sessions/:session/outputs";
  expect(of(`ganglion_http_requests_total{method="GET",route="${outputs}",status="200"}`)).toBe(1);
  expect(of(`ganglion_http_request_seconds_count{route="${outputs}"}`)).toBe(undefined);
  expect(of('ganglion_http_request_seconds_count{route="/v1/sessions"}')).toBe(2);
  expect(of('ganglion_http_requests_total{method="GET",route="none",status="404"}')).toBe(1);
  await reader.body!.cancel();
  world.executor.lose();
  await settle();
  const lost = await measured(world);
  expect(lost.get(`ganglion_device_losses_total${model}`)).toBe(1);
  expect(lost.get("ganglion_ready")).toBe(0);
  expect(lost.get('ganglion_sessions_ended_total{model="spiking",reason="device_lost"}')).toBe(1);
  expect([lost.get(`ganglion_readers${model}`), lost.get("ganglion_event_streams")])
    .toEqual([0, 0]);
});

test("step time is split into upload, compute and readback where the executor tells", async () => {
  const world = makeWorld();
  const id = await world.open();
  Object.defineProperty(world.executor, "phases", {
    value: { uploadMs: 250, computeMs: 500, readbackMs: 1000 },
  });
  await world.post(id, step, "?wait=true");
  const values = await measured(world);
  const sum = (phase: string) =>
    values.get(`ganglion_step_phase_seconds_sum{model="spiking",phase="${phase}"}`);
  expect(["upload", "compute", "readback"].map(sum)).toEqual([0.25, 0.5, 1]);
});

test("/livez fails while a step does not end within stepSecondsMax, which is said and counted", async () => {
  const world = makeWorld({ limits: { stepSecondsMax: 5 }, deps: { apiKeys: ["alpha"] } });
  const as = { headers: { authorization: "Bearer alpha" } };
  const live = () => world.send("/livez");
  const id = await world.open({}, as);
  const client = new EventClient(await world.send("/v1/events", as));
  const gate = Promise.withResolvers<void>();
  world.executor.gate = gate.promise; // an executor that hangs
  await world.post(id, step, "", as.headers);
  await world.clock.advance(4_999);
  expect([(await live()).status, world.said]).toEqual([200, []]);
  await world.clock.advance(1);
  for (const path of ["/livez", "/readyz"]) {
    await expectProblem(await world.send(path), "step_stuck", { retry_after_s: 1 });
  }
  // The process itself lives, and says so.
  expect((await world.send("/healthz")).status).toBe(200);
  await world.clock.advance(60_000);
  const values = parseMetrics(await (await world.send("/metrics", as)).text());
  expect(values.get('ganglion_steps_stuck_total{model="spiking"}')).toBe(1);
  expect(values.get("ganglion_ready")).toBe(0);
  expect(client.named("step_stuck").map(({ data }) => data.model)).toEqual(["spiking"]);
  world.executor.gate = null;
  gate.resolve();
  await settle();
  expect((await live()).status).toBe(200);
  expect((await world.send("/readyz")).status).toBe(200);
  expect(world.said).toEqual([
    "a step of spiking has not ended for 5 s: /livez fails until it does",
    "the step of spiking ended after 65 s",
  ]);
  await client.leave();
});

test("a state that cannot be read makes /livez fail too; with 0 nothing does", async () => {
  for (const [stepSecondsMax, status] of [[5, 503], [0, 200]] as const) {
    const world = makeWorld({ limits: { stepSecondsMax } });
    const id = await world.open();
    await world.post(id, step, "?wait=true");
    world.executor.readStates = () => new Promise(() => undefined);
    void world.send(`/v1/sessions/${id}/state`);
    await world.clock.advance(90_000);
    expect((await world.send("/livez")).status).toBe(status);
  }
});

test("labels come from closed lists, so that nobody can make new ones", async () => {
  const world = makeWorld();
  const knock = async (i: number) => {
    await world.send(`/${i}"x\n`, { method: `L${i}` });
    await world.send(`/v1/sessions/${i}`, { method: `M${i}` });
    await world.send(`/v1/models/${i}`, { headers: { "x-request-id": String(i) } });
    return (await measured(world)).size;
  };
  await knock(0);
  const size = await knock(1);
  for (let i = 2; i < 20; i++) expect(await knock(i)).toBe(size);
});

test("docs/operations.md names every metric", async () => {
  const page = await Bun.file(new URL("../../docs/operations.md", import.meta.url)).text();
  expect(Object.keys(METRICS).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

describe("/v1/slots", () => {
  test("shows every slot; the sessions of other keys without their ids", async () => {
    const world = makeWorld({ slots: 3, deps: { apiKeys: ["alpha", "beta"] } });
    const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    const mine = await world.open({}, as("alpha"));
    await world.open({}, as("beta"));
    const { models } = await (await world.send("/v1/slots", as("alpha"))).json();
    expect(models).toMatchObject([{
      model: "spiking",
      slots_total: 3,
      slots_free: 1,
      sessions: 2,
      slots: [
        { slot: 0, state: "held", session: mine, steps_done: 0, frames_waiting: 0, readers: 0 },
        { slot: 1, state: "held", session: null },
        { slot: 2, state: "free" },
      ],
    }]);
  });
});

describe("/v1/events", () => {
  test("tells what happens, ids only to their owner, load every second; resumes by id", async () => {
    const world = makeWorld({ deps: { apiKeys: ["alpha", "beta"] } });
    const as = (key: string, more = {}) => ({
      headers: { authorization: `Bearer ${key}`, ...more },
    });
    const client = new EventClient(await world.send("/v1/events", as("alpha")));
    const mine = await world.open({}, as("alpha"));
    await world.open({}, as("beta"));
    await world.send(`/v1/sessions/${mine}`, { method: "DELETE", ...as("alpha") });
    await world.clock.advance(2_000);
    const told = client.events.filter(({ event }) => event !== "load");
    expect(told.map(({ event, data }) => [event, data.session, data.reason])).toEqual([
      ["session_opened", mine, undefined],
      ["session_opened", null, undefined],
      ["session_ended", mine, "closed"],
    ]);
    expect(client.named("load")).toHaveLength(3);
    expect(client.named("load").at(-1)!.data.models[0]).toMatchObject({
      slots_free: 2,
      sessions: 1,
    });
    const again = new EventClient(
      await world.send("/v1/events", as("beta", { "last-event-id": told[0]!.id! })),
    );
    await settle();
    const rest = again.events.filter(({ event }) => event !== "load");
    expect(rest.map(({ id }) => id)).toEqual(told.slice(1).map(({ id }) => id));
    expect(rest[1]!.data.session).toBe(null);
    await Promise.all([client.leave(), again.leave()]);
    expect(world.clock.timers).toBe(2); // the idle watch of one session, one tombstone
  });

  test("is bounded: a reader that was too slow is told what it missed", async () => {
    const world = makeWorld({ limits: { serverEventsMax: 4, serverReadersMax: 1 } });
    for (let i = 0; i < 3; i++) {
      const id = await world.open();
      await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    }
    const first = new EventClient(await world.send("/v1/events"));
    await expectProblem(await world.send("/v1/events"), "too_many_readers");
    await settle();
    const last = first.events.filter(({ id }) => id !== undefined);
    expect(last).toHaveLength(4);
    await first.leave();
    for (let i = 0; i < 3; i++) await world.open();
    const second = new EventClient(
      await world.send(`/v1/events?last_event_id=${last[0]!.id}`),
    );
    await settle();
    expect(second.named("missed").map(({ data }) => data)).toEqual([{ events: 2 }]);
    await second.leave();
    await expectProblem(
      await world.send("/v1/events", { headers: { accept: "application/json" } }),
      "not_acceptable",
    );
  });

  test("tells the phases and the loss of a device, and ends with the server", async () => {
    const world = makeWorld({ phase: "starting" });
    const client = new EventClient(await world.send("/v1/events"));
    world.service.ready();
    world.executor.lose();
    await settle();
    world.service.close();
    await settle();
    expect(client.events.slice(1).map(({ event, data }) => [event, data.phase ?? data.model]))
      .toEqual([["phase", "ready"], ["device_lost", "spiking"], ["phase", "draining"]]);
    await client.leave();
  });
});

describe("the access log", () => {
  const entries: RequestEntry[] = [];
  const deps = { onRequest: (entry: RequestEntry) => void entries.push(entry) };

  test("one entry a request, with its id, its problem and its trace", async () => {
    const world = makeWorld({ deps });
    const id = await world.open();
    entries.length = 0;
    const trace = "0af7651916cd43dd8448eb211c80319c";
    await world.send(`/v1/sessions/${id}?key=secret`, {
      headers: { "x-request-id": "mine", traceparent: `00-${trace}-b7ad6b7169203331-01` },
    });
    await expectProblem(await world.send("/v1/sessions/x%0Ay"), "session_unknown");
    await (await world.send(`/v1/sessions/${id}/outputs`)).body!.cancel();
    expect(entries).toMatchObject([
      {
        request_id: "mine",
        method: "GET",
        path: `/v1/sessions/${id}`,
        route: "/v1/sessions/:session",
        status: 200,
        stream: false,
        trace_id: trace,
        parent_id: "b7ad6b7169203331",
      },
      { status: 404, code: "session_unknown" },
      { status: 200, stream: true },
    ]);
    expect(JSON.stringify(entries)).not.toContain("secret");
  });

  test.each([
    ["", undefined],
    ["00-00000000000000000000000000000000-b7ad6b7169203331-01", undefined],
    ["00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", undefined],
    ["ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", undefined],
    ["00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", undefined],
    ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", undefined],
    ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "0af7651916cd43dd8448eb211c80319c"],
    [
      "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
      "0af7651916cd43dd8448eb211c80319c",
    ],
  ])("traceparent %p", (header, trace) => {
    expect(traceOf(header).trace_id).toBe(trace as string);
  });
});
