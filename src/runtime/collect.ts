/**
 * Forced garbage collection. On Deno it is there where the process was started with
 * `--v8-flags=--expose-gc`, as the launcher does; threads have it too.
 */

/** Frees all that is unreachable in this thread before it returns. Undefined where it cannot, or need not, be forced. */
export function collection(): (() => void) | undefined {
  // On Bun steps were not seen to leave anything behind: bench/README.md.
  if ("Bun" in globalThis) return undefined;
  const { gc } = globalThis as { gc?: (options: { type: "major" }) => void };
  return gc && (() => gc({ type: "major" }));
}
