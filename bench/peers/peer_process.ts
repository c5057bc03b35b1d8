/**
 * A peer in Python as a contender (bench/peers/peer.py has the other end of the pipe). One request is
 * answered before the next is asked.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface PeerFacts {
  readonly versions: Readonly<Record<string, string>>;
  readonly threads: number;
}

export class PeerProcess {
  readonly name: string;
  readonly facts: PeerFacts;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  readonly #said: string[];

  private constructor(
    name: string,
    child: ChildProcessWithoutNullStreams,
    lines: AsyncIterator<string>,
    said: string[],
    facts: PeerFacts,
  ) {
    this.name = name;
    this.facts = facts;
    this.#child = child;
    this.#lines = lines;
    this.#said = said;
  }

  /** Throws what the script said when it cannot run, e.g. which package is missing. */
  static async start(
    name: string,
    python: string,
    script: string,
    folder: string,
  ): Promise<PeerProcess> {
    const path = fileURLToPath(new URL(script, import.meta.url));
    const child = spawn(python, [path, folder]);
    const said: string[] = [];
    child.on("error", ({ message }) => said.push(message));
    child.stdin.on("error", () => {}); // it has ended; the next answer says so
    child.stderr.setEncoding("utf8").on("data", (text: string) => said.push(text));
    const lines = (createInterface(child.stdout) as Interface)[Symbol.asyncIterator]();
    const facts = await answer<PeerFacts>(lines, said);
    return new PeerProcess(name, child, lines, said, facts);
  }

  async ask<Answer>(request: Readonly<Record<string, unknown>>): Promise<Answer> {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    return await answer<Answer>(this.#lines, this.#said);
  }

  /** Ends with its standard input. */
  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.stdin.end();
    await ended;
  }
}

async function answer<Answer>(
  lines: AsyncIterator<string>,
  said: readonly string[],
): Promise<Answer> {
  const { value, done } = await lines.next();
  if (!done) return JSON.parse(value as string) as Answer;
  await new Promise((resolve) => setTimeout(resolve, 50)); // its last words may come after its last line
  throw new Error(said.join("").trim().split("\n").at(-1) || "it ended without a word");
}
