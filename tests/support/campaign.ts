/** What campaigns share: counts from the command line, and the line that says what was run when. */
import { execFileSync } from "node:child_process";
import process from "node:process";
import { ROOT } from "../../bin/launch.mjs";

/** Counts given as `name=number` in place of the defaults; a name that is no count is an error. */
export function countsFrom<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
): Record<Name, number> {
  const counts: Record<Name, number> = { ...defaults };
  for (const word of process.argv.slice(2)) {
    const [name, value] = word.split("=");
    if (!(name! in counts) || !/^\d+$/.test(value ?? "")) {
      throw new Error(`${word}: give ${Object.keys(defaults).join("=n or ")}=n`);
    }
    counts[name as Name] = Number(value);
  }
  return counts;
}

/** `2026-11-30, commit 0123abc, npm run campaign:nir` for the head of a page. */
export function headLine(command: string): string {
  const commit = execFileSync("git", ["rev-parse", "--short=7", "HEAD"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return `${new Date().toISOString().slice(0, 10)}, commit ${commit.trim()}, \`${command}\``;
}

/** Says on standard error how far it is, now and then. */
export function progress(what: string, every: number): (done: number) => void {
  const begin = performance.now();
  return (done) => {
    if (done % every > 0) return;
    const seconds = Math.round((performance.now() - begin) / 1000);
    process.stderr.write(`${what}: ${done} after ${seconds} s\n`);
  };
}

/** True once the campaign was asked to end early (Ctrl-C, SIGTERM): it then reports what it has. */
export function stopFlag(): () => boolean {
  let stopped = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopped = true);
  return () => stopped;
}
