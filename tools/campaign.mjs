/**
 * Runs a campaign, which is too long for the gate, on Bun and keeps its page in docs/campaigns:
 * `npm run campaign`, or `npm run campaign sockets`.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../bin/launch.mjs";

const CAMPAIGNS = {
  digits_grid: "tests/e2e/campaign.ts",
  sockets: "tests/e2e/socket_campaign.ts",
};

const name = process.argv[2] ?? "digits_grid";
if (!Object.hasOwn(CAMPAIGNS, name)) {
  console.error(`no campaign "${name}"; there are ${Object.keys(CAMPAIGNS).join(", ")}`);
  process.exit(2);
}
const { command, args, env } = runtimeCommand("bun", {
  ...process.env,
  GANGLION_DRIVERS: "software",
});
const { stdout, status } = spawnSync(command, [...args, join(ROOT, CAMPAIGNS[name])], {
  env,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
if (Number(process.env.GANGLION_CAMPAIGN_SHARE ?? 1) === 1) {
  mkdirSync(join(ROOT, "docs/campaigns"), { recursive: true });
  writeFileSync(join(ROOT, `docs/campaigns/${name}.md`), stdout);
}
process.exit(status ?? 1);
