/**
 * The least that a server can do with a chunk, as a floor for the benches: reads the body, answers a
 * constant of the size of ours. No sessions, no checks, no routes.
 */
import process from "node:process";
import { listen } from "../src/runtime/mod.ts";

const ANSWER = JSON.stringify({
  ...{ seq: 123456, steps: 10, start_step: 1234560, end_step: 1234570, epoch: 1 },
  ...{ next_chunk_seq: 123457, credit: 4086, durable_seq: null },
});
const HEADERS = { "content-type": "application/json" };

let opened = 0;
const listener = await listen({
  async fetch(request: Request) {
    if (request.url.endsWith("/v1/sessions")) {
      return Response.json({ id: `session-${opened++}` }, { status: 201 });
    }
    await request.arrayBuffer();
    return new Response(ANSWER, { status: 202, headers: HEADERS });
  },
}, { host: "127.0.0.1", port: 0 });
process.stdout.write(`listening http://127.0.0.1:${listener.port}\n`);
process.on("SIGTERM", () => process.exit(0));
