/** Pages that are made from data are what their tools make, and their tools notice when they are not. */
import { expect, test } from "bun:test";
import { modelsPage } from "../../tools/gen_models_doc.ts";
import { peersPage } from "../../tools/gen_peers_doc.ts";
import { speedPage } from "../../tools/gen_speed_doc.ts";
import { readPage } from "../../tools/page.ts";
import { runOn } from "../support/processes.ts";

test("docs/models.md holds the tables of what is served", async () => {
  const page = readPage("docs/models.md");
  expect(modelsPage(page)).toBe(page);
  expect(modelsPage(page.replace("leaky neuron", "leaky thing"))).toBe(page);
  expect(page).toMatch(/\| CubaLIF +\| .*`w_in = 1`.*`i`, `v` +\| spike +\|/);
  const { code } = await runOn("bun", "tools/gen_models_doc.ts", ["--check"]);
  expect(code).toBe(0);
});

test("docs/peers.md is what tools/gen_peers_doc.ts makes", () => {
  expect(readPage("docs/peers.md")).toBe(peersPage());
});

test("the tables of speed are those of bench/results", () => {
  for (const path of ["README.md", "docs/performance.md"]) {
    const page = readPage(path);
    expect(speedPage(page)).toBe(page);
    expect(speedPage(page.replaceAll(/\d,\d+/g, "0"))).toContain("| slots |");
    expect(page).toMatch(/\| 64 +\| [\d,]+ +\|/);
  }
});
