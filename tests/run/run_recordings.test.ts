/** Many recordings through a few slots: each as if it ran alone, whatever the slots and frames. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { type RecordingPart, runRecordings } from "../../src/run_recordings.ts";
import { StreamServer } from "../../src/stream_server.ts";
import { compilePlan, graphOf } from "../../src/model/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";

const plan = compilePlan(graphOf({
  nodes: {
    in: { type: "Input", shape: [2] },
    lif: { type: "LIF", tau: 0.01, r: 20, v_leak: 0, v_threshold: [1, 2] },
    out: { type: "Output", shape: [2] },
  },
  edges: [["in", "lif"], ["lif", "lif"], ["lif", "out"]],
}));

async function alone(input: Float32Array): Promise<number[]> {
  if (input.length === 0) return [];
  const executor = new ReferenceExecutor(plan, { slots: 1, frame: 64 });
  const row = { slot: 0, steps: input.length / 2, fresh: true, input };
  return [...(await executor.step([row]))[0]!.output];
}

test("recordings of any lengths, in any slots and frames", async () => {
  const recording = fc.array(fc.constantFrom(0, 1, 4, 9), { maxLength: 40 })
    .map((list) => Float32Array.from(list.slice(0, list.length - list.length % 2)));
  const all = fc.array(recording, { maxLength: 9 });
  await fc.assert(
    fc.asyncProperty(
      all,
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 9 }),
      async (inputs, slots, frame) => {
        const options = { slots, frame, sampleShape: [2], partialFrames: true } as const;
        await using server = await StreamServer.create(plan, { ...options, device: "cpu" });
        const got: number[][] = inputs.map(() => []);
        const open = new Set<number>();
        let mostOpen = 0;
        await runRecordings(server, {
          count: inputs.length,
          read: (index) => {
            if (inputs[index]!.length > 0) open.add(index);
            mostOpen = Math.max(mostOpen, open.size);
            return Promise.resolve(inputs[index]!);
          },
        }, {
          onPart({ recording, at, outputs, last }: RecordingPart) {
            expect(at * 2).toBe(got[recording]!.length);
            got[recording]!.push(...outputs.data);
            if (last) open.delete(recording);
          },
        });
        expect(got).toEqual(await Promise.all(inputs.map(alone)));
        expect(mostOpen).toBeLessThanOrEqual(slots);
        expect(server.slotsFree).toBe(slots);
      },
    ),
    { numRuns: 40 },
  );
});
