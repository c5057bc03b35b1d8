/** `ganglion infer --plot`: a page that shows what happened, of any length, whatever names are in it. */
import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { chartSvg, roundTicks } from "../../src/cli/chart.ts";
import { pageHtml } from "../../src/cli/page.ts";
import { rasterSvg } from "../../src/cli/raster.ts";
import { DIGITS, ganglion, recording, RUNTIMES, scratchFolder } from "./command_line.ts";

describe.each(RUNTIMES)("on %s", (runtime) => {
  test("input, spikes of every layer, what is recorded, and the output", async () => {
    using folder = scratchFolder();
    const [page, source] = [folder.path("seven.html"), folder.path("<b>.npy")];
    copyFileSync(recording(7), source);
    const args = ["--device", "cpu", "--record", "readout.v", "--plot", page];
    const { code, text, stderr } = await ganglion(runtime, ["infer", DIGITS, source, ...args]);
    expect([code, text]).toEqual([0, ""]);
    expect(stderr).toContain("seven.html");
    const html = readFileSync(page, "utf8");
    const headings = [...html.matchAll(/<figure><h2>(.*?)<\/h2>/g)].map((match) => match[1]!);
    expect(headings).toEqual(["Input", "hidden", "readout: v", "Output"]);
    expect(html).toContain("<h1>digits: &lt;b&gt;.npy</h1>");
    expect(html).not.toMatch(/<script|<b>|(src|href)=|NaN|undefined|Infinity/);
    // The recording's own spikes, each a mark.
    const [input] = html.match(/<path class="mark a".*?>/)!;
    expect(input.match(/M/g)).toHaveLength(479);
  }, 60_000);
});

test("the array is written beside it when it is asked for", async () => {
  using folder = scratchFolder();
  const [page, out] = [folder.path("a.html"), folder.path("a.npy")];
  const run = ["infer", DIGITS, recording(1), "--device", "cpu", "--record", "hidden.v"];
  const { code, stderr } = await ganglion("deno", [...run, "--plot", page, "-o", out]);
  expect([code, existsSync(page), existsSync(out)]).toEqual([0, true, true]);
  expect(stderr).toContain("a.npy");
  const self = await ganglion("deno", ["infer", DIGITS, "x.npy", "--plot", "./x.npy"]);
  expect([self.code, self.stderr]).toEqual([2, expect.stringContaining("would overwrite")]);
}, 60_000);

describe("drawings", () => {
  test("a raster has a mark a spike, where it is", () => {
    const values = new Float32Array(4 * 3);
    values[1] = 1; // step 0, neuron 1
    values[3 * 3 + 2] = 2;
    const svg = rasterSvg({ label: "x", steps: 4, neurons: 3, values, colour: "a" });
    expect(svg).toContain('d="M62 29H74M722 43H734"');
  });

  test("the longest recording gives no more marks than pixels", () => {
    const [steps, neurons] = [200_000, 40];
    const values = new Float32Array(steps * neurons).map((_, i) => i % 3 === 0 ? 1 : 0);
    const svg = rasterSvg({ label: "x", steps, neurons, values, colour: "a" });
    expect(svg.length).toBeLessThan(40 * 900 * 16);
  });

  test("ticks are round; an axis without length has one", () => {
    expect(roundTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(roundTicks(-0.3, 0.4, 5)).toEqual([-0.2, 0, 0.2, 0.4]);
    expect(roundTicks(3, 3, 5)).toEqual([3]);
  });

  test("nothing to draw, and names from outside, are no danger", () => {
    const nasty = `"><script>alert('&')</script>`;
    const svg = chartSvg({
      label: nasty,
      x: { label: nasty, from: 0, to: 0 },
      y: { label: nasty, from: 0, to: 0 },
      series: [{ name: nasty, points: [], dots: true }, { name: nasty, points: [[0, 0]] }],
    });
    const empty = { label: nasty, steps: 0, neurons: 3, values: new Float32Array(0) };
    const raster = rasterSvg({ ...empty, names: [nasty, nasty, nasty], colour: "a" });
    const html = pageHtml({ title: nasty, lead: nasty, parts: [svg, raster] });
    expect(html).not.toMatch(/<script|NaN/);
  });
});
