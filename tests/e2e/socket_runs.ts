/**
 * Clients over real sockets that behave as clients do: they come, send, read, leave in the middle, and
 * come back. Seeded; used by sockets.test.ts in short and by socket_campaign.ts at length.
 */
import { createParser } from "eventsource-parser";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { digitsPlan, PIXELS, recordings, STEPS } from "../support/digits.ts";
import { Random } from "../support/plans.ts";
import type { ServerProcess } from "../support/server_process.ts";
import { closeSession, postChunk } from "../support/stream_client.ts";

const JSON_TYPE = { "content-type": "application/json" };
const INPUTS = recordings();

/** The lines of /metrics without labels of the model: name → value. */
export async function metricsOf(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return new Map(
    text.split("\n").filter((line) => /^ganglion_\w+(\{model="digits"\})? /.test(line)).map(
      (line) => {
        const [name, value] = line.replace(/\{.*\}/, "").split(" ");
        return [name!, Number(value)];
      },
    ),
  );
}

/** Resolves once nobody reads and so many slots are free; throws after `ms`. */
export async function settled(url: string, slotsFree: number, ms = 10_000): Promise<void> {
  const end = performance.now() + ms;
  for (;;) {
    const values = await metricsOf(url);
    const free = values.get("ganglion_slots")! - values.get("ganglion_slots_occupied")!;
    const left = {
      free,
      readers: values.get("ganglion_readers"),
      streams: values.get("ganglion_event_streams"),
      waiting: values.get("ganglion_sessions_waiting"),
      frames: values.get("ganglion_frames_waiting"),
    };
    const { readers, streams, waiting, frames } = left;
    if (free === slotsFree && !readers && !streams && !waiting && !frames) return;
    if (performance.now() > end) throw new Error(`not settled: ${JSON.stringify(left)}`);
    await Bun.sleep(50);
  }
}

async function open(url: string, body: object = {}): Promise<string | null> {
  const answer = await fetch(`${url}/v1/sessions`, {
    method: "POST",
    headers: JSON_TYPE,
    body: JSON.stringify(body),
  });
  const { id } = await answer.json() as { id?: string };
  return answer.status === 201 ? id! : null;
}

/** Every id that is open now. */
async function openIds(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/v1/sessions`);
  const { sessions } = await answer.json() as { sessions: { id: string }[] };
  return sessions.map(({ id }) => id);
}

export interface Churn {
  readonly requests: number;
  readonly statuses: Readonly<Record<string, number>>;
}

/**
 * So many random requests by so many clients at once: open, chunk, read, cancel, close, and leaving in
 * the middle of each. Everything is closed at the end. A 5xx but 503 throws.
 */
export async function churn(
  url: string,
  { seed, requests, clients }: { seed: number; requests: number; clients: number },
): Promise<Churn> {
  let left = requests;
  const statuses: Record<string, number> = {};
  const count = (status: number | string) => statuses[status] = (statuses[status] ?? 0) + 1;

  /** A request that may be given up after a moment. */
  async function ask(random: Random, path: string, init: RequestInit = {}): Promise<void> {
    left--;
    const leave = new AbortController();
    const patience = random.next() < 0.4 ? random.int(0, 12) : null;
    const timer = patience === null ? null : setTimeout(() => leave.abort(), patience);
    try {
      const answer = await fetch(`${url}${path}`, { ...init, signal: leave.signal });
      count(answer.status);
      if (answer.status >= 500 && answer.status !== 503) throw new Error(await answer.text());
      if (answer.headers.get("content-type") !== "text/event-stream") await answer.arrayBuffer();
      else {
        const reader = answer.body!.getReader();
        for (let parts = random.int(0, 3); parts > 0; parts--) {
          const late = Bun.sleep(20).then(() => ({ done: true }));
          if ((await Promise.race([reader.read(), late])).done) break;
        }
        await reader.cancel();
      }
    } catch (error) {
      if (!leave.signal.aborted) throw error;
      count("left");
    } finally {
      if (timer !== null) clearTimeout(timer);
    }
  }

  async function client(random: Random): Promise<void> {
    while (left > 0) {
      left--;
      const id = await open(url, { wait_s: random.int(0, 1), ttl_s: random.int(1, 60) });
      if (id === null) {
        count("no slot");
        await Bun.sleep(random.int(0, 20));
        continue;
      }
      const path = `/v1/sessions/${id}`;
      for (let i = random.int(0, 8); i > 0 && left > 0; i--) {
        const kind = random.next();
        if (kind < 0.5) {
          const input = INPUTS[random.int(0, 449)]!.subarray(0, PIXELS * random.int(1, STEPS));
          await ask(random, `${path}/chunks${random.next() < 0.5 ? "?wait=true" : ""}`, {
            method: "POST",
            headers: { "content-type": "application/octet-stream" },
            body: input.slice(),
          });
        } else if (kind < 0.85) await ask(random, `${path}/outputs`);
        else if (kind < 0.9) await ask(random, `/v1/outputs?session=${id}`);
        else if (kind < 0.95) {
          await ask(random, `${path}/chunks/${random.int(0, 3)}`, { method: "DELETE" });
        } else await ask(random, path);
      }
      if (random.next() < 0.9) await ask(random, path, { method: "DELETE" });
    }
  }

  await Promise.all(Array.from({ length: clients }, (_, i) => client(new Random(seed * 1000 + i))));
  for (const id of await openIds(url)) await closeSession(url, id);
  return { requests, statuses };
}

export interface Resumed {
  readonly sessions: number;
  readonly events: number;
  readonly cuts: number;
  readonly steps: number;
}

/**
 * Sessions that are written to for so long while their readers leave after random events and come back
 * by id. Throws unless each session's events are every step once, in order, and the twin's bytes.
 */
export async function cutAndResume(
  server: ServerProcess,
  { seed, sessions, ms }: { seed: number; sessions: number; ms: number },
): Promise<Resumed> {
  const { url } = server;
  const end = performance.now() + ms;
  const plan = await digitsPlan();
  const totals = { sessions, events: 0, cuts: 0, steps: 0 };

  async function one(random: Random): Promise<void> {
    const id = await open(url, { outputs: "hold" });
    if (id === null) throw new Error("no slot");
    const inputs: Float32Array[] = [];
    let stepsSent = 0;
    let isSending = true;
    const outputs: number[] = [];
    let lastId: string | undefined;
    let stepsSeen = 0;
    const send = async () => {
      while (performance.now() < end) {
        const input = INPUTS[random.int(0, 449)]!.subarray(0, PIXELS * random.int(1, STEPS));
        const answer = await postChunk(url, id, input);
        await answer.arrayBuffer();
        if (answer.status === 202) {
          inputs.push(input);
          stepsSent += input.length / PIXELS;
        } else if (answer.status !== 429) throw new Error(`chunk: ${answer.status}`);
        await Bun.sleep(random.int(20, 120));
      }
      isSending = false;
    };
    const readSome = async () => {
      const leave = new AbortController();
      const answer = await fetch(`${url}/v1/sessions/${id}/outputs?encoding=base64`, {
        headers: lastId === undefined ? {} : { "last-event-id": lastId },
        signal: leave.signal,
      });
      if (answer.status !== 200) {
        throw new Error(`outputs: ${answer.status} ${await answer.text()}`);
      }
      let more = random.int(0, 6);
      let isOpen = false;
      const parser = createParser({
        onEvent: (event) => {
          const data = JSON.parse(event.data);
          if (event.event === "open") {
            isOpen = true;
            const wanted = lastId === undefined ? "start" : "full";
            if (data.resume !== wanted || data.missing !== null) throw new Error(event.data);
          }
          if (event.event !== "output" || more <= 0) return;
          if (data.start_step !== stepsSeen) {
            throw new Error(`step ${data.start_step} came after ${stepsSeen}`);
          }
          stepsSeen += data.steps;
          lastId = event.id;
          const bytes = Uint8Array.from(atob(data.data as string), (char) => char.charCodeAt(0));
          outputs.push(...new Float32Array(bytes.buffer));
          totals.events++;
          more--;
        },
      });
      const decoder = new TextDecoder();
      const reader = answer.body!.getReader();
      while ((more > 0 || !isOpen) && (isSending || stepsSeen < stepsSent)) {
        const late = Bun.sleep(200).then(() => null);
        const part = await Promise.race([reader.read(), late]);
        if (part === null) break;
        if (part.done) break;
        parser.feed(decoder.decode(part.value, { stream: true }));
      }
      totals.cuts++;
      leave.abort();
      await reader.cancel().catch(() => undefined);
    };
    const read = async () => {
      while (isSending || stepsSeen < stepsSent) await readSome();
    };
    await Promise.all([send(), read()]);
    if (stepsSeen !== stepsSent) throw new Error(`${stepsSeen} steps came of ${stepsSent}`);
    const stream = new Float32Array(stepsSent * PIXELS);
    let at = 0;
    for (const input of inputs) {
      stream.set(input, at);
      at += input.length;
    }
    const twin = new ReferenceExecutor(plan, { slots: 1, frame: Math.max(1, stepsSent) });
    const [row] = await twin.step([{ slot: 0, steps: stepsSent, fresh: true, input: stream }]);
    const wanted = Buffer.from(row!.output.slice().buffer);
    if (!wanted.equals(Buffer.from(Float32Array.from(outputs).buffer))) {
      throw new Error("the outputs are not the twin's");
    }
    totals.steps += stepsSent;
    await closeSession(url, id);
  }

  await Promise.all(Array.from({ length: sessions }, (_, i) => one(new Random(seed * 1000 + i))));
  return totals;
}
