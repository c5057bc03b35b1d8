/** Runs the digits grid (tests/e2e/campaign.ts) on Bun and keeps its page in docs/campaigns. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../bin/launch.mjs";

const { command, args, env } = runtimeCommand("bun", {
  ...process.env,
  GANGLION_DRIVERS: "software",
});
const { stdout, status } = spawnSync(command, [...args, join(ROOT, "tests/e2e/campaign.ts")], {
  env,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
mkdirSync(join(ROOT, "docs/campaigns"), { recursive: true });
writeFileSync(join(ROOT, "docs/campaigns/digits_grid.md"), stdout);
process.exit(status ?? 1);
