/**
 * The set-up promise: `npm start` and `npm test` run this first, and no third command is needed.
 * Installs the packages when they are missing or differ from package-lock.json; on Debian or Ubuntu
 * as root also a software Vulkan driver when there is none, and says so. With `--tests` also
 * SwiftShader, for the GPU tests on Bun.
 *
 * Silent when there is nothing to do. Only missing packages can make it fail: without a driver
 * Ganglion serves on the CPU, so a driver that cannot be had is a line of advice. Plain Node.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chosenDrivers, findDrivers, hasLoader } from "./vulkan.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FAILED_MARK = join(ROOT, ".cache", "driver-install-failed");
const RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

function say(line) {
  process.stderr.write(`ganglion: ${line}\n`);
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** True when node_modules holds what package-lock.json asks for on this platform. */
function packagesMatchLock(forTests) {
  const wanted = readJson(join(ROOT, "package-lock.json"))?.packages ?? {};
  const present = readJson(join(ROOT, "node_modules", ".package-lock.json"))?.packages;
  if (present === undefined) return false;
  const mayBeAbsent = (entry) =>
    entry.optional || entry.devOptional || entry.peer || (entry.dev && !forTests);
  return Object.entries(wanted).every(([path, entry]) =>
    path === "" ||
    (present[path] === undefined ? mayBeAbsent(entry) : present[path].version === entry.version)
  );
}

function installPackages(forTests) {
  say("installing the packages (npm ci, about 15 s) …");
  const args = [
    "ci",
    "--loglevel=warn",
    "--no-audit",
    "--no-fund",
    ...(forTests ? ["--include=dev"] : []),
  ];
  const npm = process.env.npm_execpath;
  const options = { cwd: ROOT, stdio: ["ignore", 2, 2] };
  const { status, error } = npm
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync("npm", args, options);
  if (status === 0) return;
  say(`the packages could not be installed${error ? `: ${error.message}` : ""}; run: npm ci`);
  process.exit(status || 1);
}

/** Names from /etc/os-release, the system's own first: `["ubuntu", "debian"]`. */
function systemNames() {
  if (!existsSync("/etc/os-release")) return [];
  const text = readFileSync("/etc/os-release", "utf8");
  const value = (key) => text.match(new RegExp(`^${key}="?([^"\n]*)"?$`, "m"))?.[1] ?? "";
  return `${value("ID")} ${value("ID_LIKE")}`.split(" ").filter(Boolean);
}

/** The one command that adds `packages` (Debian names), or undefined where we do not know it. */
function commandFor(names, packages) {
  const sudo = process.getuid?.() === 0 ? "" : "sudo ";
  if (names.includes("debian") || names.includes("ubuntu")) {
    return `${sudo}apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  }
  if (names.includes("fedora") || names.includes("rhel")) {
    return `${sudo}dnf install -y mesa-vulkan-drivers vulkan-loader`;
  }
  if (names.includes("arch")) return `${sudo}pacman -S vulkan-swrast vulkan-icd-loader`;
  if (names.some((name) => name.includes("suse"))) {
    return `${sudo}zypper install libvulkan_lvp libvulkan1`;
  }
  return undefined;
}

function aptGet(args) {
  const settings = ["DPkg::Lock::Timeout=300", "Acquire::Retries=1", "Acquire::http::Timeout=20"];
  const options = settings.flatMap((setting) => ["-o", setting]);
  return spawnSync("apt-get", [...options, ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** Installs Debian packages; true when that worked. A repository that is away must not stop us. */
function installWithApt(packages) {
  const began = Date.now();
  aptGet(["update"]);
  const result = aptGet(["install", "-y", "--no-install-recommends", ...packages]);
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  if (result.status === 0) {
    say(`installed ${packages.join(" ")} in ${seconds} s`);
    return true;
  }
  const lines = `${result.error?.message ?? ""}\n${result.stderr ?? ""}`.trim().split("\n");
  const reason = lines.find((line) => line.startsWith("E: ")) ?? lines[0];
  say(`apt-get failed after ${seconds} s: ${reason}`);
  return false;
}

function failedLately() {
  return existsSync(FAILED_MARK) &&
    Date.now() - statSync(FAILED_MARK).mtimeMs < RETRY_AFTER_MS;
}

/**
 * What is missing for graphics, as Debian packages. SwiftShader only on Debian: Ubuntu has no such
 * package, and there as elsewhere Mesa is new enough for Bun.
 */
function missingDrivers(names, forTests) {
  if (process.platform !== "linux" || chosenDrivers()) return [];
  const { hardware, lavapipe, swiftshader } = findDrivers();
  const missing = [];
  // Brings libvulkan1, the loader, too.
  if (hardware.length + lavapipe.length === 0) missing.push("mesa-vulkan-drivers");
  else if (!hasLoader()) missing.push("libvulkan1");
  const isDebian = names.includes("debian") && !names.includes("ubuntu");
  if (forTests && isDebian && swiftshader.length === 0) missing.push("chromium");
  return missing;
}

function setUpDrivers(forTests) {
  const names = systemNames();
  const missing = missingDrivers(names, forTests);
  if (missing.length === 0) return;
  const hasApt = names.includes("debian") || names.includes("ubuntu");
  const mayInstall = hasApt && process.getuid?.() === 0 &&
    process.env.GANGLION_SETUP !== "packages";
  if (mayInstall && (forTests || !failedLately())) {
    const why = missing.includes("mesa-vulkan-drivers")
      ? "no GPU driver found, adding a software one"
      : "adding what the GPU tests need";
    say(`${why}: apt-get install ${missing.join(" ")} (as root) …`);
    if (installWithApt(missing)) return rmSync(FAILED_MARK, { force: true });
    mkdirSync(dirname(FAILED_MARK), { recursive: true });
    writeFileSync(FAILED_MARK, `${missing.join(" ")}\n`);
  }
  const command = commandFor(names, missing);
  const remedy = command ? `this adds what is missing: ${command}` : "install one for your system";
  say(
    forTests
      ? `the GPU tests need software Vulkan drivers; ${remedy}`
      : `without a Vulkan driver models run on the CPU executor; ${remedy}`,
  );
}

const forTests = process.argv.includes("--tests");
if (!packagesMatchLock(forTests)) installPackages(forTests);
setUpDrivers(forTests);
