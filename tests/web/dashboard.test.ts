/**
 * The dashboard and the API reference in a real browser, before real servers on both runtimes: what a
 * person sees, by mouse and by keyboard, when all is well and when the server dies.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { readNirBytes, writeNirBytes } from "../../src/model/mod.ts";
import { CHROMIUM, openBrowser, openPage } from "../support/browser.ts";
import { DIGITS_NIR } from "../support/digits.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const VIEWS = ["/#live", "/#models", "/#server", "/docs"];
const KEY = "a-key-of-the-tests";
const MARKUP = "<img src=x onerror=hit(1)>";
const DIGITS = ["examples/digits", "--device", "cpu"];
/** Of some spikes; words in the same colour have fewer. */
const SPIKE_PIXELS = 100;
const name = CHROMIUM === null ? "pages, skipped because there is no Chromium here" : "pages";

/** Pixels of the scope in the colours of output spikes, those of lines too, and a sum that changes with the picture. */
const picture = (page: Page) =>
  page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>("#scope")!;
    const style = getComputedStyle(document.documentElement);
    const colours = ["--output", "--lead"].map((name) =>
      parseInt(style.getPropertyValue(name).trim().slice(1), 16)
    );
    if (canvas.width === 0 || canvas.height === 0) return { spikes: 0, lines: 0, sum: 0 };
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    let [spikes, lines, sum] = [0, 0, 0];
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 0) continue;
      if (colours.includes(data[i]! << 16 | data[i + 1]! << 8 | data[i + 2]!)) spikes++;
      // Lines are drawn thin and see-through: nearer to the output's green than any grey is.
      if (data[i + 1]! - data[i]! > 60) lines++;
      sum = (sum * 31 + i * data[i]!) % 1_000_003;
    }
    return { spikes, lines, sum };
  });

async function moves(page: Page): Promise<boolean> {
  const before = await picture(page);
  for (let i = 0; i < 20; i++) {
    await page.waitForTimeout(50);
    if ((await picture(page)).sum !== before.sum) return true;
  }
  return false;
}

/** Opens a view and waits until it shows something. */
async function open(page: Page, url: string, view: string): Promise<void> {
  await page.goto(`${url}${view}`);
  await page.locator(view === "/docs" ? "article" : "body[data-server=live]").first().waitFor();
}

const widths = (page: Page) =>
  page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);

/** A digits model in a run folder, with markup in the names of its layers and labels. */
async function markedUpRun(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "ganglion-web-"));
  const graph = await readNirBytes(new Uint8Array(await Bun.file(DIGITS_NIR).arrayBuffer()), {
    name: "digits",
  });
  const renamed = (node: string) => node === "hidden" ? MARKUP : node;
  const nodes = new Map([...graph.nodes].map(([node, value]) => [renamed(node), value]));
  const edges = graph.edges.map(([a, b]) => [renamed(a), renamed(b)] as const);
  writeFileSync(join(folder, "model.nir"), await writeNirBytes({ ...graph, nodes, edges }));
  const labels = Array.from({ length: 10 }, (_, i) => `${MARKUP}${i}`);
  writeFileSync(join(folder, "run.json"), JSON.stringify({ readout: "sum", labels, dt: 1e-4 }));
  return folder;
}

describe.skipIf(CHROMIUM === null)(name, () => {
  let browser: Browser;
  let deno: ServerProcess;
  let bun: ServerProcess;
  let folder: string;

  beforeAll(async () => {
    folder = await markedUpRun();
    [browser, deno, bun] = await Promise.all([
      openBrowser(),
      startServer("deno", [...DIGITS, "--slots", "4"]),
      startServer("bun", [folder, "--name", MARKUP, "--device", "cpu", "--slots", "4"]),
    ]);
  });

  afterAll(async () => {
    await browser?.close();
    await Promise.all([deno?.stop(), bun?.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  describe.each(["deno", "bun"] as const)("on %s", (runtime) => {
    const url = () => (runtime === "deno" ? deno : bun).url;

    test("spikes of a session that somebody else drives are seen within 2 s", async () => {
      await using watched = await openPage(browser, { viewport: { width: 1280, height: 900 } });
      const { page, faults } = watched;
      const answer = await page.goto(url());
      expect(answer?.headers()["content-security-policy"]).toStartWith("default-src 'self';");
      await page.locator("#slots li").first().waitFor();

      const began = performance.now();
      const created = await fetch(`${url()}/v1/sessions`, { method: "POST" });
      const { id } = await created.json() as { id: string };
      const steps = Float32Array.from({ length: 10 * 64 }, (_, i) => i % 3 === 0 ? 1 : 0);
      let isDriven = true;
      const driving = (async () => {
        while (isDriven) {
          await fetch(`${url()}/v1/sessions/${id}/chunks`, {
            method: "POST",
            headers: { "content-type": "application/octet-stream" },
            body: steps,
          });
          await Bun.sleep(50);
        }
      })();
      await page.locator("#slots").getByRole("button", { name: id.slice(0, 6) }).click();
      await page.getByText(/^Watching slot \d: another client's, not yours\.$/).waitFor();
      expect(await page.locator("#scope-back").isVisible()).toBe(false);
      while ((await picture(page)).spikes < SPIKE_PIXELS) await page.waitForTimeout(20);
      const seenMs = performance.now() - began;
      expect(await moves(page)).toBe(true);
      isDriven = false;
      await driving;
      expect(seenMs).toBeLessThan(2000);
      await fetch(`${url()}/v1/sessions/${id}`, { method: "DELETE" });
      await page.getByText("The session has ended").waitFor();
      expect(faults).toEqual([]);
    });

    test("one click, and a drawing runs; another drawing is another class", async () => {
      await using watched = await openPage(browser, { viewport: { width: 1280, height: 900 } });
      const { page, faults } = watched;
      await page.goto(url());
      await page.locator("#scope-start").click();
      await page.waitForFunction(() =>
        document.querySelector("#answer-class")!.textContent.endsWith("3")
      );
      expect(await moves(page)).toBe(true);
      await page.getByRole("button", { name: "Draw a 7" }).click();
      await page.waitForFunction(() =>
        document.querySelector("#answer-class")!.textContent.endsWith("7")
      );
      await page.getByRole("button", { name: "End session" }).click();
      await page.getByText("4 of 4 slots free").waitFor();
      expect(faults).toEqual([]);
    });
  });

  test("from somebody else's session back to one's own, where a blank pad has no class", async () => {
    await using watched = await openPage(browser, { viewport: { width: 1280, height: 900 } });
    const { page, faults } = watched;
    const created = await fetch(`${deno.url}/v1/sessions`, { method: "POST" });
    const { id } = await created.json() as { id: string };
    await page.goto(deno.url);
    await page.locator("#try-start").click();
    await page.locator("#answer-class").getByText("3").waitFor();
    expect(await page.locator("#scope-whose").isVisible()).toBe(false);
    await page.locator("#slots").getByRole("button", { name: id.slice(0, 6) }).click();
    await page.getByRole("button", { name: "Back to my session" }).click();
    await page.locator("#scope-whose").waitFor({ state: "hidden" });
    await page.locator("#answer-class").getByText("3").waitFor();
    expect(await page.locator("#bars .lead").count()).toBe(1);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.locator("#answer-class").getByText("–").waitFor();
    expect(await page.locator("#bars .lead").count()).toBe(0);
    await page.getByRole("button", { name: "End session" }).click();
    await fetch(`${deno.url}/v1/sessions/${id}`, { method: "DELETE" });
    expect(faults).toEqual([]);
  });

  test("with no slot free, it says in how many seconds to try again", async () => {
    await using watched = await openPage(browser);
    const { page } = watched;
    const problem = {
      code: "no_slot",
      detail: "All 4 slots hold sessions",
      action: "Retry after the time given, or close a session",
    };
    let more = {};
    await page.route(
      "**/v1/sessions",
      (route) =>
        route.request().method() === "POST"
          ? route.fulfill({ status: 503, json: { ...problem, ...more } })
          : route.continue(),
    );
    await page.goto(deno.url);
    await page.locator("#try-start").click();
    await page.getByText("All 4 slots hold sessions. Retry later, or close a session.").waitFor();
    more = { retry_after_s: 7 };
    await page.locator("#try-start").click();
    await page.getByText("All 4 slots hold sessions. Retry in 7 s, or close a session.").waitFor();
  });

  test("a recording is played from its file", async () => {
    await using watched = await openPage(browser);
    const { page, faults } = watched;
    await page.goto(deno.url);
    await page.getByText("File", { exact: true }).click();
    await page.locator("#file").setInputFiles("examples/digits/recordings/5.npy");
    await page.getByText("Sent 25 steps.").waitFor();
    await page.waitForFunction(() => document.querySelector("#answer-class")!.textContent === "5");
    await page.getByRole("button", { name: "Play again" }).click();
    await page.getByText(/ · step 50 /).waitFor();
    await page.getByText("Sent 25 steps.").waitFor();
    await page.getByRole("button", { name: "End session" }).click();
    await page.locator("#file").setInputFiles("examples/digits/run.json");
    await page.locator("#try-message").getByText("npy").waitFor();
    expect(faults).toEqual([]);
  });

  test("after noise, a file starts from rest, and what it counts is its own", async () => {
    const path = "examples/digits/recordings/7.npy";
    const post = (at: string, type: string, body: Blob) =>
      fetch(`${deno.url}/v1/sessions${at}`, {
        method: "POST",
        headers: { "content-type": type },
        body,
      }).then((answer) => answer.json());
    const { id } = await post("", "application/json", new Blob(["{}"])) as { id: string };
    const chunks = `/${id}/chunks?wait=true`;
    const alone = await post(chunks, "application/x-npy", Bun.file(path)) as { data: number[][] };
    const counts = alone.data[0]!.map((_, i) =>
      alone.data.reduce((sum, step) => sum + step[i]!, 0)
    );
    await fetch(`${deno.url}/v1/sessions/${id}`, { method: "DELETE" });

    await using watched = await openPage(browser, { viewport: { width: 1280, height: 900 } });
    const { page, faults } = watched;
    await page.goto(deno.url);
    await page.getByText("Noise", { exact: true }).click();
    await page.locator("#noise").fill("30");
    await page.locator("#try-start").click();
    await page.getByText(/ · step \d{2,} /).waitFor();
    await page.getByText("File", { exact: true }).click();
    await page.locator("#file").setInputFiles(path);
    await page.getByText("Sent 25 steps.").waitFor();
    await page.waitForFunction((wanted) => {
      const shown = [...document.querySelectorAll("#bars b")].map((each) => each.textContent);
      return shown.join() === wanted;
    }, counts.join());
    expect(await page.locator("#answer-class").textContent()).toBe("7");
    // The input of the file's own steps, the last ones: close to the right edge of the plot.
    const inked = await page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>("#scope")!;
      const style = getComputedStyle(document.documentElement);
      const colour = parseInt(style.getPropertyValue("--input").trim().slice(1), 16);
      const { width } = canvas;
      const context = canvas.getContext("2d")!;
      const { data } = context.getImageData(width - 60, 22, 18, 80);
      return data.filter((_, i) =>
        i % 4 === 0 && (data[i]! << 16 | data[i + 1]! << 8 | data[i + 2]!) === colour
      ).length;
    });
    expect(inked).toBeGreaterThan(10);
    await page.getByRole("button", { name: "End session" }).click();
    expect(faults).toEqual([]);
  });

  test("a recording longer than any chunk is played at the chosen speed", async () => {
    await using watched = await openPage(browser);
    const { page, faults } = watched;
    const head = "{'descr': '|u1', 'fortran_order': False, 'shape': (100000, 64), }".padEnd(117);
    const buffer = Buffer.concat([
      Buffer.from(`\x93NUMPY\x01\x00v\x00${head}\n`, "latin1"),
      Buffer.alloc(6_400_000).fill("\x01\x00\x00", "latin1"),
    ]);
    await page.goto(deno.url);
    await page.getByText("File", { exact: true }).click();
    await page.locator("#try-speed").selectOption("1000");
    const began = performance.now();
    await page.locator("#file").setInputFiles({
      name: "long.npy",
      mimeType: "application/octet-stream",
      buffer,
    });
    await page.getByText(/^Step [\d,]+ of 100,000$/).waitFor();
    await page.getByText(/ · step [\d,]{4,} /).waitFor();
    const text = await page.locator("#try-message").innerText();
    const done = Number(/Step ([\d,]+)/.exec(text)![1]!.replaceAll(",", ""));
    const seconds = (performance.now() - began) / 1000;
    expect(done).toBeGreaterThanOrEqual(1000);
    expect(done).toBeLessThanOrEqual(1000 * seconds + 200);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "End session" }).click();
    expect(faults).toEqual([]);
  });

  test("where nothing fires, level membranes are drawn, and what to check is said", async () => {
    const model = join(folder, "quiet.nir");
    const graph = await readNirBytes(new Uint8Array(await Bun.file(DIGITS_NIR).arrayBuffer()), {
      name: "digits",
    });
    // Without biases nothing moves by itself.
    for (const node of graph.nodes.values()) {
      if (node.type === "Affine") (node.fields.get("bias") as { data: Float32Array }).data.fill(0);
    }
    writeFileSync(model, await writeNirBytes(graph));
    await using server = await startServer("bun", [model, "--device", "cpu"]);
    await using watched = await openPage(browser, { viewport: { width: 1280, height: 900 } });
    const { page, faults } = watched;
    await page.goto(server.url);
    await page.getByText("Noise", { exact: true }).click();
    await page.locator("#noise").fill("0");
    await page.locator("#try-start").click();
    const advice = page.locator("#answer-quiet");
    await advice.getByText("No spikes yet: raise the chance, or check --dt and --dialect.")
      .waitFor();
    const { notes } = await (await fetch(`${server.url}/v1/models/quiet`)).json() as {
      notes: { level: string; text: string }[];
    };
    const warning = notes.find(({ level }) => level === "warning")!.text;
    expect(await advice.innerText()).toContain(warning);
    expect(await page.locator("#answer-verdict").isVisible()).toBe(false);
    expect((await picture(page)).lines).toBeGreaterThan(SPIKE_PIXELS);
    await page.locator("#noise").fill("50");
    await page.locator("#answer-verdict").waitFor();
    expect(faults).toEqual([]);
  });

  // All that the schemes differ in is their colours.
  test.each(["light", "dark"] as const)("no view has barriers or faults, in %s", async (scheme) => {
    await using watched = await openPage(browser, { colorScheme: scheme });
    const { page, faults } = watched;
    for (const view of VIEWS) {
      await open(page, deno.url, view);
      if (view === "/#live") {
        await page.locator("#try-start").click();
        await page.locator("#answer-class").getByText("3").waitFor();
      }
      if (view === "/docs") await page.locator("summary").first().click();
      await page.evaluate(axe.source);
      const found = await page.evaluate(async (rules) => {
        const { axe: run } = globalThis as unknown as { axe: typeof axe };
        const { violations } = await run.run({ resultTypes: ["violations"], ...rules });
        return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
      }, scheme === "light" ? {} : { runOnly: ["color-contrast"] });
      expect([view, found]).toEqual([view, []]);
    }
    expect(faults).toEqual([]);
  });

  test("no view is wider than a phone of 360 px", async () => {
    await using watched = await openPage(browser, { viewport: { width: 360, height: 780 } });
    const { page } = watched;
    for (const url of [deno.url, bun.url]) {
      for (const view of VIEWS) {
        await page.goto("about:blank"); // a fresh load, not a step within the page
        await open(page, url, view);
        expect([view, await page.evaluate(() => scrollY)]).toEqual([view, 0]);
        if (view === "/#live") await page.locator("#try-start").click();
        const [content, window] = await widths(page);
        expect([view, content]).toEqual([view, window]);
      }
    }
  });

  test("the keyboard reaches everything, and draws", async () => {
    await using watched = await openPage(browser, { viewport: { width: 1280, height: 900 } });
    const { page } = watched;
    for (const view of VIEWS) {
      await open(page, deno.url, view);
      // One stop for a group of radio buttons, as browsers have it.
      const wanted = await page.evaluate(() => {
        const all =
          "a[href], button, select, input:not([type=radio]), input:checked, summary, [tabindex='0']";
        const seen = [...document.querySelectorAll<HTMLElement>(all)].filter((each) =>
          each.checkVisibility() && !(each as HTMLButtonElement).disabled
        );
        seen.forEach((each, i) => each.dataset["stop"] = String(i));
        return seen.length;
      });
      const reached = new Set<string>();
      for (let i = 0; i < wanted + 3; i++) {
        await page.keyboard.press("Tab");
        const stop = await page.evaluate(() =>
          (document.activeElement as HTMLElement | null)?.dataset["stop"]
        );
        if (stop !== undefined) reached.add(stop);
      }
      expect([view, reached.size]).toEqual([view, wanted]);
    }
    await page.goto(deno.url);
    await page.locator("#pad [tabindex='0']").focus();
    await page.keyboard.press("1");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Space");
    const label = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    expect(label).toBe("row 2, column 2: 100 %");
  });

  test("markup in the names of models, layers and labels stays text", async () => {
    await using watched = await openPage(browser);
    const { page, faults } = watched;
    await page.goto(`${bun.url}/#live`);
    await page.locator("#try-start").click();
    await page.locator("#answer-class").getByText(`${MARKUP}3`).waitFor();
    await page.locator("nav a[href='#models']").click();
    expect(await page.locator("#models h2").innerText()).toBe(MARKUP);
    expect(await page.locator("#models tbody th").allInnerTexts()).toContain(MARKUP);
    expect(await page.locator("img[src=x]").count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("with keys: the page asks, a false key is said, a right one opens all of it", async () => {
    await using server = await startServer("bun", [...DIGITS, "--api-key", KEY]);
    await using watched = await openPage(browser);
    const { page, faults, requests } = watched;
    expect((await page.goto(server.url))?.status()).toBe(401);
    await page.getByLabel("API key").fill("another");
    await page.keyboard.press("Enter");
    await page.getByText("does not know this key").waitFor();
    await page.getByLabel("API key").fill(KEY);
    await page.keyboard.press("Enter");
    await page.locator("#try-start").click();
    await page.locator("#answer-class").getByText("3").waitFor();
    await page.goto(`${server.url}/docs`);
    await page.getByText("Open a session").first().waitFor();
    expect(requests.filter((url) => url.includes(KEY))).toEqual([]);
    expect(faults).toEqual([]);
  });

  test("a page that nobody sees holds no stream", async () => {
    await using watched = await openPage(browser);
    const { page, faults } = watched;
    const streams = async () =>
      /^ganglion_event_streams (\d+)$/m.exec(await (await fetch(`${bun.url}/metrics`)).text())?.[1];
    const becomes = async (count: string) => {
      while (await streams() !== count) await Bun.sleep(20);
    };
    const show = (isShown: boolean) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
        document.dispatchEvent(new Event("visibilitychange"));
      }, !isShown);
    await becomes("0");
    await open(page, bun.url, "/#live");
    await page.locator("#try-start").click();
    await becomes("2");
    await show(false);
    await becomes("0");
    await show(true);
    await becomes("2");
    expect(await page.locator("#banner").isVisible()).toBe(false);
    expect(await moves(page)).toBe(true);
    expect(faults).toEqual([]);
  });

  test("a server that dies is said, and all goes on when it is back", async () => {
    await using watched = await openPage(browser, { viewport: { width: 1280, height: 900 } });
    const { page, faults } = watched;
    await page.goto(deno.url);
    await page.locator("#try-start").click();
    await page.locator("#answer-class").getByText("3").waitFor();
    await deno.kill();
    const began = performance.now();
    await page.getByText("Lost the server").waitFor();
    expect(performance.now() - began).toBeLessThan(5000);
    const { port } = new URL(deno.url);
    deno = await startServer("deno", [...DIGITS, "--port", port, "--slots", "4"]);
    await page.getByText("Connected again").waitFor();
    await page.getByText("The session was gone; a new one goes on.").waitFor();
    await page.locator("#answer-class").getByText("3").waitFor();
    expect(await moves(page)).toBe(true);
    expect(faults).toEqual([]);
  });
});
