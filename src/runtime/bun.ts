/**
 * Bun: its HTTP server. Bun cuts a connection that is silent for 10 s, also one whose answer has not
 * begun, unless the handler asks to keep it open; and it would refuse large bodies without a problem
 * document, so that ours is the only limit.
 */
import type { App, Connection, Listener, ListenOptions, Runtime } from "./types.ts";

interface BunServer {
  readonly port: number;
  timeout(request: Request, seconds: number): void;
  stop(closeActiveConnections: boolean): Promise<void>;
}

/** The part of the global `Bun` that is used, so that both type checkers know it. */
interface BunGlobal {
  readonly version: string;
  serve(options: {
    hostname: string;
    port: number;
    idleTimeout: number;
    maxRequestBodySize: number;
    development: boolean;
    reusePort: boolean;
    fetch(request: Request, server: BunServer): Response | Promise<Response>;
  }): BunServer;
}

const IDLE_SECONDS = 10;
const CUT_SECONDS = 1;

/** Without a Host header (HTTP/1.0, health checks) Bun's url is a bare path, which nothing can parse. */
function withWholeUrl(request: Request): Request {
  return request.url.startsWith("http") || URL.canParse(request.url)
    ? request
    : new Request(new URL(request.url, "http://localhost"), request);
}

class BunConnection implements Connection {
  readonly #request: Request;
  readonly #server: BunServer;

  constructor(request: Request, server: BunServer) {
    this.#request = request;
    this.#server = server;
  }

  keepOpen(): void {
    this.#server.timeout(this.#request, 0);
  }

  cut(): void {
    this.#server.timeout(this.#request, CUT_SECONDS);
  }
}

export function bunRuntime(): Runtime {
  const { Bun } = globalThis as unknown as { Bun: BunGlobal };
  return {
    name: "bun",
    version: Bun.version,
    listen(app: App, { host, port }: ListenOptions): Promise<Listener> {
      return new Promise((resolve) => {
        const server = Bun.serve({
          hostname: host,
          port,
          idleTimeout: IDLE_SECONDS,
          maxRequestBodySize: Number.MAX_SAFE_INTEGER,
          development: false,
          // Without development mode Bun 1.4 would share a port that is taken.
          reusePort: false,
          fetch: (request, server) =>
            app.fetch(withWholeUrl(request), new BunConnection(request, server)),
        });
        resolve({ host, port: server.port, stop: () => server.stop(false) });
      });
    },
  };
}
