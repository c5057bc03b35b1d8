/**
 * Deno: its HTTP server. `deno.json` sets `no-legacy-abort`; without it a request's signal would fire
 * after every response that succeeded.
 */
import type { App, Connection, Listener, ListenOptions, Runtime } from "./types.ts";

interface DenoServer {
  readonly addr: { readonly hostname: string; readonly port: number };
  shutdown(): Promise<void>;
}

/** The part of the global `Deno` that is used, so that both type checkers know it. */
interface DenoGlobal {
  readonly version: { readonly deno: string };
  serve(
    options: { hostname: string; port: number; onListen: () => void },
    handler: (request: Request) => Response | Promise<Response>,
  ): DenoServer;
}

// Deno never cuts a silent connection.
const connection: Connection = { keepOpen() {} };

export function denoRuntime(): Runtime {
  const { Deno } = globalThis as unknown as { Deno: DenoGlobal };
  return {
    name: "deno",
    version: Deno.version.deno,
    listen(app: App, { host, port }: ListenOptions): Promise<Listener> {
      return new Promise((resolve) => {
        const server = Deno.serve(
          { hostname: host, port, onListen() {} },
          (request) => app.fetch(request, connection),
        );
        resolve({ host, port: server.addr.port, stop: () => server.shutdown() });
      });
    },
  };
}
