/**
 * Threads on both runtimes. An error that nobody caught in a worker ends the whole process on Deno
 * unless it is prevented, and a worker that only dies says nothing on Bun but `close`.
 */

/** A thread goes down behind our back, without a word when it is done; this is long enough. */
const DOWN_MS = 100;
let lastEndedAt = -Infinity;

interface Listeners<In> {
  readonly onMessage: (message: In) => void;
  readonly onDeath: (reason: string) => void;
}

export interface WorkerThread<Out, In> {
  post(message: Out, transfer?: readonly ArrayBufferLike[]): void;
  listen(onMessage: Listeners<In>["onMessage"], onDeath: Listeners<In>["onDeath"]): void;
  terminate(): void;
}

/** Starts a module of ours in a thread of its own. */
export function startThread<Out, In>(program: URL): WorkerThread<Out, In> {
  const worker = new Worker(program, { type: "module" });
  let ended = false;
  return {
    post: (message, transfer = []) => worker.postMessage(message, [...transfer] as ArrayBuffer[]),
    listen(onMessage, onDeath) {
      const die = (reason: string): void => {
        if (ended) return;
        ended = true;
        worker.terminate();
        onDeath(reason);
      };
      worker.onmessage = ({ data }) => onMessage(data as In);
      worker.onerror = (event) => {
        event.preventDefault();
        die(event.message || "an error in the thread");
      };
      worker.addEventListener("close", () => die("the thread has stopped"));
      worker.onmessageerror = () => die("a message could not be read");
    },
    terminate() {
      ended = true;
      worker.terminate();
      lastEndedAt = performance.now();
    },
  };
}

/**
 * Resolves when threads that were ended have had time to go. A process that ends while one takes its
 * driver down may crash after all its work is done (seen on Deno with llvmpipe: exit code 139).
 */
export async function threadsDown(): Promise<void> {
  const rest = lastEndedAt + DOWN_MS - performance.now();
  if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
}

/** The thread's own end, inside it. */
export function ownPort<Out, In>(): {
  post(message: Out, transfer?: readonly ArrayBufferLike[]): void;
  listen(onMessage: (message: In) => void): void;
} {
  const scope = globalThis as unknown as {
    postMessage(message: unknown, transfer: unknown[]): void;
    onmessage: ((event: { data: unknown }) => void) | null;
  };
  return {
    post: (message, transfer = []) => scope.postMessage(message, [...transfer]),
    listen: (onMessage) => {
      scope.onmessage = ({ data }) => onMessage(data as In);
    },
  };
}
