/** `ganglion doctor`: the adapter that each runtime gets, what is missing, and the command that mends it. */
import { existsSync, readFileSync } from "node:fs";
import { arch, cpus, platform, release } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { LOOP_TURNS } from "../engine/doctor.ts";
import { environment, ROOT, runChild, VERSION, writeOut } from "../runtime/mod.ts";
import type { Call } from "./command.ts";
import type { Examination } from "./examine.ts";

const EXAMINE_MS_MAX = 60_000;
const RUNTIMES = ["deno", "bun"] as const;

interface Remedy {
  /** What is missing, in words. */
  readonly missing: readonly string[];
  /** The one command that adds it, where we know one. */
  readonly command: string | null;
}

export async function run({ settings }: Call): Promise<number> {
  const examinations = await Promise.all(RUNTIMES.map(examineOn));
  const remedy = findRemedy(examinations);
  const machine = {
    ganglion: VERSION,
    system: `${systemNames()[0] ?? platform()} (${platform()} ${release()}, ${arch()})`,
    processors: cpus().length,
  };
  await writeOut(
    settings.json
      ? `${JSON.stringify({ machine, runtimes: examinations, ...remedy }, null, 2)}\n`
      : report(machine, examinations, remedy),
  );
  return 0;
}

/** Through the launcher, which sets the drivers for the runtime. */
async function examineOn(name: typeof RUNTIMES[number]): Promise<Examination> {
  const start = {
    command: "node",
    args: [join(ROOT, "bin", "ganglion.mjs"), "--runtime", name, "_examine"],
    env: environment(),
  };
  const { stdout, stderr, timedOut } = await runChild(start, EXAMINE_MS_MAX);
  try {
    return JSON.parse(stdout) as Examination;
  } catch {
    const reason = timedOut
      ? `it did not answer for ${EXAMINE_MS_MAX / 1000} s`
      : stderr.trim().split("\n").at(-1) || "it ended without a word";
    const nothing = { source: null, drivers: null, device: null, readback: null, model: null };
    return { runtime: name, version: "", ...nothing, problem: reason };
  }
}

function report(
  machine: Record<string, string | number>,
  examinations: readonly Examination[],
  { missing, command }: Remedy,
): string {
  const lines = Object.entries(machine).map(([name, value]) => row(name, String(value)));
  for (const examination of examinations) {
    lines.push("", `${examination.runtime} ${examination.version}`, ...describe(examination));
  }
  lines.push("");
  if (missing.length === 0) lines.push("Nothing is missing.");
  else lines.push("Missing:", ...missing.map((each) => `  ${each}`));
  if (command !== null) lines.push("", "This command mends it:", `  ${command}`);
  lines.push(
    "",
    "The CPU executor serves every model, with the same results, where WebGPU does not.",
  );
  return `${lines.join("\n")}\n`;
}

function describe({ source, drivers, device, readback, model, problem }: Examination): string[] {
  const lines = [row("webgpu", source ?? "none")];
  if (device !== null) {
    const { storageBytesMax, groupsMax } = device.limits;
    lines.push(
      row("adapter", `${device.name}${device.software ? " (software)" : ""}`),
      row("limits", `${gib(storageBytesMax)} a buffer, ${groupsMax} groups a dispatch`),
      row("loops", loopText(device.loopTurns)),
    );
  }
  if (drivers !== null) {
    lines.push(...drivers.split(":").map((file, i) => row(i === 0 ? "drivers" : "", file)));
  }
  if (readback !== null) lines.push(row("readback", readbackText(readback)));
  if (model !== null) {
    const exact = model.numerics.startsWith("exact") ? "every bit as the reference" : "inexact";
    lines.push(row(`model ${model.name}`, `${model.numerics} (${exact})`));
  }
  if (problem !== null) lines.push(row("problem", problem));
  return lines;
}

function row(name: string, value: string): string {
  return `  ${name.padEnd(14)}${value}`;
}

function gib(bytes: number): string {
  return bytes >= 2 ** 30
    ? `${(bytes / 2 ** 30).toFixed(1)} GiB`
    : `${Math.round(bytes / 2 ** 20)} MiB`;
}

function loopText(turns: number): string {
  return turns >= LOOP_TURNS
    ? `no end within ${LOOP_TURNS} turns`
    : `the driver ends them after ${turns} turns; kernels stay below`;
}

function readbackText(readback: string): string {
  return readback === "eager" ? "fast (mapped ranges are read at once)" : "awaited";
}

/** What is missing, and the one command for it. */
function findRemedy(examinations: readonly Examination[]): Remedy {
  const missing: string[] = [];
  const packages: string[] = [];
  const blind = examinations.filter(({ device }) => device === null);
  if (
    blind.some(({ problem }) => /package is not installed|bun-webgpu cannot/.test(problem ?? ""))
  ) {
    const arm = platform() === "linux" && arch() === "arm64";
    missing.push(
      arm ? "Bun has no WebGPU on this platform: use Deno" : "npm packages of the runtimes",
    );
    if (!arm) return { missing, command: "npm ci" };
  }
  if (platform() !== "linux") {
    if (blind.length > 0) missing.push("a GPU driver that WebGPU can use");
    return { missing, command: null };
  }
  for (const { runtime, source } of blind) {
    if (source === null) continue;
    missing.push(`a Vulkan driver that ${runtime} takes`);
    packages.push(...PACKAGES[runtime as keyof typeof PACKAGES]);
  }
  const software = examinations.every(({ device }) => device?.software ?? true);
  if (software && existsSync("/proc/driver/nvidia")) {
    missing.push("the Vulkan part of the NVIDIA driver (nvidia_icd.json and its library)");
  }
  return { missing, command: installCommand([...new Set(packages)]) };
}

/** Debian's names. Bun's Dawn takes SwiftShader, which comes with chromium. */
const PACKAGES = {
  deno: ["mesa-vulkan-drivers", "libvulkan1"],
  bun: ["chromium", "libvulkan1"],
};

function installCommand(packages: readonly string[]): string | null {
  if (packages.length === 0) return null;
  const sudo = process.getuid?.() === 0 ? "" : "sudo ";
  const names = systemNames();
  if (names.some((name) => name === "debian" || name === "ubuntu")) {
    return `${sudo}apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  }
  if (names.some((name) => name === "fedora" || name === "rhel")) {
    return `${sudo}dnf install -y mesa-vulkan-drivers vulkan-loader`;
  }
  if (names.includes("arch")) return `${sudo}pacman -S vulkan-swrast vulkan-icd-loader`;
  return null;
}

/** From os-release, the system's own name first: `["ubuntu", "debian"]`. */
function systemNames(): string[] {
  if (!existsSync("/etc/os-release")) return [];
  const text = readFileSync("/etc/os-release", "utf8");
  const value = (key: string) => text.match(new RegExp(`^${key}="?([^"\n]*)"?$`, "m"))?.[1] ?? "";
  return `${value("ID")} ${value("ID_LIKE")}`.split(" ").filter(Boolean);
}
