/** The long runs of serQ's random tests: 20,000 printed programs, 100,000 damaged texts, 20,000 runs. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../bin/launch.mjs";

const { command, args, env } = runtimeCommand("bun", {
  ...process.env,
  SERQ_PROGRAMS: process.env.SERQ_PROGRAMS ?? "20000",
  SERQ_MUTATIONS: process.env.SERQ_MUTATIONS ?? "100000",
  SERQ_RUNS: process.env.SERQ_RUNS ?? "20000",
});
const files = ["fuzz_print", "fuzz_mutations", "fuzz_runs"].map((name) =>
  `tests/serq/${name}.test.ts`
);
const { status } = spawnSync(command, [...args, "test", ...files.map((file) => join(ROOT, file))], {
  cwd: ROOT,
  env,
  stdio: "inherit",
});
process.exit(status ?? 1);
