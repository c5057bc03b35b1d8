/**
 * Runs the simulation of the production service (tests/scheduler/service_simulation.test.ts) over many
 * seeds and keeps its page in docs/campaigns: `npm run campaign:sim`, or `npm run campaign:sim 500`.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../bin/launch.mjs";

const seeds = Number(process.argv[2] ?? 10_000);
const { command, args, env } = runtimeCommand("bun", {
  ...process.env,
  GANGLION_SEEDS: String(seeds),
  NO_COLOR: "1",
});
const begin = Date.now();
const file = "tests/scheduler/service_simulation.test.ts";
const { stdout, stderr, status } = spawnSync(command, [...args, "test", file, "-t", "nothing"], {
  cwd: ROOT,
  env,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "pipe"],
});
process.stderr.write(stderr);
const tally = JSON.parse(stdout.match(/^tally (\{.*\})$/m)?.[1] ?? "null");
const verdict = status === 0 && tally !== null ? "clean" : "FAILED";
const commit = spawnSync("git", ["rev-parse", "--short", "HEAD"], { cwd: ROOT, encoding: "utf8" });
mkdirSync(join(ROOT, "docs/campaigns"), { recursive: true });
writeFileSync(
  join(ROOT, "docs/campaigns/service_simulation.md"),
  `# The simulated service

${
    new Date().toISOString().slice(0, 10)
  }, commit ${commit.stdout.trim()}, \`npm run campaign:sim\`: ${seeds} seeds, ${verdict}, in
${
    ((Date.now() - begin) / 60_000).toFixed(1)
  } minutes. Each seed is 60 random events on the production service in virtual time (opens,
chunks, repeats, cancels, resets, parks, forks, snapshots, device losses, kills and restarts, step
faults), checked after every event.

| what | count |
|---|---|
${Object.entries(tally ?? {}).map(([name, count]) => `| ${name} | ${count} |`).join("\n")}
`,
);
process.exit(verdict === "clean" ? 0 : 1);
