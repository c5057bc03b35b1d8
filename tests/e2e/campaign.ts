/**
 * The full grid of digits.test.ts, too long for the gate: slots {1, 3, 8, 64} × frame {1, 7, 10, 256} on
 * every place. Prints a Markdown page; `npm run campaign` writes it to docs/campaigns/digits_grid.md.
 */
import process from "node:process";
import { readCommit } from "../../src/runtime/mod.ts";
import { accuracy, DIGITS_NIR, onePassOutputs } from "../support/digits.ts";
import { startServer } from "../support/server_process.ts";
import { PLACES, serveDigits } from "./digits_run.ts";

const SLOTS = [1, 3, 8, 64];
const FRAMES = [1, 7, 10, 256];

const wanted = await onePassOutputs();
const { n, correct } = accuracy();
const lines: string[] = [];
let failures = 0;
for (const [place, [runtime, device]] of Object.entries(PLACES)) {
  for (const slots of SLOTS) {
    for (const frame of FRAMES) {
      const begin = performance.now();
      let verdict = "equal";
      try {
        const size = ["--slots", String(slots), "--frame", String(frame)];
        await using server = await startServer(runtime, [DIGITS_NIR, "--device", device, ...size]);
        const result = await serveDigits(server.url, wanted, slots * 1000 + frame);
        if (result.correct !== correct || result.sameScores !== n) verdict = "DIFFERS";
      } catch (error) {
        verdict = `FAILED: ${error instanceof Error ? error.message : String(error)}`;
      }
      if (verdict !== "equal") failures++;
      const seconds = ((performance.now() - begin) / 1000).toFixed(1);
      lines.push(`| ${place} | ${slots} | ${frame} | ${verdict} | ${seconds} |`);
      process.stderr.write(`${lines.at(-1)}\n`);
    }
  }
}
const total = lines.length;
console.log(`# The digits test set over the full grid

${new Date().toISOString().slice(0, 10)}, commit ${await readCommit()}, \`npm run campaign\`:
${
  total - failures
} of ${total} runs equal. Each serves all ${n} recordings over HTTP to 8 concurrent clients in chunks of random
lengths; *equal* means that every output byte is that of the reference's single pass and that the
classes (${correct} of ${n} right) are the Python framework's.

| place | slots | frame | outputs | seconds |
|---|---|---|---|---|
${lines.join("\n")}`);
process.exit(failures === 0 ? 0 : 1);
