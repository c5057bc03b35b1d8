/** `ganglion serve` as a process: its one line, its refusals, its end. */
import { describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { DIGITS, ganglion, recording, type RuntimeName, RUNTIMES, start } from "./command_line.ts";

/** A server that is ready; `end` sends the signal and waits. */
async function serve(runtime: RuntimeName, args: readonly string[], variables = {}) {
  const words = ["serve", DIGITS, "--port", "0", "--device", "cpu", ...args];
  const child = start(runtime, words, variables);
  const reader = child.stdout.getReader();
  const stderr = new Response(child.stderr).text();
  const first = await reader.read();
  const line = new TextDecoder().decode(first.value);
  const url = line.match(/^listening (http:\/\/\S+)\n$/)?.[1];
  if (url === undefined) throw new Error(`not ready: ${line}${await stderr}`);
  return {
    url,
    child,
    async end(signal: "SIGTERM" | "SIGINT" = "SIGTERM") {
      const begin = performance.now();
      child.kill(signal);
      const code = await child.exited;
      const { value } = await reader.read();
      const more = value === undefined ? "" : new TextDecoder().decode(value);
      return { code, more, stderr: await stderr, ms: performance.now() - begin };
    },
  };
}

async function openSession(url: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${url}/v1/sessions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: "{}",
  });
  expect(response.status).toBe(201);
  return (await response.json() as { id: string }).id;
}

describe.each(RUNTIMES)("on %s", (runtime) => {
  test("serves, says one line, and ends open streams on SIGTERM", async () => {
    const server = await serve(runtime, ["--slots", "3", "--name", "seven"]);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const { models } = await (await fetch(`${server.url}/v1/models`)).json() as {
      models: { id: string; slots: number }[];
    };
    expect(models.map(({ id, slots }) => [id, slots])).toEqual([["seven", 3]]);
    const id = await openSession(server.url);
    const stream = await fetch(`${server.url}/v1/sessions/${id}/outputs`);
    const chunk = await fetch(`${server.url}/v1/sessions/${id}/chunks?wait=true`, {
      method: "POST",
      headers: { "Content-Type": "application/x-npy", Accept: "application/x-npy" },
      body: readFileSync(recording(7)),
    });
    expect(chunk.status).toBe(200);
    const { stdout } = await ganglion(runtime, ["infer", DIGITS, recording(7), "--device", "cpu"]);
    expect(Buffer.compare(await chunk.bytes(), stdout)).toBe(0);
    const ended = await server.end();
    expect([ended.code, ended.more]).toEqual([0, ""]);
    expect(ended.ms).toBeLessThan(2500);
    expect(ended.stderr).toContain("stopping");
    expect(ended.stderr).not.toContain("lost");
    const events = await stream.text();
    expect(events).toContain("event: output");
    expect(events).toContain("event: end");
  });

  test("an interrupt that comes twice at once is one", async () => {
    const server = await serve(runtime, []);
    server.child.kill("SIGINT");
    const { code } = await server.end("SIGINT");
    expect(code).toBe(0);
  });

  test("keys are wanted when there are some, and stay out of the log", async () => {
    const server = await serve(runtime, ["--host", "0.0.0.0"], { GANGLION_API_KEY: "hush-hush" });
    const url = server.url.replace("0.0.0.0", "127.0.0.1");
    expect((await fetch(`${url}/v1/models`)).status).toBe(401);
    await openSession(url, { Authorization: "Bearer hush-hush" });
    const { code, stderr } = await server.end();
    expect([code, stderr.includes("hush-hush")]).toEqual([0, false]);
  });

  test("--log json: every line is JSON, one of them each request; text: a line each", async () => {
    const trace = "0af7651916cd43dd8448eb211c80319c";
    const ask = async (mode: string) => {
      const server = await serve(runtime, ["--log", mode]);
      await (await fetch(`${server.url}/v1/sessions/a%0Ab?ticket=hush`, {
        headers: { "x-request-id": "mine-1", traceparent: `00-${trace}-b7ad6b7169203331-01` },
      })).arrayBuffer();
      return (await server.end()).stderr.trim().split("\n");
    };
    const json = (await ask("json")).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(json.every(({ time, level }) => typeof time === "string" && level === "info")).toBe(
      true,
    );
    expect(json.filter(({ request_id }) => request_id !== undefined)).toMatchObject([{
      request_id: "mine-1",
      method: "GET",
      route: "/v1/sessions/:session",
      status: 404,
      code: "session_unknown",
      trace_id: trace,
    }]);
    expect(JSON.stringify(json)).not.toContain("hush");
    const lines = (await ask("text")).filter((line) => line.includes("mine-1"));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^\S+Z GET \/v1\/sessions\/a%0Ab 404 [\d.]+ms id=mine-1 session_unknown trace=0af7\w+$/,
    );
  });

  test("readers of its output that leave do not end it", async () => {
    const words = ["serve", DIGITS, "--port", "0", "--device", "cpu", "--log", "text"];
    const child = start(runtime, words);
    const reader = child.stdout.getReader();
    const url = new TextDecoder().decode((await reader.read()).value).trim().split(" ")[1]!;
    await Promise.all([reader.cancel(), child.stderr.cancel()]);
    for (let i = 0; i < 3; i++) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  });

  test("a port that is taken is said, before a model is read", async () => {
    const server = await serve(runtime, []);
    const port = new URL(server.url).port;
    const args = ["serve", "absent.nir", "--device", "cpu", "--port", port];
    const { code, text, stderr } = await ganglion(runtime, args);
    expect([code, text]).toEqual([2, ""]);
    expect(stderr).toContain(`127.0.0.1:${port} is already taken`);
    await server.end();
  });
});

test("a client that never ends cannot hold the server up", async () => {
  await Promise.all(RUNTIMES.map(async (runtime) => {
    const server = await serve(runtime, []);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write("POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n");
    socket.write("Content-Type: application/json\r\n\r\n{");
    await Bun.sleep(200);
    const { code, ms } = await server.end();
    expect(code).toBe(0);
    expect(ms).toBeLessThan(4000);
    socket.destroy();
  }));
});

test("an orphan ends: a launcher that was killed cannot pass on a signal", async () => {
  const launcher = spawn("node", [
    ...[join(ROOT, "bin", "ganglion.mjs"), "serve", DIGITS],
    ...["--port", "0", "--device", "cpu"],
  ], { stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise<string>((resolve) => {
    launcher.stdout.on("data", (data) => resolve(String(data).replace("listening ", "").trim()));
  });
  launcher.kill("SIGKILL");
  const isUp = () => fetch(`${url}/healthz`).then(() => true, () => false);
  for (let i = 0; i < 40 && await isUp(); i++) await Bun.sleep(100);
  expect(await isUp()).toBe(false);
});

test("what cannot be served is refused before a port is opened", async () => {
  const cases: readonly (readonly [args: string[], code: number, said: RegExp])[] = [
    [["serve"], 2, /MODEL must be given/],
    [["serve", DIGITS, "--host", "0.0.0.0"], 2, /opens the server to others: give --api-key/],
    [["serve", DIGITS, "--host", "::"], 2, /opens the server to others/],
    [["serve", DIGITS, DIGITS], 2, /Two models have the id "digits".*--name/],
    [
      ["serve", DIGITS, "--name", "a", "--name", "b"],
      2,
      /More names are given than models: 2 with --name, 1 to serve/,
    ],
    [
      ["serve", DIGITS, "--state-dir", DIGITS],
      2,
      /--state-dir cannot be used: .*digits.* is there already, and is no folder/,
    ],
    [["serve", DIGITS, "--limit", "slots=0"], 2, /slots takes a whole number/],
    [
      ["serve", DIGITS, "--limit", "memoryBytesMax=1000000"],
      2,
      /8 slots need \d+ MiB and there are/,
    ],
    [["serve", DIGITS, "--log", "xml"], 2, /takes json, text, off/],
    [["serve", "absent.nir"], 1, /absent\.nir does not exist/],
    [["serve", recording(1)], 1, /1\.npy: The file does not begin as HDF5/],
    [["serve", DIGITS, "--output", "x"], 2, /--output is not a flag of this command/],
    [["bench"], 2, /MODEL must be given/],
    [["load", "http://127.0.0.1:1"], 1, /127\.0\.0\.1:1/],
    [["sevre"], 2, /did you mean serve/],
    [["--port", "1"], 2, /A command comes first/],
    [[], 2, /Usage: ganglion COMMAND/],
  ];
  const wrong = [];
  for (const [i, [args, code, said]] of cases.entries()) {
    // Whoever else listens on the default port must not matter.
    const ended = await ganglion(RUNTIMES[i % 2]!, args, { GANGLION_PORT: "0" });
    const right = ended.code === code && said.test(ended.stderr) && ended.text === "";
    if (!right) wrong.push({ args, ...ended });
  }
  expect(wrong).toEqual([]);
});
