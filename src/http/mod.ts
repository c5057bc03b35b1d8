/** The HTTP application: a plain `fetch` handler over a `Service`. */
export { type App, type AppDeps, type Connection, createApp } from "./app.ts";
export type { RequestEntry } from "./access_log.ts";
export type { WebFile } from "./context.ts";
export { ServerEvents } from "./server_events.ts";
