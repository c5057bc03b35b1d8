/** What the two runtimes offer alike; `mod.ts` picks the one that runs. */

/** What a handler may ask of the connection its request came on. Passed as Hono's `env`. */
export interface Connection {
  /** The runtime must not cut this request for being silent (a long wait, an event stream). */
  keepOpen(): void;
  /** Ends the connection soon, whatever is still to be sent; not every runtime can. */
  cut?(): void;
}

export interface App {
  fetch(request: Request, connection: Connection): Response | Promise<Response>;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Takes no new connection; resolves when every request and stream has ended. */
  stop(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

export interface Runtime {
  readonly name: "deno" | "bun";
  readonly version: string;
  /** Throws `address_taken`-like system errors as they are; see `listen` in mod.ts. */
  listen(app: App, options: ListenOptions): Promise<Listener>;
}
