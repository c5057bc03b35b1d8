/**
 * Overload at three times what a server can do, measured from outside: how long accepted chunks take, how
 * fast refusals come, and whether `Retry-After` tells the truth. The client shares the machine with the
 * server and everything else, so that refusals are also measured where they are made, and `/healthz` is
 * asked at the same moments for comparison.
 */
import { PIXELS } from "../support/digits.ts";
import { Random } from "../support/plans.ts";
import { startSleepingServer } from "../support/sleeping_server.ts";
import { closeSession, openSession } from "../support/stream_client.ts";

const FRAME = 10;
const SLOTS = 8;
const STEP_MS = 40;
const FRAMES_QUEUED = 4;

export interface Overload {
  readonly accepted: Percentiles;
  readonly refused: Percentiles;
  /** `/healthz` from the same client at the same moments, which costs the server nothing. */
  readonly health: Percentiles;
  /** 99 of 100 refusals left the server within this, by its own histogram. */
  readonly refusedInServerMs: number;
  /** Longest that an accepted frame may take: all that wait before it, its own, the one that runs. */
  readonly boundMs: number;
  /** Medians in seconds: what refused openings were told, and when a slot did come free. */
  readonly toldS: number;
  readonly trueS: number;
  readonly openRefusals: number;
}

export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

export async function overload(runtime: "deno" | "bun", ms: number): Promise<Overload> {
  const server = await startSleepingServer(runtime, {
    stepMs: STEP_MS,
    slots: SLOTS,
    frame: FRAME,
    limits: { queueStepsMax: FRAMES_QUEUED * FRAME, waitingSessionsMax: 0 },
  });
  try {
    const { url } = server;
    const chunks = await chunkFlood(url, ms / 2);
    const openings = await openingFlood(url, ms / 2);
    const boundMs = (FRAMES_QUEUED + 2) * STEP_MS;
    return { ...chunks, ...openings, boundMs };
  } finally {
    await server.kill();
  }
}

/** One frame a session comes three times as often as a step can take it. */
async function chunkFlood(url: string, ms: number) {
  const ids = await Promise.all(Array.from({ length: SLOTS }, () => openSession(url)));
  const accepted: number[] = [];
  const refused: number[] = [];
  const health: number[] = [];
  const body = new Uint8Array(FRAME * PIXELS * 4);
  const asked: Promise<void>[] = [];
  const ask = async (id: string) => {
    const begin = performance.now();
    const answer = await fetch(`${url}/v1/sessions/${id}/chunks?wait=true`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream", accept: "application/octet-stream" },
      body,
    });
    await answer.arrayBuffer();
    const took = performance.now() - begin;
    if (answer.status === 200) accepted.push(took);
    else if (answer.status === 429) refused.push(took);
    else throw new Error(`chunk: ${answer.status}`);
  };
  const ping = async () => {
    const begin = performance.now();
    await (await fetch(`${url}/healthz`)).arrayBuffer();
    health.push(performance.now() - begin);
  };
  const end = performance.now() + ms;
  while (performance.now() < end) {
    for (const id of ids) asked.push(ask(id));
    asked.push(ping());
    await Bun.sleep(STEP_MS / 3);
  }
  await Promise.all(asked);
  for (const id of ids) await closeSession(url, id);
  return {
    accepted: percentiles(accepted),
    refused: percentiles(refused),
    health: percentiles(health),
    refusedInServerMs: await refusalsInServer(url, refused.length),
  };
}

/** The upper bound of the bucket in which the 99th of 100 refusals lies; accepted chunks take a step. */
async function refusalsInServer(url: string, count: number): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const buckets = text.matchAll(
    /^ganglion_http_request_seconds_bucket\{route="[^"]*\/chunks",le="([\d.]+)"\} (\d+)$/gm,
  );
  for (const [, bound, sum] of buckets) {
    if (Number(sum) >= 0.99 * count) return 1000 * Number(bound);
  }
  return Infinity;
}

/** Sessions of a few seconds hold all slots; others ask for one again and again. */
async function openingFlood(url: string, ms: number) {
  const random = new Random(4);
  const end = performance.now() + ms;
  const frees: number[] = [];
  const told: [at: number, seconds: number][] = [];
  const hold = async () => {
    while (performance.now() < end) {
      const id = await openSession(url);
      await Bun.sleep(random.int(4_000, 20_000));
      frees.push(performance.now());
      await closeSession(url, id);
    }
  };
  const ask = async () => {
    await Bun.sleep(Math.min(20_000, ms / 3)); // until some have ended
    while (performance.now() < end - 4_000) {
      const at = performance.now();
      const answer = await fetch(`${url}/v1/sessions`, { method: "POST" });
      const body = await answer.json() as { id: string };
      if (answer.status === 503) told.push([at, Number(answer.headers.get("retry-after"))]);
      else await closeSession(url, body.id);
      await Bun.sleep(random.int(20, 200));
    }
  };
  await Promise.all([...Array.from({ length: SLOTS }, hold), ask(), ask()]);
  const truths = told.map(([at]) =>
    (frees.sort((a, b) => a - b).find((free) => free > at)! - at) / 1000
  );
  return {
    toldS: percentiles(told.map(([, seconds]) => seconds)).p50,
    trueS: percentiles(truths).p50,
    openRefusals: told.length,
  };
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { count: sorted.length, p50: at(0.5) ?? NaN, p99: at(0.99) ?? NaN };
}
