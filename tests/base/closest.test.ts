import { expect, test } from "bun:test";
import fc from "fast-check";
import { closest, editDistance } from "../../src/base/closest.ts";

test("known distances", () => {
  expect(editDistance("kitten", "sitting")).toBe(3);
  expect(editDistance("", "abc")).toBe(3);
  expect(editDistance("serve", "sevre")).toBe(1);
  expect(editDistance("ab", "ab")).toBe(0);
});

test("a distance is symmetric, zero only for equals, and at most the longer length", () => {
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => {
    const distance = editDistance(a, b);
    expect(distance).toBe(editDistance(b, a));
    expect(distance === 0).toBe(a === b);
    expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
  }));
});

test("near names are found, far ones are not suggested", () => {
  const names = ["serve", "infer", "inspect", "doctor"];
  expect(closest("srve", names)).toBe("serve");
  expect(closest("inspcet", names)).toBe("inspect");
  expect(closest("x", names)).toBeUndefined();
  expect(closest("banana", names)).toBeUndefined();
});
