/**
 * Models of other frameworks, exported by them, against what they computed themselves
 * (tests/oracles/frameworks). Under the dialect of the framework every executor must give their spikes
 * and, within the ulps that the case states, their membranes. docs/numerics.md explains every ulp.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { loadModel } from "../../src/load_model.ts";
import type { CompileOptions, DialectName, Variables } from "../../src/model/mod.ts";
import { type ConformanceCase, readJson, runStream } from "./run.ts";

interface Case {
  readonly name: string;
  readonly dialect: DialectName;
  /** What the file cannot say and the dialect does not presume. */
  readonly options: CompileOptions;
  readonly variables?: Variables;
  /** Distances between membranes at most, as `assertUlps` counts them. */
  readonly ulps: number;
  readonly arrays: readonly { readonly name: string; readonly shape: readonly number[] }[];
}

const FOLDER = new URL("../fixtures/frameworks/", import.meta.url);

export function frameworkManifest(): readonly Case[] {
  return readJson<{ cases: Case[] }>(fileURLToPath(new URL("manifest.json", FOLDER))).cases;
}

export function packed(file: string): Uint8Array {
  return new Uint8Array(gunzipSync(readFileSync(new URL(file, FOLDER))));
}

/** The arrays of a case by name: the input, the output, and values under the names of our probes. */
function arraysOf({ name, arrays }: Case): Map<string, Float32Array> {
  const all = new Float32Array(packed(`${name}.f32.gz`).buffer);
  let at = 0;
  return new Map(arrays.map(({ name: key, shape }) => {
    const size = shape.reduce((product, axis) => product * axis, 1);
    at += size;
    return [key, all.subarray(at - size, at)];
  }));
}

export function frameworkCases(): ConformanceCase[] {
  return frameworkManifest().map((each) => ({
    name: `as ${each.name}`,
    run: async (make) => {
      const { dialect, options, variables, ulps } = each;
      const plan = await loadModel(packed(`${each.name}.nir.gz`), {
        dialect,
        ...options,
        ...(variables === undefined ? {} : { variables }),
      });
      const arrays = arraysOf(each);
      const record = [...arrays.keys()].filter((key) => key.includes("."));
      const ran = await runStream(make, plan, arrays.get("input")!, record);
      const spikes = ["spike", "count"].includes(plan.nodes[plan.output]!.kind);
      assertUlps(ran.output, arrays.get("output")!, spikes ? 0 : ulps, "output");
      for (const name of record) {
        const spikes = name.endsWith(".s");
        assertUlps(ran.probes[name]!, arrays.get(name)!, spikes ? 0 : ulps, name);
      }
    },
  }));
}

/**
 * Distances are counted in units of the last place of the tensor's largest value: a sum that cancels keeps
 * the rounding of its terms.
 */
function assertUlps(
  given: Float32Array,
  wanted: Float32Array,
  most: number,
  what: string,
): void {
  assert.equal(given.length, wanted.length, `${what}: length`);
  const largest = wanted.reduce((highest, value) => Math.max(highest, Math.abs(value)), 2 ** -20);
  const unit = 2 ** (Math.floor(Math.log2(largest)) - 23);
  let worst = 0;
  let at = 0;
  for (let i = 0; i < wanted.length; i++) {
    const distance = Math.abs(given[i]! - wanted[i]!) / unit;
    if (!(distance <= worst)) [worst, at] = [distance, i];
  }
  assert.ok(
    worst <= most,
    `${what}: value ${at} is ${given[at]}, wanted ${wanted[at]}: ${worst} ulps, not ${most}`,
  );
}
