/** Behind a real nginx with its default proxy settings, on loopback: each event arrives at once. */
import { describe, expect, test } from "bun:test";
import { createParser } from "eventsource-parser";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:net";
import { DIGITS_NIR, PIXELS, recordings } from "../support/digits.ts";
import { startServer } from "../support/server_process.ts";
import { closeSession, openSession, postChunk } from "../support/stream_client.ts";
import { metricsOf } from "./socket_runs.ts";

const NGINX = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"].find(existsSync);
const TEST_MS = 60_000;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** nginx in front of `url`, in the foreground, below a folder of its own. */
async function startNginx(url: string): Promise<{ url: string } & AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), "ganglion-nginx-"));
  const port = await freePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`).join("\n");
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log ${folder}/error.log;
events {}
http {
  access_log off;
  gzip on;
  gzip_types *;
  ${temporary}
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass ${url}; }
  }
}
`,
  );
  const child = Bun.spawn([NGINX!, "-p", folder, "-c", join(folder, "nginx.conf")], {
    stdout: "ignore",
    stderr: "ignore",
  });
  const own = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 100; tries++) {
    if (await fetch(`${own}/healthz`).then(({ ok }) => ok, () => false)) break;
    await Bun.sleep(50);
  }
  return {
    url: own,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const title = NGINX === undefined
  ? "each event arrives at once, skipped because nginx is not installed"
  : "each event arrives at once, also with gzip on and to a client that takes gzip";

describe.skipIf(NGINX === undefined).each(["deno", "bun"] as const)(
  "behind nginx, on %s",
  (runtime) => {
    test(title, async () => {
      await using server = await startServer(runtime, [DIGITS_NIR, "--device", "cpu"]);
      await using nginx = await startNginx(server.url);
      const id = await openSession(nginx.url);
      const answer = await fetch(`${nginx.url}/v1/sessions/${id}/outputs`, {
        headers: { "accept-encoding": "gzip" },
      });
      expect(answer.status).toBe(200);
      const came = new Map<number, number>();
      const opened = Promise.withResolvers<void>();
      const parser = createParser({
        onEvent: ({ event, data }) => {
          if (event === "open") opened.resolve();
          if (event === "output") came.set(JSON.parse(data).seq as number, performance.now());
        },
      });
      const reader = answer.body!.getReader();
      const reading = (async () => {
        const decoder = new TextDecoder();
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          parser.feed(decoder.decode(part.value, { stream: true }));
        }
      })();
      await opened.promise;
      const delays: number[] = [];
      for (let seq = 0; seq < 20; seq++) {
        const posted = await postChunk(
          nginx.url,
          id,
          recordings()[0]!.subarray(0, PIXELS),
          "?wait=true",
        );
        await posted.arrayBuffer();
        const done = performance.now();
        while (!came.has(seq)) {
          if (performance.now() - done > 2_000) throw new Error(`event ${seq} is held back`);
          await Bun.sleep(1);
        }
        delays.push(came.get(seq)! - done);
      }
      expect(Math.max(...delays)).toBeLessThan(500);
      // A reader that leaves the proxy is gone from the server too.
      await reader.cancel();
      await reading;
      const end = performance.now() + 2_000;
      while ((await metricsOf(server.url)).get("ganglion_readers") !== 0) {
        if (performance.now() > end) throw new Error("the reader is still there");
        await Bun.sleep(20);
      }
      await closeSession(nginx.url, id);
      expect(await server.stop()).toBe(0);
    }, TEST_MS);
  },
);
