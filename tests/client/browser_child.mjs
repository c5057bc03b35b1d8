/**
 * The client in a real Chromium, driven from Node: `browser_child.mjs PAGE SETTINGS`. The page is of
 * another origin than the server, as that of an application would be.
 */
import process from "node:process";
import { chromium } from "playwright-core";

const [, , page, settings] = process.argv;
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  const tab = await browser.newPage();
  tab.on("console", (message) => console.log(message.text()));
  await tab.goto(page);
  const result = await tab.evaluate(async (given) => {
    const load = (/** @type {string} */ path) => import(path);
    const { streamThrough } = await load("/stream_through.mjs");
    return await streamThrough(await load("/ganglion.js"), given);
  }, JSON.parse(settings));
  console.log(JSON.stringify(result));
} finally {
  await browser.close();
}
