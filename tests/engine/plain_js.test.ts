/** The baselines of the benches are honest only if they compute the same: byte for byte the twin. */
import { expect, test } from "bun:test";
import { convolutional, MODELS, Random, spikes } from "../../bench/models.ts";
import { PlainNetwork } from "../../bench/plain_js.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { assertSameBits } from "../contract/cases.ts";

const STEPS = 4;

for (const [name, model] of Object.entries({ ...MODELS, convolutional: () => convolutional() })) {
  test(`plain loops give the twin's bytes [${name}]`, async () => {
    const plan = await model();
    const twin = new ReferenceExecutor(plan, { slots: 2, frame: STEPS });
    const event = new PlainNetwork(plan, 2);
    const dense = new PlainNetwork(plan, 2, "dense");
    const random = new Random(5);
    let fired = 0;
    for (const round of [0, 1]) {
      for (const slot of [1, 0]) {
        const input = spikes(random, STEPS * plan.sampleSize, 0.4);
        const row = { slot, steps: STEPS, fresh: round === 0, input };
        const [result] = await twin.step([row]);
        assertSameBits(event.frame(slot, input, STEPS), result!.output, `events, round ${round}`);
        assertSameBits(dense.frame(slot, input, STEPS), result!.output, `dense, round ${round}`);
        fired += result!.output.filter((x) => x !== 0).length;
      }
    }
    expect(fired).toBeGreaterThan(0);
  });
}
