/**
 * Starts a program on one of the two runtimes: finds the runtime's real binary (not the wrapper
 * script of its package, which swallows signals), and sets what must be in the environment before the
 * process starts: which Vulkan drivers it sees, and where Vulkan may put its sockets. Plain Node.
 *
 * `runtimeCommand` gives the same to tests and tools that start a server themselves.
 */
import { spawn } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { constants, tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findDrivers } from "./vulkan.mjs";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BINARY_BYTES_MIN = 1_000_000;
const PARENT_POLL_MS = 250;
const FORWARDED_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"];
/** Ctrl-C and Ctrl-\ reach the child from the terminal itself; forwarding would send them twice. */
const TERMINAL_SIGNALS = ["SIGINT", "SIGQUIT"];

/** The last gives every thread the `gc` that src/runtime/collect.ts calls. */
const DENO_FLAGS = ["-A", "--no-prompt", "--no-remote", "--v8-flags=--expose-gc"];

const require = createRequire(import.meta.url);

function packageFolder(name) {
  try {
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/** Packages of `runtime` that may hold its binary, the likeliest first. */
function candidates(runtime) {
  const windows = process.platform === "win32";
  const extension = windows ? ".exe" : "";
  if (runtime === "deno") {
    const target = `${process.platform}-${process.arch}`;
    return [
      ["deno", `deno${extension}`],
      [`@deno/${target}${process.platform === "linux" ? "-glibc" : ""}`, `deno${extension}`],
    ];
  }
  const arch = process.arch === "arm64" ? "aarch64" : process.arch;
  const target = `@oven/bun-${windows ? "windows" : process.platform}-${arch}`;
  // npm installs the one that suits this C library and processor.
  const platforms = [target, `${target}-musl`, `${target}-baseline`, `${target}-musl-baseline`];
  return [["bun", "bin/bun.exe"], ...platforms.map((name) => [name, `bin/bun${extension}`])];
}

/**
 * Path of the runtime's binary. The `bun` package holds a short text file instead of a binary when
 * its install script did not run, hence the size.
 *
 * @param {"deno" | "bun"} runtime
 * @returns {string}
 */
export function findRuntime(runtime) {
  for (const [name, file] of candidates(runtime)) {
    const folder = packageFolder(name);
    const path = folder && join(folder, file);
    if (path && existsSync(path) && statSync(path).size > BINARY_BYTES_MIN) return path;
  }
  throw new Error(`Cannot find ${runtime}: its package is not installed; run: npm ci`);
}

/**
 * A private folder for XDG_RUNTIME_DIR, without which the Vulkan loader complains; one for each user,
 * it stays. Undefined when someone else holds the name.
 */
function privateRuntimeFolder() {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `ganglion-${uid}`);
  try {
    mkdirSync(folder, { mode: 0o700, recursive: true });
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === uid ? folder : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Vulkan drivers for a runtime: hardware first, then the one software driver that suits it. Offered
 * both, Deno would take SwiftShader, which is the slower; Bun refuses old versions of lavapipe.
 */
function driversFor(runtime, env) {
  const { hardware, lavapipe, swiftshader } = findDrivers();
  const [first, second] = runtime === "deno" ? [lavapipe, swiftshader] : [swiftshader, lavapipe];
  const software = first.length > 0 ? first.slice(0, 1) : second.slice(0, 1);
  return env.GANGLION_DRIVERS === "software" ? software : [...hardware, ...software];
}

/** `env` and what the runtime needs besides; what a person set stays. */
function runtimeEnv(runtime, env) {
  const result = { ...env, DENO_NO_UPDATE_CHECK: "1" };
  if (process.platform !== "linux") return result;
  // Without a Vulkan driver Deno would take OpenGL in silence.
  result.DENO_WEBGPU_BACKEND ||= "vulkan";
  result.XDG_RUNTIME_DIR ||= privateRuntimeFolder();
  // A list that this function made for another runtime (a test that starts Deno from Bun) is ours
  // to replace.
  const chosen = env.VK_DRIVER_FILES || env.VK_ICD_FILENAMES;
  if (chosen && chosen !== env.GANGLION_DRIVER_FILES) return result;
  const drivers = driversFor(runtime, env).join(":");
  if (drivers !== "") result.VK_ICD_FILENAMES = result.GANGLION_DRIVER_FILES = drivers;
  return result;
}

/**
 * How to start a TypeScript program on a runtime: `spawn(command, [...args, "program.ts"], { env })`.
 * `env` holds the whole environment. Works from any folder; `GANGLION_DRIVERS=software` leaves real
 * GPUs out.
 *
 * @param {"deno" | "bun"} [runtime]
 * @param {Record<string, string | undefined>} [env]
 * @returns {{ command: string, args: string[], env: Record<string, string | undefined> }}
 */
export function runtimeCommand(runtime = "deno", env = process.env) {
  const args = runtime === "deno"
    ? ["run", ...DENO_FLAGS, "--config", join(ROOT, "deno.json")]
    // Nothing in the caller's folder (bunfig.toml, .env) may change what runs.
    : ["--no-install", "--no-env-file", `--config=${join(ROOT, "bunfig.toml")}`];
  return { command: findRuntime(runtime), args, env: runtimeEnv(runtime, env) };
}

/**
 * Takes `--runtime deno|bun` out of the arguments (those before `--`), else GANGLION_RUNTIME, else
 * Deno. `runtime` is undefined when the choice is not one of the two.
 *
 * @param {string[]} argv
 * @param {Record<string, string | undefined>} env
 */
export function chooseRuntime(argv, env) {
  const rest = [];
  let choice = env.GANGLION_RUNTIME || "deno";
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index];
    if (word === "--") {
      rest.push(...argv.slice(index));
      break;
    }
    if (word === "--runtime") choice = argv[++index] ?? "";
    else if (word.startsWith("--runtime=")) choice = word.slice("--runtime=".length);
    else rest.push(word);
  }
  return { runtime: choice === "deno" || choice === "bun" ? choice : undefined, choice, rest };
}

/** Ends this process as the child ended: same exit code, or the same signal. */
function endLike(code, signal) {
  if (signal === null) {
    process.exitCode = code;
    return;
  }
  for (const name of FORWARDED_SIGNALS) process.removeAllListeners(name);
  // An ignored signal would leave us alive: then the code a shell would show.
  process.exitCode = 128 + constants.signals[signal];
  process.kill(process.pid, signal);
}

/**
 * npm hands a signal on to the shell between it and us, which ends without telling anyone; so under
 * npm the end of our parent is a SIGTERM. Elsewhere it is not: a server may outlive its terminal.
 */
function onParentGone(env, action) {
  if (env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    action();
  }, PARENT_POLL_MS);
  timer.unref();
}

/**
 * Runs `program` (a path in this repository) with `argv` and hands over terminal, signals and exit
 * code. GANGLION_LAUNCHER tells the child our process id, so that it can stop when we are killed.
 */
export function launch(program, argv, env = process.env) {
  const { runtime, choice, rest } = chooseRuntime(argv, env);
  if (runtime === undefined) {
    process.stderr.write(`ganglion: --runtime must be deno or bun, not "${choice}"\n`);
    process.exitCode = 2;
    return;
  }
  let start;
  try {
    start = runtimeCommand(runtime, env);
  } catch (error) {
    process.stderr.write(`ganglion: ${error.message}\n`);
    process.exitCode = 1;
    return;
  }
  const child = spawn(start.command, [...start.args, join(ROOT, program), ...rest], {
    stdio: "inherit",
    env: { ...start.env, GANGLION_LAUNCHER: String(process.pid) },
  });
  for (const signal of FORWARDED_SIGNALS) {
    const fromTerminal = TERMINAL_SIGNALS.includes(signal) && process.stdin.isTTY;
    process.on(signal, () => void (fromTerminal || child.kill(signal)));
  }
  onParentGone(env, () => child.kill("SIGTERM"));
  child.on("error", (error) => {
    process.stderr.write(`ganglion: cannot start ${runtime}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on("exit", endLike);
}
