/** Drawings: well formed, every card and arrow there, nothing of the program unescaped. */
import { expect, test } from "bun:test";
import { compileForReading, draw } from "../../src/serq/mod.ts";
import { graphOf } from "../../src/serq/draw_graph.ts";
import { EXAMPLES } from "./corpus.ts";

const example = (name: string) => EXAMPLES.find(({ file }) => file === name)!.text;

test("the cards and arrows of a pulled prefill", () => {
  const { cards, arrows } = graphOf(compileForReading(example("llmd_nixl_pull.sq")));
  expect(cards.map(({ id, parts }) => [id, ...parts.map(({ name, text }) => `${name}: ${text}`)]))
    .toEqual([
      ["workload"],
      [
        "P",
        ...[
          "P: 10 tokens · execute 1",
          "P.nic: ps, 10",
          "P.reqs: cap 4",
          "P.kv: cap 100 · preempts",
        ],
      ],
      [
        "D",
        ...["D: 10 tokens · execute 1", "D.nic: ps, 10", "D.nic.latency: delay", "D.reqs: cap 4"],
        "D.kv: cap 100 · preempts",
      ],
    ]);
  expect(arrows.map(({ from, to, label }) => `${from} → ${to}: ${label}`)).toEqual([
    "workload → P: hold",
    "P → D: hold, run",
    "D → P: run",
  ]);
});

test("every example and an empty program draw", () => {
  for (const text of [...EXAMPLES.map((each) => each.text), "fn main() { }"]) {
    const svg = draw(compileForReading(text));
    expect(svg).toStartWith("<svg ");
    expect(svg).toContain("prefers-color-scheme: dark");
    expect(svg.match(/<g /g)!.length).toBe(svg.match(/<\/g>/g)!.length);
    expect(svg).not.toContain("NaN");
    expect(svg).not.toMatch(/&(?!amp;|lt;|gt;|quot;)/);
  }
});
