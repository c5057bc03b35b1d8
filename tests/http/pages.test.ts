/** The pages as HTTP: their headers, their sizes, and who gets them without a key. */
import { expect, test } from "bun:test";
import { readWebFiles } from "../../src/runtime/web_files.ts";
import { expectProblem } from "./support/problems.ts";
import { makeWorld } from "./support/world.ts";

/** All that a browser loads for the dashboard, uncompressed. */
const PAGE_BYTES_MAX = 221_000;

const webFiles = await readWebFiles();
const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test("a page and its files come with their types, and may load nothing from elsewhere", async () => {
  const { send } = makeWorld({ deps: { webFiles } });
  const types = {
    "/": "text/html; charset=utf-8",
    "/docs": "text/html; charset=utf-8",
    "/web/main.js": "text/javascript; charset=utf-8",
    "/web/style.css": "text/css; charset=utf-8",
    "/web/icon.svg": "image/svg+xml",
  };
  for (const [path, type] of Object.entries(types)) {
    const answer = await send(path);
    expect([path, answer.status, answer.headers.get("content-type")]).toEqual([path, 200, type]);
    const policy = answer.headers.get("content-security-policy")!;
    expect(policy).toStartWith("default-src 'self';");
    expect(policy).not.toContain("unsafe");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  }
  expect((await send("/", { method: "HEAD" })).status).toBe(200);
  for (const path of ["/web/", "/web/none.js", "/web/package.json", "/web/..%2fpackage.json"]) {
    await expectProblem(await send(path), "not_found");
  }
});

test("every address in a page is this server's own, and nothing stands inline", () => {
  const text = new TextDecoder();
  const names = new Set(webFiles.map(({ name }) => `/web/${name}`));
  for (const { name, bytes } of webFiles.filter(({ name }) => name.endsWith(".html"))) {
    const page = text.decode(bytes);
    const loaded = [...page.matchAll(/<(?:script|link|img)\b[^>]*?(?:src|href)="([^"]*)"/g)];
    expect([name, loaded.map(([, to]) => to!).filter((to) => !names.has(to))]).toEqual([name, []]);
    expect(page).not.toMatch(/<style|<script>|\sstyle=|\son\w+=/);
  }
});

test("a file that a browser has is not sent again", async () => {
  const { send } = makeWorld({ deps: { webFiles } });
  const first = await send("/web/main.js");
  const tag = first.headers.get("etag")!;
  const again = await send("/web/main.js", { headers: { "if-none-match": tag } });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  const other = await send("/web/main.js", { headers: { "if-none-match": '"other"' } });
  expect(other.status).toBe(200);
});

test(`the dashboard is at most ${PAGE_BYTES_MAX} bytes in all`, () => {
  const notItsOwn = ["docs.html", "docs.js", "docs.css"];
  const bytes = webFiles.filter(({ name }) => !notItsOwn.includes(name))
    .reduce((sum, { bytes }) => sum + bytes.length, 0);
  expect(bytes).toBeLessThan(PAGE_BYTES_MAX);
});

test("with keys a browser gets 401 and the page that asks; everybody else a problem", async () => {
  const { send } = makeWorld({ deps: { webFiles, apiKeys: ["alpha"] } });
  for (const path of ["/", "/docs"]) {
    const page = await send(path, { headers: BROWSER });
    expect([path, page.status]).toEqual([path, 401]);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("www-authenticate")).toStartWith("Bearer");
    await expectProblem(await send(path), "unauthorized");
    const headers = { ...BROWSER, authorization: "Bearer alpha" };
    expect((await send(path, { headers })).status).toBe(200);
  }
  await expectProblem(await send("/v1/models", { headers: BROWSER }), "unauthorized");
  await expectProblem(await send("/", { method: "POST", headers: BROWSER }), "unauthorized");
  expect((await send("/web/main.js")).status).toBe(200);
  await expectProblem(await send("/web/main.js/x"), "unauthorized");
});

test("a server without the files has no pages", async () => {
  const { send } = makeWorld();
  await expectProblem(await send("/", { headers: BROWSER }), "not_found");
});

test("/v1/models/{model}/graph says how the layers hang together and what can be recorded", async () => {
  const { send } = makeWorld();
  const graph = await (await send("/v1/models/spiking/graph")).json();
  expect(graph).toMatchObject({ id: "spiking", readout: false, labels: null });
  const { layers, output, record } = graph as {
    layers: { name: string; from: string[] }[];
    output: string;
    record: { name: string; shape: number[] }[];
  };
  const names = layers.map(({ name }) => name);
  expect(names).toContain(output);
  expect(layers.flatMap(({ from }) => from).filter((name) => !names.includes(name))).toEqual([]);
  const created = await send("/v1/sessions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "spiking", record: record.map(({ name }) => name) }),
  });
  expect(created.status).toBe(201);
  await expectProblem(await send("/v1/models/x/graph"), "model_unknown");
});
