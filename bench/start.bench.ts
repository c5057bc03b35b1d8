/**
 * Question: what does it take to be there? Milliseconds from the start of the process to the line
 * `listening`, with the executor in a thread of its own and without; and memory a session: the slope of
 * the resident set over sessions that are opened and have run one frame. The floor is a server of the
 * same runtime with nothing in it. Interleaved. Moves with: imports, the golden frame, what a session
 * holds.
 */
import { LoadClient, runtime, ServerChild } from "./http_load.ts";
import { keep, quantile, round, runtimeName } from "./support.ts";

const REPEATS = 5;
const SESSIONS = [250, 500, 750, 1000];
const MODEL = new URL("../examples/digits/digits.nir", import.meta.url).pathname;

const starts: readonly (readonly [name: string, () => Promise<ServerChild>])[] = [
  ["floor: an empty server", () => ServerChild.start("bench/bare_http_child.ts", [])],
  ["auto, own thread", () => ServerChild.serve([MODEL])],
  ["auto, no worker", () => ServerChild.serve([MODEL, "--no-worker"])],
  ["cpu, own thread", () => ServerChild.serve([MODEL, "--device", "cpu"])],
  ["cpu, no worker", () => ServerChild.serve([MODEL, "--device", "cpu", "--no-worker"])],
];
const times = starts.map(() => [] as number[]);
for (let repeat = 0; repeat < REPEATS; repeat++) {
  for (const [i, [, start]] of starts.entries()) {
    const server = await start();
    times[i]!.push(server.readyMs);
    await server.stop();
  }
}

const slots = ["--slots", String(SESSIONS.at(-1)), "--device", "cpu"];
const server = await ServerChild.serve([MODEL, ...slots]);
const client = new LoadClient();
const resident: number[] = [];
let open = 0;
for (const sessions of SESSIONS) {
  await client.open(server, sessions - open);
  open = sessions;
  await client.run({ seconds: 2 });
  resident.push(await server.residentBytes());
}
client.close();
await server.stop();
const slope = (resident.at(-1)! - resident[0]!) / (SESSIONS.at(-1)! - SESSIONS[0]!);

await keep(`start.${runtime}`, {
  bench: "start",
  setting: { model: "digits", repeats: REPEATS, runtime: runtimeName },
  rows: [
    ...starts.map(([name], i) => ({
      what: `ms to listening, ${name}`,
      value: Math.round(quantile(times[i]!, 0.5)),
      "p10–p90": `${Math.round(quantile(times[i]!, 0.1))}–${Math.round(quantile(times[i]!, 0.9))}`,
    })),
    ...SESSIONS.map((sessions, i) => ({
      what: `resident MiB, ${sessions} sessions that stream`,
      value: round(resident[i]! / 2 ** 20),
    })),
    { what: "KiB a session, slope", value: round(slope / 1024) },
  ],
});
