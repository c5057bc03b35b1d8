/** Assertions for faults of our own. Bad input never reaches one. */

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${message}`);
}
