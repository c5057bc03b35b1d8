/** Public reports about other frameworks, as files, on every executor; and that none is forgotten. */
import { expect, test } from "bun:test";
import { onEveryExecutor } from "../support/every_executor.ts";
import { PEER_CASES, PEER_REMARKS } from "./peers_cases.ts";

onEveryExecutor("peers", { deno: [{ readback: "eager" }] });

test("each of the 70 reports is a fixture, or has its reason", () => {
  const numbers = [...PEER_CASES, ...PEER_REMARKS].map(({ report }) => report);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 70 }, (_, i) => i + 1));
});
