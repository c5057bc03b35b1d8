// Runs one bench on a runtime: node bench/run.mjs engine [--runtime bun]
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { chooseRuntime, ROOT, runtimeCommand } from "../bin/launch.mjs";

const { runtime, rest: [name, ...args] } = chooseRuntime(process.argv.slice(2), process.env);
const { command, args: prefix, env } = runtimeCommand(runtime);
const program = join(ROOT, "bench", `${name}.bench.ts`);
const { status } = spawnSync(command, [...prefix, program, ...args], { env, stdio: "inherit" });
process.exit(status ?? 1);
