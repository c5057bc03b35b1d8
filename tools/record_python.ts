/**
 * Runs the Python example against a real server and keeps what it printed, and the digest of the text
 * that ran: `npx bun tools/record_python.ts PATH_OF_PYTHON` (one that has httpx). The gate has no Python
 * packages; tests/client/examples.test.ts holds the example to the text that ran here.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { startServer } from "../tests/support/server_process.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const EXAMPLE = join(ROOT, "examples/python/stream.py");
const RECORD = join(ROOT, "examples/python/stream.ran.json");

const python = process.argv[2] ?? "python3";
const asked = ["-c", "import sys, httpx; print(sys.version.split()[0], httpx.__version__)"];
const [version, httpx] = spawnSync(python, asked, { encoding: "utf8" }).stdout.trim().split(" ");
const server = await startServer("deno", [join(ROOT, "examples/digits"), "--device", "cpu"]);
const { status, stdout, stderr } = spawnSync(python, [EXAMPLE, server.url], {
  cwd: ROOT,
  encoding: "utf8",
  timeout: 60_000,
});
await server.stop();
if (status !== 0) throw new Error(`${EXAMPLE} failed:\n${stderr}`);
const sha256 = createHash("sha256").update(readFileSync(EXAMPLE)).digest("hex");
const date = new Date().toISOString().slice(0, 10);
const record = { sha256, python: version, httpx, date, stdout: stdout.trimEnd().split("\n") };
writeFileSync(RECORD, `${JSON.stringify(record, null, 2)}\n`);
