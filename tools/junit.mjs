/** Reads what the gate needs from a JUnit file of `bun test`: counts, and what is wrong with them. */

/** A skipped or open test says in its name why it is not run: `…, because no driver has f16`. */
const REASON = /\bbecause\b/;

/**
 * @param {string} xml
 * @returns {{ passed: number, failed: number, skipped: number, problems: string[] }}
 */
export function readJunit(xml) {
  const root = xml.match(/<testsuites\b[^>]*>/)?.[0] ?? "";
  const count = (name) => Number(root.match(new RegExp(`\\b${name}="(\\d+)"`))?.[1] ?? NaN);
  const [tests, failed, skipped] = [count("tests"), count("failures"), count("skipped")];
  if ([tests, failed, skipped].some(Number.isNaN)) {
    return { passed: 0, failed: 0, skipped: 0, problems: ["the JUnit file has no counts"] };
  }
  const problems = tests === 0 ? ["no test ran"] : [];
  for (const [, name] of xml.matchAll(/<testcase name="([^"]*)"[^>]*>\s*<skipped\b/g)) {
    if (!REASON.test(name)) problems.push(`skipped without a reason ("… because …"): ${name}`);
  }
  return { passed: tests - failed - skipped, failed, skipped, problems };
}
