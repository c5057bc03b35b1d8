/** The other end of remote_executor.ts: answers for an executor, one request after another. */
import { GanglionError } from "../base/errors.ts";
import type { Executor } from "../engine/executor.ts";
import {
  type Failure,
  type FromThread,
  type Opening,
  packResults,
  packStates,
  type Request,
  type ToThread,
  unpackBatch,
} from "./protocol.ts";

export interface Port {
  post(message: FromThread, transfer?: readonly ArrayBufferLike[]): void;
  listen(onMessage: (message: ToThread) => void): void;
}

/**
 * `open` makes the executor from the opening message; what it says goes to the server. An answer leaves
 * before the next step is begun, which may keep the thread busy.
 */
export function serveExecutor(
  port: Port,
  open: (opening: Opening, say: (line: string) => void) => Promise<Executor>,
): void {
  let opened: Promise<Executor> | null = null;
  let last: Promise<void> = Promise.resolve();
  let failed: { readonly series: number; readonly error: unknown } | null = null;

  async function answer(request: Request & { readonly id: number }): Promise<void> {
    const { id } = request;
    try {
      const executor = await opened!;
      // Asked for before anybody knew that one before it would fail.
      if (request.type === "step" && failed?.series === request.series) throw failed.error;
      const [result, transfer] = await ask(executor, request);
      port.post({ type: "done", id, result }, transfer);
    } catch (error) {
      if (request.type === "step") failed = { series: request.series, error };
      port.post({ type: "error", id, failure: failureOf(error) });
    }
  }

  port.listen((message) => {
    // A step that does not end must not keep the executor from being closed.
    if (message.type === "close") return void answer(message);
    if (message.type !== "open") {
      last = last.then(() => answer(message));
      return;
    }
    opened = open(message, (line) => port.post({ type: "say", line }));
    opened.then(({ info, slots, lost }) => {
      port.post({ type: "ready", info, slots });
      void lost.then(({ reason }) => port.post({ type: "lost", reason }));
    }).catch((error: unknown) => port.post({ type: "failed", failure: failureOf(error) }));
  });
}

/** The answer, and what of it moves instead of being cloned. */
async function ask(
  executor: Executor,
  request: Request,
): Promise<readonly [unknown, readonly ArrayBuffer[]]> {
  const { plan } = executor;
  switch (request.type) {
    case "step": {
      const results = await executor.step(unpackBatch(request, plan.sampleSize));
      const result = packResults(results, request, executor.phases);
      return [result, [result.outputs.buffer, result.block]];
    }
    case "read": {
      const states = packStates(plan, await executor.readStates(request.slots));
      return [states, [states]];
    }
    case "write":
      return [await executor.writeState(request.slot, request.state), []];
    case "close":
      return [await executor.close(), []];
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof GanglionError) {
    return { message: error.message, code: error.code, facts: error.facts };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { message, code: null, facts: {} };
}
