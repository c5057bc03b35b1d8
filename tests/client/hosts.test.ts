/**
 * The client in Deno, Bun, Node and Chromium, all streaming at once through a real server on each
 * runtime, which is frozen, killed, restarted in good order, and killed again: every step once, in
 * order, with the bits of the reference's single pass.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../../bin/launch.mjs";
import { onePass } from "../http/support/world.ts";
import { DIGITS_NIR, digitsPlan } from "../support/digits.ts";
import { type ServerProcess, startProgram } from "../support/server_process.ts";
import { CHUNK_STEPS, chunkAt } from "./stream_through.mjs";

/** More than one are a campaign, see CONTRIBUTING.md. */
const ROUNDS = Number(process.env.GANGLION_CLIENT_ROUNDS ?? 1);
const LIMIT_MS = 90_000 + 30_000 * ROUNDS;
const CHROMIUM = "/usr/bin/chromium";
type Host = "deno" | "bun" | "node" | "chromium";
const hasChromium = existsSync(CHROMIUM);
const HOSTS: readonly Host[] = ["deno", "bun", "node", ...hasChromium ? ["chromium" as const] : []];

interface Result {
  readonly steps: number;
  readonly notices: { readonly reconnecting: number; readonly rolled_back: number };
  readonly spikes: string;
}

let answer = "go";
const pages: Record<string, { path: string; type: string }> = {
  "/ganglion.js": { path: "client/ganglion.js", type: "text/javascript" },
  "/stream_through.mjs": { path: "tests/client/stream_through.mjs", type: "text/javascript" },
};
let pageServer: ReturnType<typeof Bun.serve>;

beforeAll(() => {
  pageServer = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    reusePort: false,
    fetch(request) {
      const { pathname } = new URL(request.url);
      const page = pages[pathname];
      if (page !== undefined) {
        return new Response(Bun.file(join(ROOT, page.path)), {
          headers: { "content-type": page.type },
        });
      }
      return pathname === "/control"
        ? new Response(answer)
        : new Response("<!doctype html><title>client</title>", {
          headers: { "content-type": "text/html" },
        });
    },
  });
});
afterAll(() => pageServer.stop(true));

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function startHost(host: Host, settings: object) {
  const child = (name: string) => join(ROOT, "tests/client", name);
  const text = JSON.stringify(settings);
  const bundled = join(ROOT, "client/ganglion.js");
  const commandOf = (): string[] => {
    if (host === "chromium") return ["node", child("browser_child.mjs"), pageServer.url.href, text];
    if (host === "node") return ["node", child("host_child.mjs"), bundled, text];
    const { command, args } = runtimeCommand(host);
    return [command, ...args, child("host_child.mjs"), join(ROOT, "client/mod.ts"), text];
  };
  const env = host === "deno" || host === "bun" ? runtimeCommand(host).env : process.env;
  const running = Bun.spawn(commandOf(), {
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  const streaming = Promise.withResolvers<void>();
  const ended = (async () => {
    let said = "";
    const decoder = new TextDecoder();
    const errors = new Response(running.stderr).text();
    for await (const part of running.stdout) {
      said += decoder.decode(part);
      if (said.includes("streaming")) streaming.resolve();
    }
    const problem = `${host}: exit ${await running.exited}\n${said.slice(0, 500)}\n${await errors}`;
    streaming.reject(new Error(problem));
    const last = said.trimEnd().split("\n").at(-1) ?? "";
    if (!last.startsWith("{")) throw new Error(problem);
    return JSON.parse(last) as Result;
  })();
  ended.catch(() => {});
  return { streaming: streaming.promise, ended };
}

if (!hasChromium) test.skip(`in Chromium, because there is no ${CHROMIUM}`, () => {});

test.each(["deno", "bun"] as const)(
  `${HOSTS.join(", ")} through a %s server that is frozen, killed and restarted`,
  async (runtime) => {
    const folder = mkdtempSync(join(tmpdir(), "ganglion-client-"));
    const port = await freePort();
    const origin = pageServer.url.origin;
    const start = (): Promise<ServerProcess> =>
      startProgram(runtime, "src/cli/main.ts", [
        ...["serve", DIGITS_NIR, "--device", "cpu", "--port", String(port)],
        ...["--state-dir", folder, "--limit", "checkpointMs=200", "--cors-origin", origin],
      ]);
    let server = await start();
    try {
      answer = "go";
      const settings = { url: server.url, control: `${origin}/control` };
      const children = HOSTS.map((host, seed) => startHost(host, { ...settings, seed }));
      await Promise.all(children.map(({ streaming }) => streaming));
      for (let round = 0; round < ROUNDS; round++) {
        await Bun.sleep(500);
        process.kill(server.pid, "SIGSTOP");
        await Bun.sleep(2200);
        process.kill(server.pid, "SIGCONT");
        await Bun.sleep(500);
        await server.kill();
        server = await start();
        await Bun.sleep(800);
        expect(await server.stop()).toBe(0);
        server = await start();
        await Bun.sleep(800);
        await server.kill();
        server = await start();
      }
      await Bun.sleep(500);
      answer = "stop";
      const results = await Promise.all(children.map(({ ended }) => ended));
      const plan = await digitsPlan();
      for (const [seed, { steps, notices, spikes }] of results.entries()) {
        console.log(
          `${runtime} server, ${HOSTS[seed]}: ${steps} steps, ${JSON.stringify(notices)}`,
        );
        expect(notices.rolled_back).toBeGreaterThanOrEqual(3 * ROUNDS);
        const inputs = Array.from(
          { length: Math.ceil(steps / CHUNK_STEPS) },
          (_, i) => chunkAt(seed, i),
        );
        const wanted = await onePass(plan, Float32Array.from(inputs.flatMap((each) => [...each])));
        expect(steps).toBeGreaterThan(100);
        expect(spikes).toBe(wanted.subarray(0, steps * plan.outputSize).join(""));
      }
    } finally {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  LIMIT_MS,
);
