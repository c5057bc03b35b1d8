/** The other end of remote_executor.ts: answers for an executor, one question after another. */
import { GanglionError } from "../base/errors.ts";
import type { Executor } from "../engine/executor.ts";
import {
  type Failure,
  type FromThread,
  type Opening,
  packResults,
  type Request,
  type ToThread,
  unpackBatch,
} from "./protocol.ts";

export interface Port {
  post(message: FromThread, transfer?: readonly ArrayBufferLike[]): void;
  listen(onMessage: (message: ToThread) => void): void;
}

/** `open` makes the executor from the opening message; what it says goes to the server. */
export function serveExecutor(
  port: Port,
  open: (opening: Opening, say: (line: string) => void) => Promise<Executor>,
): void {
  let executor: Promise<Executor> | null = null;
  port.listen((message) => {
    if (message.type === "open") {
      executor = open(message, (line) => port.post({ type: "say", line }));
      executor.then(({ info, slots, lost }) => {
        port.post({ type: "ready", info, slots });
        void lost.then(({ reason }) => port.post({ type: "lost", reason }));
      }).catch((error: unknown) => port.post({ type: "failed", failure: failureOf(error) }));
      return;
    }
    const { id } = message;
    void answer(executor!, message).then(
      ({ result, transfer }) => port.post({ type: "done", id, result }, transfer),
      (error: unknown) => port.post({ type: "error", id, failure: failureOf(error) }),
    );
  });
}

async function answer(
  opened: Promise<Executor>,
  request: Request,
): Promise<{ result: unknown; transfer?: readonly ArrayBufferLike[] }> {
  const executor = await opened;
  switch (request.type) {
    case "step": {
      const results = await executor.step(unpackBatch(request, executor.plan.sampleSize));
      const result = packResults(results, request, executor.phases);
      return { result, transfer: [result.outputs.buffer, result.block] };
    }
    case "read":
      return { result: await executor.readState(request.slot) };
    case "write":
      return { result: await executor.writeState(request.slot, request.state) };
    case "close":
      return { result: await executor.close() };
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof GanglionError) {
    return { message: error.message, code: error.code, facts: error.facts };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { message, code: null, facts: {} };
}
