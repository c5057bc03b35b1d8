/**
 * The files in deploy/ are right about the program that they start: a folder with only what the
 * container copies, with its variables, serves and passes its own health check; every probe is a
 * route, every variable and flag exists, every pause is longer than the server's own.
 */
import { expect, test } from "bun:test";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { type FlagName, FLAGS, readSettings, unknownVariables } from "../../src/config.ts";
import { readRootFile } from "../../tools/source_text.ts";
import { scratchFolder } from "../cli/command_line.ts";

/** What `serve --state-dir` takes at most to keep every session (docs/operations.md, Stopping). */
const KEEPING_SECONDS = 10;
const API_KEY = "a-key";

const dockerfile = readRootFile("deploy/Dockerfile").replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "");
const unit = readRootFile("deploy/ganglion.service");

/** `GANGLION_X=value` pairs of an ENV line or of the unit. */
const variablesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(GANGLION_\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
  );

test("what the container holds serves, and passes its health check", async () => {
  using folder = scratchFolder();
  const app = folder.path("app");
  mkdirSync(app);
  for (const [, sources, target] of dockerfile.matchAll(/^COPY (.+) (\S+)$/gm)) {
    for (const source of sources!.split(" ")) {
      const to = target === "./" ? join(app, source) : join(app, target!);
      cpSync(join(ROOT, source), to, { recursive: true });
    }
  }
  symlinkSync(join(ROOT, "node_modules"), join(app, "node_modules"));
  const words = (name: string): string[] =>
    JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, "m").exec(dockerfile)![1]!);
  const args = [...words("ENTRYPOINT"), ...words("CMD")]
    .map((word) => word.replace(/^\/app/, app));
  const variables = {
    ...variablesIn(dockerfile),
    GANGLION_HOST: "127.0.0.1",
    GANGLION_PORT: "0",
    GANGLION_STATE_DIR: folder.path("state"),
    GANGLION_API_KEY: API_KEY,
  };
  const server = Bun.spawn(args, {
    cwd: folder.path("."),
    env: { ...process.env, ...variables },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  try {
    const { value } = await server.stdout.getReader().read();
    const url = /http:\S+/.exec(new TextDecoder().decode(value))?.[0] ??
      await new Response(server.stderr).text();
    const [command, option, script] = JSON.parse(/ CMD (\[.*\])$/m.exec(dockerfile)![1]!);
    const check = Bun.spawnSync([
      command,
      option,
      script.replace("http://127.0.0.1:8787", url),
    ]);
    expect(check.exitCode).toBe(0);
    const opened = await fetch(`${url}/v1/sessions`, {
      method: "POST",
      headers: { authorization: `Bearer ${API_KEY}`, host: "10.1.2.3:8787" },
    });
    expect(opened.status).toBe(201);
  } finally {
    server.kill("SIGTERM");
  }
  expect(await server.exited).toBe(0);
}, 60_000);

test("the health check fails when nobody answers", () => {
  const [command, option, script] = JSON.parse(/ CMD (\[.*\])$/m.exec(dockerfile)![1]!);
  const check = Bun.spawnSync([command, option, script.replace(":8787", ":9")]);
  expect(check.exitCode).toBe(1);
});

test("variables and flags exist", () => {
  const manifest = Bun.YAML.parse(readRootFile("deploy/kubernetes.yaml")) as Manifest[];
  const [container] = manifest[1]!.spec.template.spec.containers;
  const named = Object.fromEntries(container!.env.map(({ name }) => [name, "x"]));
  for (const variables of [variablesIn(dockerfile), variablesIn(unit), named]) {
    expect(Object.keys(variables).length).toBeGreaterThan(0);
    expect(unknownVariables(variables)).toEqual([]);
  }
  const starts = [
    container!.args,
    /^ExecStart=\S+ \S+ (.*)$/m.exec(unit)![1]!.split(" "),
    JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)![1]!) as string[],
  ];
  for (const [command, ...rest] of starts) {
    expect(command).toBe("serve");
    const flags = Object.keys(FLAGS) as FlagName[];
    expect(() => readSettings(flags, rest, variablesIn(dockerfile))).not.toThrow();
  }
});

interface Manifest {
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly spec: { terminationGracePeriodSeconds: number; containers: Container[] };
    };
  };
}
interface Container {
  readonly args: string[];
  readonly env: { name: string }[];
  readonly lifecycle: { preStop: { exec: { command: [string, string] } } };
  readonly [probe: `${string}Probe`]: { httpGet: { path: string; port: number } };
}

test("Kubernetes probes routes that exist, and waits long enough", () => {
  const manifest = Bun.YAML.parse(readRootFile("deploy/kubernetes.yaml")) as Manifest[];
  expect(manifest.map(({ kind }) => kind)).toEqual(["Service", "StatefulSet"]);
  const { terminationGracePeriodSeconds: grace, containers } = manifest[1]!.spec.template.spec;
  const [container] = containers;
  const paths = (["startupProbe", "readinessProbe", "livenessProbe"] as const)
    .map((probe) => container![probe]!.httpGet.path);
  expect(paths).toEqual(["/readyz", "/readyz", "/livez"]);
  const pause = Number(container!.lifecycle.preStop.exec.command[1]);
  expect(grace).toBeGreaterThan(pause + KEEPING_SECONDS);
});

test.skipIf(Bun.which("systemd-analyze") === null)("systemd takes the unit", () => {
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(KEEPING_SECONDS);
  const { stdout, stderr } = Bun.spawnSync([
    "systemd-analyze",
    "verify",
    join(ROOT, "deploy/ganglion.service"),
  ], { env: { ...process.env, LC_ALL: "C" } });
  const complaints = `${stdout}${stderr}`.split("\n")
    // Node may be elsewhere on this machine, and the machine's own units are not ours.
    .filter((line) => line.includes("ganglion.service") && !line.includes("is not executable"));
  expect(complaints).toEqual([]);
});

test("wrangler takes the gateway", async () => {
  using folder = scratchFolder();
  const wrangler = Bun.spawn([
    "node",
    join(ROOT, "node_modules/wrangler/bin/wrangler.js"),
    "deploy",
    "--dry-run",
    "--outdir",
    folder.path("out"),
  ], {
    cwd: ROOT,
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", XDG_CONFIG_HOME: folder.path("config") },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, errors, code] = await Promise.all([
    new Response(wrangler.stdout).text(),
    new Response(wrangler.stderr).text(),
    wrangler.exited,
  ]);
  expect([code, errors]).toEqual([0, ""]);
  expect(text).toContain("--dry-run: exiting now");
}, 60_000);
