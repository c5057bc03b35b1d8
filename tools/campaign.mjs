/**
 * Runs a campaign (a check too long for the gate) on Bun and keeps its page in docs/campaigns:
 * `node tools/campaign.mjs NAME [name=count …]`. Counts given there make it shorter or longer; the page
 * says what was run.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../bin/launch.mjs";

/** `drivers`: which Vulkan drivers it uses unless GANGLION_DRIVERS says otherwise. */
const CAMPAIGNS = {
  digits: { program: "tests/e2e/campaign.ts", page: "digits_grid.md", drivers: "software" },
  sockets: { program: "tests/e2e/socket_campaign.ts", page: "sockets.md", drivers: "software" },
  nir: { program: "tests/conformance/nir_campaign.ts", page: "random_nir.md", drivers: "all" },
  mutation: {
    program: "tests/model/mutation_campaign.ts",
    page: "mutation.md",
    drivers: "software",
  },
  serq: { program: "tests/serq/campaign.ts", page: "serq.md", drivers: "software" },
};

const [name, ...counts] = process.argv.slice(2);
const campaign = CAMPAIGNS[name];
if (campaign === undefined) {
  process.stderr.write(`no such campaign; there are ${Object.keys(CAMPAIGNS).join(", ")}\n`);
  process.exit(2);
}
const { command, args, env } = runtimeCommand("bun", {
  ...process.env,
  GANGLION_DRIVERS: process.env.GANGLION_DRIVERS || campaign.drivers,
});
const { stdout, status } = spawnSync(command, [...args, join(ROOT, campaign.program), ...counts], {
  env,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
if (Number(process.env.GANGLION_CAMPAIGN_SHARE ?? 1) === 1) {
  const page = join(ROOT, "docs/campaigns", campaign.page);
  mkdirSync(join(ROOT, "docs/campaigns"), { recursive: true });
  writeFileSync(page, stdout);
  spawnSync(runtimeCommand("deno", process.env).command, ["fmt", "--quiet", page], { cwd: ROOT });
}
process.exit(status ?? 1);
