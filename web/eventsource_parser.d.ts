/** The package, as the server hands it to browsers under this name. */
export * from "eventsource-parser";
