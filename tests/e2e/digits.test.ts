/**
 * The main job on real input: a trained model from a NIR file, served over HTTP by real servers on Deno
 * (lavapipe), Bun (SwiftShader) and the CPU executor, to 8 concurrent sessions in chunks of random
 * lengths. The accuracy is the Python framework's, every output byte is the reference's single pass.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { accuracy, DIGITS_NIR, onePassOutputs } from "../support/digits.ts";
import { startServer } from "../support/server_process.ts";
import { PLACES, serveDigits } from "./digits_run.ts";

const TEST_MS = 120_000;
const SIZES = [[1, 10], [8, 7], [64, 1]] as const;

let wanted: Float32Array[] = [];

beforeAll(async () => {
  wanted = await onePassOutputs();
}, TEST_MS);

describe("the digits test set", () => {
  for (const [place, [runtime, device]] of Object.entries(PLACES)) {
    for (const [slots, frame] of SIZES) {
      test(`${place}: ${slots} slots, frame ${frame}`, async () => {
        const size = ["--slots", String(slots), "--frame", String(frame)];
        await using server = await startServer(runtime, [DIGITS_NIR, "--device", device, ...size]);
        const result = await serveDigits(server.url, wanted, slots);
        const { n, correct } = accuracy();
        expect(result).toEqual({ correct, samePredictions: n, sameScores: n });
        expect(correct / n).toBeGreaterThanOrEqual(0.95);
        const models = await (await fetch(`${server.url}/v1/models/digits`)).json();
        expect(models).toMatchObject({ numerics: "exact-1", slots, frame });
        expect(await server.stop()).toBe(0);
      }, TEST_MS);
    }
  }
});
