/** What the original accepts, we lower to the same IR; what it refuses, we refuse. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { compileForReading, SerqError } from "../../src/serq/mod.ts";

interface Found {
  readonly source: string;
  readonly ir?: Record<string, unknown>;
  readonly refused?: readonly number[];
}

const file = new URL("../golden/serq/original.json.gz", import.meta.url);
const { programs } = JSON.parse(gunzipSync(readFileSync(file)).toString()) as { programs: Found[] };

/** Where we differ, and why (docs/serq_differences.md). */
const OTHERWISE: readonly (readonly [piece: string, why: string])[] = [
  ["used((kv))", "parentheses are not kept"],
  ["init { set a = 1; } init", "a second `init` would be ignored"],
  ["pool b[2] { } stage s", "a spill into a family would use its first member"],
];

/** The original's newest IR says a run's policy at the run, this one's once for the program. */
function plain(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((each) => plain(each));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([name, each]) =>
    each !== null && each !== undefined && !(key === "Run" && name === "share")
  );
  return Object.fromEntries(fields.map(([name, each]) => [name, plain(each, name)]));
}

function ours(source: string): Record<string, unknown> | null {
  try {
    const {
      version: _version,
      horizon: _h,
      warmup: _w,
      seed: _s,
      arrivals: _a,
      trace: _t,
      ...rest
    } = compileForReading(source, { horizon: 10 }).program;
    return plain(rest) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof SerqError) return null;
    throw error;
  }
}

test("the same IR, or both refuse", () => {
  let same = 0;
  for (const { source, ir } of programs) {
    if (OTHERWISE.some(([piece]) => source.includes(piece))) continue;
    const found = ours(source);
    const { share: _share, ...wanted } = ir ?? {};
    expect({ source, ir: found }).toEqual({ source, ir: ir === undefined ? null : wanted });
    same += 1;
  }
  expect(same).toBe(programs.length - OTHERWISE.length);
});
