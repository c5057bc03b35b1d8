/**
 * Bytes that are no clean HTTP, at real servers on both runtimes: nothing is smuggled in behind a body,
 * nothing hangs, nothing but 4xx comes back, and the next client is served.
 */
import { describe, expect, test } from "bun:test";
import { DIGITS_NIR } from "../support/digits.ts";
import { rawClient } from "../support/raw_client.ts";
import { startServer } from "../support/server_process.ts";
import { openSession } from "../support/stream_client.ts";

const TEST_MS = 120_000;
const WAIT_MS = 400;

/** A DELETE of the session, as a request of its own. */
const strike = (id: string) => `DELETE /v1/sessions/${id} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

/** What is sent, by name; the session must live after each. */
function attacks(id: string): Record<string, string> {
  const post = (headers: string, body: string) =>
    `POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
  const hidden = strike(id);
  return {
    "Content-Length and chunked (CL.TE)": post(
      `Content-Length: ${hidden.length + 5}\r\nTransfer-Encoding: chunked\r\n`,
      `0\r\n\r\n${hidden}`,
    ),
    "two lengths": post(
      `Content-Length: 2\r\nContent-Length: ${hidden.length + 2}\r\n`,
      `{}${hidden}`,
    ),
    "a list of lengths": post(`Content-Length: 2, ${hidden.length + 2}\r\n`, `{}${hidden}`),
    "a length with a sign": post(`Content-Length: +${hidden.length}\r\n`, hidden),
    "a negative length": post("Content-Length: -1\r\n", hidden),
    "a length in hex": post(`Content-Length: 0x${hidden.length.toString(16)}\r\n`, hidden),
    "a space before the colon": post(`Content-Length : 0\r\n`, hidden),
    "an obscured encoding": post(
      `Transfer-Encoding: xchunked\r\nContent-Length: ${hidden.length}\r\n`,
      hidden,
    ),
    "an encoding twice": post(
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
      `0\r\n\r\n${hidden}`,
    ),
    "a folded header": post(`X: a\r\n Content-Length: 0\r\n`, hidden),
    "a broken chunk size": post("Transfer-Encoding: chunked\r\n", `zz\r\n${hidden}`),
    "a huge chunk size": post("Transfer-Encoding: chunked\r\n", `ffffffffffffffff0\r\n${hidden}`),
    "a NUL in a header": `GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n${hidden}`,
    "no HTTP at all": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "an old version": `GET /healthz HTTP/0.9\r\n\r\n`,
    "a future version": `GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n`,
    "a huge header": `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${
      "x".repeat(1 << 20)
    }\r\n\r\n`,
    "a huge target": `GET /${"x".repeat(1 << 20)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    "many headers": `GET /healthz HTTP/1.1\r\nHost: localhost\r\n${"X: y\r\n".repeat(5_000)}\r\n`,
    "an escape out of the path": "GET /v1/../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
  };
}

describe.each(["deno", "bun"] as const)("on %s", (runtime) => {
  test("bytes that are no clean HTTP get nothing through", async () => {
    await using server = await startServer(runtime, [
      DIGITS_NIR,
      "--device",
      "cpu",
      "--slots",
      "60",
    ]);
    const id = await openSession(server.url);
    const struck: string[] = [];
    const faults: string[] = [];
    for (const [what, bytes] of Object.entries(attacks(id))) {
      const client = await rawClient(server.url, bytes);
      const text = await client.ended(WAIT_MS);
      client.socket.destroy();
      // 505: not this version of HTTP.
      if (/^HTTP\/1\.[01] 5(?!05)/m.test(text)) faults.push(`${what}: ${text.slice(0, 80)}`);
      if (/root:/.test(text)) faults.push(`${what}: a file came out`);
      const alive = await fetch(`${server.url}/v1/sessions/${id}`);
      await alive.arrayBuffer();
      if (alive.status === 200) continue;
      struck.push(what);
      break;
    }
    expect({ struck, faults }).toEqual({ struck: [], faults: [] });
    // A length is refused by us, with what the limit is, however large it is.
    for (const length of [2 ** 27, 2 ** 33, 2 ** 52]) {
      const head = `POST /v1/sessions/${id}/chunks HTTP/1.1\r\nHost: localhost\r\n` +
        `Content-Type: application/octet-stream\r\nContent-Length: ${length}\r\n\r\n`;
      const client = await rawClient(server.url, head);
      const text = await client.ended(WAIT_MS);
      client.socket.destroy();
      expect(text).toMatch(/^HTTP\/1\.1 413 [^]*"code":"body_too_large"/);
    }
    // The same bytes, where a request may stand, do strike.
    const honest = await rawClient(server.url, strike(id));
    expect(await honest.ended(WAIT_MS)).toMatch(/^HTTP\/1\.1 204/);
    honest.socket.destroy();
    expect(await server.stop()).toBe(0);
  }, TEST_MS);

  test("hosts that are not ours, in every place where one can stand", async () => {
    await using server = await startServer(runtime, [DIGITS_NIR, "--device", "cpu"]);
    const statuses: Record<string, string | undefined> = {};
    for (
      const [what, head] of Object.entries({
        "absolute target": "GET http://evil.example/v1/models HTTP/1.1\r\nHost: evil.example",
        "foreign host": "GET /v1/models HTTP/1.1\r\nHost: evil.example",
        "host with a user": "GET /v1/models HTTP/1.1\r\nHost: localhost@evil.example",
        "two hosts": "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: evil.example",
        "two hosts turned": "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nHost: localhost",
        "own host": "GET /v1/models HTTP/1.1\r\nHost: localhost",
        // Health checks of proxies; browsers always send one.
        "no host": "GET /v1/models HTTP/1.0",
      })
    ) {
      const client = await rawClient(server.url, `${head}\r\nConnection: close\r\n\r\n`);
      statuses[what] = /^HTTP\/1\.[01] (\d+)/.exec(await client.ended(2_000))?.[1];
      client.socket.destroy();
    }
    const { "own host": own, "no host": none, ...foreign } = statuses;
    expect({ own, none }).toEqual({ own: "200", none: "200" });
    expect(Object.entries(foreign).filter(([, status]) => !/^4/.test(status ?? "4"))).toEqual([]);
    expect(await server.stop()).toBe(0);
  }, TEST_MS);

  test("HEAD tells the length that GET has", async () => {
    await using server = await startServer(runtime, [DIGITS_NIR, "--device", "cpu"]);
    for (const path of ["/v1/models", "/openapi.json", "/", "/v1/models/none"]) {
      const whole = await (await fetch(server.url + path)).arrayBuffer();
      const client = await rawClient(
        server.url,
        `HEAD ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      );
      const [head = "", body] = (await client.ended(WAIT_MS)).split("\r\n\r\n");
      client.socket.destroy();
      expect([path, body, head.toLowerCase().match(/^content-length: .*$/gm)])
        .toEqual([path, "", [`content-length: ${whole.byteLength}`]]);
    }
  }, TEST_MS);
});
