/** The list of errors: every one says what to do. */
import { expect, test } from "bun:test";
import { ERRORS } from "../../src/base/errors.ts";

test("every action says what to do, not where to read on", () => {
  for (const [code, { action }] of Object.entries(ERRORS)) {
    expect([code, action]).toEqual([code, expect.not.stringMatching(/the detail$|changelog/)]);
  }
});
