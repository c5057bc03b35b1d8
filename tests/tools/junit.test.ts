/** What the gate reads from a JUnit file, and what it does not let pass. */
import { expect, test } from "bun:test";
import { readJunit } from "../../tools/junit.mjs";

const report = (counts: string, cases = ""): string =>
  `<?xml version="1.0"?>\n<testsuites name="bun test" ${counts} time="1">${cases}</testsuites>`;

test("counts come from the root", () => {
  const cases = '<testcase name="a, because of b"><skipped /></testcase>';
  expect(readJunit(report('tests="9" assertions="20" failures="2" skipped="1"', cases))).toEqual({
    passed: 6,
    failed: 2,
    skipped: 1,
    problems: [],
  });
});

test("a run without tests, or without counts, is a problem", () => {
  expect(readJunit(report('tests="0" failures="0" skipped="0"')).problems).toEqual(["no test ran"]);
  expect(readJunit("").problems).toHaveLength(1);
});

test("a skipped or open test must say why in its name", () => {
  const cases = `<testcase name="a" line="1">\n  <skipped />\n</testcase>
    <testcase name="b" line="1"><skipped message="TODO" /></testcase>
    <testcase name="c" line="1" />`;
  expect(readJunit(report('tests="3" failures="0" skipped="2"', cases)).problems).toHaveLength(2);
});
