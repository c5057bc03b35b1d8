/** What a refused request must look like. */
import { expect } from "bun:test";
import { type ErrorCode, ERRORS } from "../../../src/base/errors.ts";

/** Checks a problem document and returns it. */
export async function expectProblem(
  answer: Response,
  code: ErrorCode,
  facts: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  const text = await answer.text();
  expect([answer.status, text]).toEqual([ERRORS[code].status, text]);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  const problem = JSON.parse(text);
  expect(problem).toMatchObject({
    type: `urn:ganglion:problem:${code}`,
    title: ERRORS[code].title,
    status: answer.status,
    code,
    request_id: answer.headers.get("x-request-id"),
    ...facts,
  });
  expect(typeof problem.detail).toBe("string");
  // Never a path or a stack.
  expect(text).not.toMatch(/\.ts\b|node_modules|\\n\s+at /);
  return problem;
}
