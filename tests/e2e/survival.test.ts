/** Real servers on both runtimes: killed, stopped and started again, and with devices that are lost. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DIGITS_NIR } from "../support/digits.ts";
import { type ServerProcess, startProgram, startServer } from "../support/server_process.ts";
import { Random } from "../support/plans.ts";

const SAMPLE = 64;
const RUNTIMES = ["deno", "bun"] as const;
const LIMIT_MS = 120_000;

const spikes = (seed: number, steps: number) => new Random(seed).spikes(steps * SAMPLE, 0.2);

async function withFolder(action: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "ganglion-state-"));
  try {
    await action(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function call(server: ServerProcess, path: string, init: RequestInit = {}) {
  return await fetch(`${server.url}${path}`, init);
}

async function open(server: ServerProcess): Promise<string> {
  const answer = await call(server, "/v1/sessions", { method: "POST" });
  expect(answer.status).toBe(201);
  return (await answer.json() as { id: string }).id;
}

const view = async (server: ServerProcess, id: string) =>
  await (await call(server, `/v1/sessions/${id}`)).json() as Record<string, unknown>;

async function run(
  server: ServerProcess,
  id: string,
  values: Float32Array,
  headers: Record<string, string> = {},
): Promise<number[]> {
  const answer = await call(server, `/v1/sessions/${id}/chunks?wait=true`, {
    method: "POST",
    headers: {
      "content-type": "application/octet-stream",
      accept: "application/octet-stream",
      ...headers,
    },
    body: values.slice(),
  });
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  return [...new Float32Array(await answer.arrayBuffer())];
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 200 && !await condition(); i++) await Bun.sleep(50);
  expect(await condition()).toBe(true);
}

describe.each(RUNTIMES)("on %s", (runtime) => {
  const start = (folder: string, ...args: string[]) =>
    startServer(runtime, [DIGITS_NIR, "--device", "cpu", "--state-dir", folder, ...args]);

  test("kill -9 and restart: sessions go on from what was durable, and say so", async () => {
    await withFolder(async (folder) => {
      const first = await start(folder, "--limit", "checkpointMs=50");
      const ids = [await open(first), await open(first)];
      const twin = await open(first);
      const early = await Promise.all(ids.map((id, i) => run(first, id, spikes(i, 25))));
      await until(async () => {
        const views = await Promise.all(ids.map((id) => view(first, id)));
        return views.every(({ durable_seq: durable }) => durable === 0);
      });
      // What an undisturbed session gives.
      const wanted = await run(
        first,
        twin,
        Float32Array.from([...spikes(0, 25), ...spikes(9, 30)]),
      );
      await run(first, ids[0]!, spikes(8, 3)); // perhaps lost
      await first.kill();

      await using second = await start(folder, "--limit", "checkpointMs=50");
      // Durable is also a chunk that was kept before it ran; it runs again.
      await until(async () => ((await view(second, ids[0]!))["steps_done"] as number) >= 25);
      const after = await view(second, ids[0]!);
      expect(after).toMatchObject({ epoch: 2 });
      const to = after["steps_done"] as number;
      expect([25, 28]).toContain(to);
      const chunk = { method: "POST", body: spikes(9, 30).slice() };
      const type = { "content-type": "application/octet-stream" };
      const refused = await call(second, `/v1/sessions/${ids[1]}/chunks`, {
        ...chunk,
        headers: type,
      });
      const rolledBack = await refused.json() as { to_step: number };
      expect(rolledBack).toMatchObject({ code: "rolled_back", next_chunk_seq: 1, epoch: 2 });
      expect([0, 25]).toContain(rolledBack.to_step);
      // Wherever it was cut, what was durable comes out whole: its bytes, and no step beyond it.
      expect(await run(second, ids[1]!, spikes(1, 25), { "chunk-seq": "0" })).toEqual(early[1]!);
      expect(await view(second, ids[1]!)).toMatchObject({ steps_done: 25, next_chunk_seq: 1 });
      // A repeat of a durable chunk gives its outputs, byte for byte.
      expect(await run(second, ids[0]!, spikes(0, 25), { "chunk-seq": "0" })).toEqual(early[0]!);
      if (to === 25) {
        const late = await run(second, ids[0]!, spikes(9, 30), { "chunk-seq": "1" });
        expect([...early[0]!, ...late]).toEqual(wanted);
      }
      const files = readdirSync(folder).filter((name) => name.endsWith(".session"));
      for (const name of files) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
      expect(files.length).toBeGreaterThanOrEqual(2);
    });
  }, LIMIT_MS);

  test(
    "SIGTERM and restart: exit 0, nothing is lost, readers come back by their last id",
    async () => {
      await withFolder(async (folder) => {
        const first = await start(folder);
        const [id, twin] = [await open(first), await open(first)];
        const wanted = await run(
          first,
          twin,
          Float32Array.from([...spikes(1, 40), ...spikes(2, 40)]),
        );
        const early = await run(first, id, spikes(1, 40));
        const stream = await call(first, `/v1/sessions/${id}/outputs`);
        const text = stream.text();
        const begin = performance.now();
        expect(await first.stop()).toBe(0);
        expect(performance.now() - begin).toBeLessThan(6_000);
        expect(await text).toContain("event: output");
        expect(await text).not.toContain("event: end");

        // Another process must not have the folder at the same time; a torn file is left alone.
        writeFileSync(join(folder, "torn.session"), "torn");
        await using second = await start(folder);
        await expect(start(folder)).rejects.toThrow("is used by process");
        expect(second.talk()).toContain("session torn cannot go on");
        const outputs = await call(second, `/v1/sessions/${id}/outputs`, {
          headers: { "last-event-id": "1-40" },
        });
        const reader = outputs.body!.getReader();
        let got = "";
        while (!got.includes("rolled_back")) {
          got += new TextDecoder().decode((await reader.read()).value);
        }
        await reader.cancel();
        expect(got).toContain('"resume":"full"');
        expect(got).toContain('data: {"epoch":2,"to_step":40,"next_chunk_seq":1}');
        const late = await run(second, id, spikes(2, 40), { "session-epoch": "2" });
        expect([...early, ...late]).toEqual(wanted);
      });
    },
    LIMIT_MS,
  );

  test("SIGTERM: not ready at once, nobody new comes in, what runs finishes, exit 0", async () => {
    await using server = await startServer(runtime, [
      DIGITS_NIR,
      "--device",
      "cpu",
      "--frame",
      "1",
    ]);
    const id = await open(server);
    // As many steps as take most of a second here, of the two that what runs is given.
    await run(server, id, spikes(1, 4_000));
    const begin = performance.now();
    await run(server, id, spikes(1, 4_000));
    const perStep = (performance.now() - begin) / 4_000;
    const steps = Math.min(60_000, Math.ceil(800 / perStep));
    const running = run(server, id, spikes(2, steps));
    while ((await view(server, id))["steps_done"] === 8_000) await Bun.sleep(1);
    const stopping = server.stop();
    const codes: string[] = [];
    const refusal = async (path: string, init: RequestInit = {}) => {
      const answer = await call(server, path, init);
      const { code = "none" } = await answer.json() as { code?: string };
      return `${answer.status} ${code}`;
    };
    while (await refusal("/readyz") !== "503 draining") await Bun.sleep(1);
    codes.push(await refusal("/v1/sessions", { method: "POST" }));
    codes.push(
      await refusal(`/v1/sessions/${id}/chunks`, {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: spikes(3, 1).slice(),
      }),
    );
    expect(codes).toEqual(["503 draining", "503 draining"]);
    expect((await call(server, "/livez")).status).toBe(200);
    expect((await running).length).toBe(steps * 10);
    expect(await stopping).toBe(0);
  }, LIMIT_MS);

  test.each(["webgpu", "cpu"])(
    "10 times more sessions than slots on %s: bytes are equal",
    async (device) => {
      await using calm = await startServer(runtime, [
        DIGITS_NIR,
        "--device",
        "cpu",
        "--slots",
        "40",
      ]);
      const size = ["--slots", "4", "--sessions-max", "40"];
      await using dense = await startServer(runtime, [DIGITS_NIR, "--device", device, ...size]);
      const seeds = Array.from({ length: 40 }, (_, i) => i);
      const ids = await Promise.all(seeds.map(() => open(dense)));
      const twins = await Promise.all(seeds.map(() => open(calm)));
      for (let round = 0; round < 3; round++) {
        const values = seeds.map((seed) => spikes(seed + 1000 * round, 20));
        const got = await Promise.all(ids.map((id, i) => run(dense, id, values[i]!)));
        const wanted = await Promise.all(twins.map((id, i) => run(calm, id, values[i]!)));
        expect(got).toEqual(wanted);
      }
      const metrics = await (await call(dense, "/metrics")).text();
      const metric = (name: string) =>
        Number(metrics.match(new RegExp(`^ganglion_${name}\\{.*\\} (\\S+)$`, "m"))?.[1]);
      const ms = 1000 * metric("swap_seconds_total") / (metric("swaps_total") / 2);
      console.log(`${runtime}, ${device}: ${ms.toFixed(3)} ms a session parked and brought back`);
      expect(metric("swaps_total")).toBeGreaterThan(150);
      expect(metric("sessions_parked")).toBe(36);
    },
    LIMIT_MS,
  );

  test(
    "a WebGPU device that is lost again and again: bytes are those of an undisturbed run",
    async () => {
      await using calm = await startServer(runtime, [DIGITS_NIR, "--device", "cpu"]);
      await using lossy = await startProgram(runtime, "tests/e2e/lossy_server_child.ts", [
        DIGITS_NIR,
        "700",
      ]);
      let chunks = 0;
      const until = performance.now() + 6_000;
      await Promise.all([1, 2, 3, 4, 5, 6].map(async (seed) => {
        const [id, twin] = [await openWhenReady(lossy), await open(calm)];
        for (let seq = 0; performance.now() < until; seq++) {
          const values = spikes(100 * seed + seq, 20);
          const answers = [run(lossy, id, values), run(calm, twin, values)];
          const [got, wanted] = await Promise.all(answers);
          expect(got).toEqual(wanted!);
          chunks++;
        }
      }));
      const losses = lossy.talk().split("was lost; opening another").length - 1;
      console.log(`${runtime}: ${losses} losses, ${chunks} chunks of 20 steps`);
      expect(losses).toBeGreaterThan(2);
      expect(chunks).toBeGreaterThan(20);
    },
    LIMIT_MS,
  );
});

/** New sessions are refused while there is no device. */
async function openWhenReady(server: ServerProcess): Promise<string> {
  for (let i = 0; i < 100; i++) {
    const answer = await call(server, "/v1/sessions", { method: "POST" });
    if (answer.status === 201) return (await answer.json() as { id: string }).id;
    expect(answer.status).toBe(503);
    await answer.body?.cancel();
    await Bun.sleep(50);
  }
  throw new Error("never ready");
}
