/** The reference cases beside the repository, and streams cut at random. */
import { readJson, shared } from "../conformance/run.ts";

/** The case of that id; null in a checkout without the reference cases. */
export function referenceCase<T>(id: string): T | null {
  const file = shared("research/snn/cases.json");
  if (file === null) return null;
  const { cases } = readJson<{ cases: { id: string }[] }>(file);
  return cases.find((each) => each.id === id) as T;
}

/** A stream in pieces of as many steps as `cuts` says, the rest as one piece. */
export function cut(all: Float32Array, size: number, cuts: readonly number[]): Float32Array[] {
  const pieces: Float32Array[] = [];
  let at = 0;
  for (const steps of cuts) {
    pieces.push(all.subarray(at, at + steps * size));
    at = Math.min(all.length, at + steps * size);
  }
  pieces.push(all.subarray(at));
  return pieces;
}
