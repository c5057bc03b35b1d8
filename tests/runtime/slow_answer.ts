/** A program: two answers that stay silent longer than a runtime allows, one of them kept open. */
import process from "node:process";
import { listen } from "../../src/runtime/mod.ts";

const SILENT_MS = 14_000;

const { port } = await listen({
  async fetch(request, connection) {
    if (request.url.endsWith("/kept")) connection.keepOpen();
    await new Promise((resolve) => setTimeout(resolve, SILENT_MS));
    return new Response("late");
  },
}, { host: "127.0.0.1", port: 0 });
const answers = ["kept", "left"].map((path) =>
  fetch(`http://127.0.0.1:${port}/${path}`).then((answer) => answer.text(), () => "cut")
);
console.log((await Promise.all(answers)).join(" "));
process.exit(0);
