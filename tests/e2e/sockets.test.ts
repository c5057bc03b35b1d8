/**
 * Real sockets on both runtimes: clients that leave in the middle of everything, half-open ones, readers
 * that are cut and come back. Afterwards nothing is left: no slot, no reader, no stream.
 */
import { describe, expect, test } from "bun:test";
import { DIGITS_NIR, onePassOutputs, recordings } from "../support/digits.ts";
import { rawClient, socketsOf } from "../support/raw_client.ts";
import { startServer } from "../support/server_process.ts";
import { closeSession, openSession, postChunk } from "../support/stream_client.ts";
import { churn, cutAndResume, metricsOf, settled } from "./socket_runs.ts";

const TEST_MS = 120_000;
const CPU = [DIGITS_NIR, "--device", "cpu"];
const limit = (name: string, value: number) => ["--limit", `${name}=${value}`];

/** The next session answers, and rightly. */
async function nextAnswers(url: string): Promise<void> {
  const id = await openSession(url);
  const answer = await postChunk(url, id, recordings()[0]!, "?wait=true");
  const wanted = (await onePassOutputs())[0]!;
  expect(new Float32Array(await answer.arrayBuffer())).toEqual(new Float32Array(wanted));
  await closeSession(url, id);
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

async function until(isTrue: () => boolean | Promise<boolean>, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (!await isTrue()) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms`);
    await Bun.sleep(50);
  }
}

describe.each(["deno", "bun"] as const)("on %s", (runtime) => {
  test("500 random requests by 60 clients who leave in the middle: nothing is left", async () => {
    await using server = await startServer(runtime, [...CPU, "--slots", "20"]);
    const { statuses } = await churn(server.url, { seed: 5, requests: 500, clients: 60 });
    await settled(server.url, 20);
    expect(statuses["left"]).toBeGreaterThan(20);
    expect(statuses["200"]).toBeGreaterThan(20);
    await nextAnswers(server.url);
    expect(await server.stop()).toBe(0);
    expect(server.talk()).not.toContain("rror");
  }, TEST_MS);

  test("half-open clients are reaped: one that sent FIN, one that is stopped", async () => {
    const ring = [...limit("ringBytesMax", 64 << 20), ...limit("readerBytesMax", 32 << 20)];
    const args = [...CPU, "--slots", "2", "--frame", "256", ...limit("readerStallSeconds", 1)];
    await using server = await startServer(runtime, [...args, ...ring]);
    const { url } = server;
    const id = await openSession(url);
    const readers = async () => (await metricsOf(url)).get("ganglion_readers");

    const fin = await rawClient(url, get(`/v1/sessions/${id}/outputs`));
    await until(async () => await readers() === 1, 5_000);
    fin.socket.end();
    const begin = performance.now();
    await until(async () => await readers() === 0, 5_000);
    expect(performance.now() - begin).toBeLessThan(1_000);
    fin.socket.destroy();

    const script = `exec 3<>/dev/tcp/127.0.0.1/${new URL(url).port}
printf 'GET /v1/sessions/${id}/outputs HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' >&3
echo sent; sleep 100`;
    const child = Bun.spawn(["bash", "-c", script], { stdout: "pipe" });
    try {
      await child.stdout.getReader().read();
      child.kill("SIGSTOP");
      await until(async () => await readers() === 1, 5_000);
      // More than the sockets' buffers take.
      let fed = 0;
      while (fed < 5) {
        const answer = await fetch(`${url}/v1/sessions/${id}/chunks`, {
          method: "POST",
          headers: { "content-type": "application/vnd.ganglion.bits" },
          body: new Uint8Array(65_536 * 8),
        });
        await answer.arrayBuffer();
        if (answer.status === 202) fed++;
        else await Bun.sleep(100);
      }
      const sockets = socketsOf(server.pid);
      await until(async () => await readers() === 0, 20_000);
      await closeSession(url, id);
      await settled(url, 2);
      // Bun ends the connection, Deno leaves it to the kernel.
      if (runtime === "bun") await until(() => socketsOf(server.pid) < sockets, 5_000);
    } finally {
      child.kill("SIGKILL");
    }
    await nextAnswers(url);
    expect(await server.stop()).toBe(0);
  }, TEST_MS);

  test(
    "a body that stops half-way is given up, and so is a client that vanishes in it",
    async () => {
      await using server = await startServer(runtime, [...CPU, ...limit("bodySeconds", 1)]);
      const { url } = server;
      const id = await openSession(url);
      const half = `POST /v1/sessions/${id}/chunks HTTP/1.1\r\nHost: localhost\r\n` +
        "Content-Type: application/octet-stream\r\nContent-Length: 25600\r\n\r\n";
      const slow = await rawClient(url, half + "\0".repeat(100));
      const gone = await rawClient(url, half + "\0".repeat(100));
      gone.socket.destroy();
      expect(await slow.ended(3_000)).toContain("body_timeout");
      slow.socket.destroy();
      const session = await (await fetch(`${url}/v1/sessions/${id}`)).json();
      expect(session).toMatchObject({ next_chunk_seq: 0, frames_waiting: 0 });
      await closeSession(url, id);
      await settled(url, 8);
      expect(await server.stop()).toBe(0);
    },
    TEST_MS,
  );

  test(
    "64 sessions, cut and resumed at random events: every step once, the twin's bytes",
    async () => {
      await using server = await startServer(runtime, [...CPU, "--slots", "64"]);
      const { events, cuts, steps } = await cutAndResume(server, {
        seed: 3,
        sessions: 64,
        ms: 3_000,
      });
      expect([events > 500, cuts > 300, steps > 5_000]).toEqual([true, true, true]);
      await settled(server.url, 64);
      expect(await server.stop()).toBe(0);
    },
    TEST_MS,
  );
});
