/** The runtime that runs this: Deno or Bun. Nothing else asks which one it is. */
import { GanglionError } from "../base/errors.ts";
import { bunRuntime } from "./bun.ts";
import { denoRuntime } from "./deno.ts";
import { environment } from "./process.ts";
import type { App, Listener, ListenOptions, Runtime } from "./types.ts";

export type { App, Connection, Listener, ListenOptions, Runtime } from "./types.ts";
export { openPartReader, openPartWriter, type PartReader, type PartWriter } from "./array_file.ts";
export { ownRuntime, runChild, startServing } from "./child.ts";
export { collection } from "./collect.ts";
export { readbackVerdict } from "./fast_readback.ts";
export { findGpu } from "./gpu.ts";
export { readNirIsolated } from "./nir_process.ts";
export * from "./process.ts";
export { openStateFolder, type StateFolder } from "./state_folder.ts";
export { ownPort, startThread } from "./thread.ts";
export { readWebFiles } from "./web_files.ts";
export { readCommit, ROOT, VERSION } from "./version.ts";

export const runtime: Runtime = "Bun" in globalThis ? bunRuntime() : denoRuntime();

/** Serves the app; a port or address that cannot be had is said in a sentence. */
export async function listen(app: App, options: ListenOptions): Promise<Listener> {
  try {
    return await runtime.listen(app, options);
  } catch (error) {
    const { host, port } = options;
    throw new GanglionError("usage", listenProblem(error, host, port), { host, port });
  }
}

/** Throws as `listen` would, before there is anything to serve. */
export async function assertFree(options: ListenOptions): Promise<void> {
  const nothing = () => new Response(null, { status: 503 });
  await (await listen({ fetch: nothing }, options)).stop();
}

function listenProblem(error: unknown, host: string, port: number): string {
  const { name = "", code = "", message = "" } = error as Record<string, string | undefined>;
  const where = `${host}:${port}`;
  if (name === "AddrInUse" || code === "EADDRINUSE") {
    // npm keeps flags for itself unless they come after --.
    const flag = environment().npm_lifecycle_event === "start"
      ? "npm start -- --port N"
      : "--port N";
    return `${where} is already taken; choose another with ${flag} or GANGLION_PORT=N, ` +
      "where 0 is any free one";
  }
  if (name === "PermissionDenied" || code === "EACCES") return `${where} may not be used by us`;
  return `Cannot listen on ${where}: ${message}`;
}
