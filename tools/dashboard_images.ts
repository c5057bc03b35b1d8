/**
 * Takes the pictures of docs/images: the dashboard of a server that runs examples/digits, in both themes, on
 * a desktop and on a phone. `npx bun tools/dashboard_images.ts`; needs a Chromium. Look at what it made.
 */
import type { BrowserContextOptions, Page } from "playwright-core";
import { openBrowser, openPage } from "../tests/support/browser.ts";
import { startServer } from "../tests/support/server_process.ts";

const FOLDER = new URL("../docs/images/", import.meta.url).pathname;
const DESKTOP = { viewport: { width: 1440, height: 1130 } } as const;
const PHONE = { viewport: { width: 390, height: 844 } } as const;
/** So long until the picture is full of steps. */
const FULL_MS = 7000;
/** Until charts of the server have something to show. */
const CHARTS_MS = 40_000;

await using server = await startServer("deno", ["examples/digits", "--slots", "16"]);
const browser = await openBrowser();

async function shoot(
  name: string,
  view: string,
  options: BrowserContextOptions,
  act: (page: Page) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await using opened = await openPage(browser, options);
  const { page, faults } = opened;
  await page.goto(`${server.url}${view}`);
  await page.locator("body[data-server=live]").waitFor();
  await act(page);
  await page.screenshot({ path: `${FOLDER}dashboard_${name}.png` });
  if (faults.length > 0) throw new Error(`${name}: ${faults.join("; ")}`);
  console.log(name);
}

const draw = (digit: number) => async (page: Page): Promise<void> => {
  await page.getByRole("button", { name: `Draw a ${digit}` }).click();
  await page.locator("#try-start").click();
  await page.waitForTimeout(FULL_MS);
};

await shoot("desktop_light", "/#live", DESKTOP, draw(8));
await shoot("desktop_dark", "/#live", { ...DESKTOP, colorScheme: "dark" }, draw(3));
await shoot("phone_light", "/#live", PHONE);
await shoot("phone_dark", "/#live", { ...PHONE, colorScheme: "dark" }, async (page) => {
  await draw(7)(page);
  await page.locator("#scope").evaluate((scope) => scope.scrollIntoView({ block: "center" }));
});
await shoot("models", "/#models", DESKTOP, (page) => page.waitForTimeout(1000));
await shoot("server", "/#live", DESKTOP, async (page) => {
  await draw(5)(page);
  await page.locator("nav a[href='#server']").click();
  await page.waitForTimeout(CHARTS_MS);
});
await browser.close();
