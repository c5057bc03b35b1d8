/** A real Chromium for tests of pages: found where the system has one, quiet, and watched for faults. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const PLACES = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/**
 * What Chromium reports of the tests and not of a page: answers of a server that is away or wants a
 * key, and pictures that are read.
 */
const OWN_DOING = /^Failed to load resource|^Canvas2D: Multiple readback/;

/** Where a Chromium is; null where there is none. */
export const CHROMIUM: string | null = PLACES.find((path) => path && existsSync(path)) ?? null;

export async function openBrowser(): Promise<Browser> {
  if (CHROMIUM === null) throw new Error("there is no Chromium here");
  return await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
}

/** A page of a fresh profile; `faults` are the errors and breaches of policy it has had so far. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  readonly faults: string[];
  /** Every address it asked for. */
  readonly requests: string[];
}

export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults: string[] = [];
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !OWN_DOING.test(message.text())) {
      faults.push(message.text());
    }
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  return { page, faults, requests, [Symbol.asyncDispose]: () => context.close() };
}
