/**
 * Where Vulkan drivers lie on this machine. Deno and Bun reach the GPU through Vulkan on Linux; a
 * driver is a small JSON file (an ICD). Plain Node, no dependencies: the set-up script reads this
 * before any package is installed.
 */
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const DRIVER_FOLDERS = [
  "/etc/vulkan/icd.d",
  "/usr/local/share/vulkan/icd.d",
  "/usr/share/vulkan/icd.d",
  join(homedir(), ".local/share/vulkan/icd.d"),
];

/** Debian's chromium package ships SwiftShader, the only software driver that Dawn (Bun) accepts. */
const SWIFTSHADER_FILES = [
  "/usr/lib/chromium/vk_swiftshader_icd.json",
  "/usr/lib64/chromium-browser/vk_swiftshader_icd.json",
  "/opt/google/chrome/vk_swiftshader_icd.json",
];

const LOADER_FOLDERS = [
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/usr/lib64",
  "/usr/lib",
  "/usr/local/lib",
];

/**
 * Driver files by kind; the order inside `hardware` is the order of the folders.
 *
 * @returns {{ hardware: string[], lavapipe: string[], swiftshader: string[] }}
 */
export function findDrivers() {
  const installed = DRIVER_FOLDERS.flatMap((folder) =>
    existsSync(folder)
      ? readdirSync(folder).filter((name) => name.endsWith(".json")).sort()
        .map((name) => join(folder, name))
      : []
  );
  const isLavapipe = (file) => /lvp|lavapipe/.test(file);
  const isSwiftshader = (file) => /swiftshader/.test(file);
  return {
    hardware: installed.filter((file) => !isLavapipe(file) && !isSwiftshader(file)),
    lavapipe: installed.filter(isLavapipe),
    swiftshader: [...installed.filter(isSwiftshader), ...SWIFTSHADER_FILES.filter(existsSync)],
  };
}

/** True when the Vulkan loader, which every driver is reached through, is installed. */
export function hasLoader() {
  return LOADER_FOLDERS.some((folder) => existsSync(join(folder, "libvulkan.so.1")));
}

/** The driver list a person set, or undefined. */
export function chosenDrivers(env = process.env) {
  return env.VK_DRIVER_FILES || env.VK_ICD_FILENAMES || undefined;
}
