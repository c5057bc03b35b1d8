/** Readouts in running form: the reference case, and any cut against one pass. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { bestOf, Readout, READOUTS } from "../../src/run/mod.ts";
import { assertClose, flat, type Nested } from "../conformance/run.ts";
import { cut, referenceCase } from "./reference_case.ts";

test.each([...READOUTS])("%s gives the reference case", (name) => {
  const found = referenceCase<{ input: Nested[][]; expected: Record<string, Nested[]> }>(
    "readouts",
  );
  if (found === null) return;
  for (const [row, wanted] of found.expected[name]!.entries()) {
    const readout = new Readout(name, 3);
    for (const step of found.input) readout.push(Float32Array.from(flat(step[row]!)));
    assertClose(readout.scores(), flat(wanted), name);
  }
});

describe.each([...READOUTS])("%s", (name) => {
  test("in any pieces is the same as in one pass", () => {
    const stream = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { maxLength: 60 });
    fc.assert(fc.property(stream, fc.array(fc.nat(5)), (list, cuts) => {
      const all = Float32Array.from(list.slice(0, list.length - list.length % 3));
      const [whole, running] = [new Readout(name, 3), new Readout(name, 3)];
      whole.push(all);
      for (const piece of cut(all, 3, cuts)) running.push(piece);
      expect(running.scores()).toEqual(whole.scores());
      expect([running.steps, running.prediction()]).toEqual([all.length / 3, whole.prediction()]);
    }));
  });

  test("says nothing before the first step, and begins again after reset", () => {
    const readout = new Readout(name, 2);
    expect([...readout.scores(), readout.prediction()]).toEqual([0, 0, null]);
    readout.push(Float32Array.of(-3, -1));
    const scores = readout.scores();
    expect(readout.prediction()).toBe(1);
    readout.reset();
    readout.push(Float32Array.of(-3, -1));
    expect(readout.scores()).toEqual(scores);
  });
});

test("softmax_sum stands large values; the lower class of equals wins", () => {
  const readout = new Readout("softmax_sum", 3);
  readout.push(Float32Array.of(3e38, 3e38, 0));
  expect([...readout.scores(), readout.prediction()]).toEqual([0.5, 0.5, 0, 0]);
  expect(bestOf([1, 4, 4, 2])).toBe(1);
});
