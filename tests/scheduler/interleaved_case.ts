/** The reference case `server_interleaved`, when cases.json lies beside the repository. */
import assert from "node:assert/strict";
import type { Future } from "../../src/scheduler/future.ts";
import { type Outputs, type Session, SlotScheduler } from "../../src/scheduler/slot_scheduler.ts";
import { assertClose, flat, type Nested, readJson, shared } from "../conformance/run.ts";
import type { ContractCase } from "../contract/cases.ts";
import { mlp } from "./server_cases.ts";

type Operation = [string, ...unknown[]];

interface Interleaved {
  readonly id: string;
  readonly frames: Record<string, Nested[]>;
  readonly operations: Operation[];
  readonly expected: { readonly outputs: Record<string, Nested[]> };
}

export function interleavedCases(): ContractCase[] {
  const path = shared("research/snn/cases.json");
  if (path === null) return [];
  const { cases } = readJson<{ cases: Interleaved[] }>(path);
  const data = cases.find(({ id }) => id === "server_interleaved")!;
  return [{
    name: "server_interleaved: 3.3 sessions share slots, each as if alone",
    run: async (make) => {
      const { executor } = await make(mlp(), { slots: 2, frame: 2 });
      const server = new SlotScheduler(executor);
      const sessions: Record<string, Session> = {};
      const futures: Record<string, Future<Outputs>> = {};
      for (const [what, ...args] of data.operations) {
        const [who, index] = args as [string, number];
        const key = `${who}${index}`;
        if (what === "open") {
          const wanted = args[1] as { session?: number; slot?: number; error?: string };
          if (wanted.error !== undefined) {
            assert.throws(() => server.open(), { message: wanted.error });
          } else {
            const { id, slot } = sessions[who] = server.open();
            assert.deepEqual([id, slot], [wanted.session, wanted.slot]);
          }
        } else if (what === "submit") {
          futures[key] = server.submit(sessions[who]!, flat(data.frames[who]![index]!));
        } else if (what === "run") {
          for (const count of (args[0] as { steps: number[] }).steps) {
            assert.equal(await server.step(), count);
          }
          assert.equal(await server.step(), 0);
        } else if (what === "step") {
          assert.equal(await server.step(), (args[0] as { returns: number }).returns);
        } else if (what === "close") server.close(sessions[who]!);
        else {
          assert.equal(what, "expect");
          const { data: output } = await futures[key]!.result();
          assertClose(output, flat(data.expected.outputs[who]![index]!), key);
        }
      }
      await executor.close();
    },
  }];
}
