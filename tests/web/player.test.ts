/** The dashboard's own client against the real application, where answers get lost on their way back. */
import { afterEach, expect, mock, test } from "bun:test";
import { makeWorld, type World } from "../http/support/world.ts";

// The server gives pages the package under this name; no stream is read here.
void mock.module("../../web/eventsource_parser.js", () => ({ createParser: () => null }));
const { Player } = await import("../../web/player.js");

const real = globalThis.fetch;

afterEach(() => {
  globalThis.fetch = real;
});

/** What the page has around it: requests that may be refused after they were carried out. */
function surround(world: World, loses: (request: number) => boolean): void {
  let requests = 0;
  const page = globalThis as unknown as Record<string, unknown>;
  page["sessionStorage"] = { getItem: () => null, setItem: () => undefined };
  page["addEventListener"] ??= () => undefined;
  globalThis.fetch = (async (path: string, init?: RequestInit) => {
    const { cache: _, ...rest } = init ?? {};
    const answer = await world.send(path, rest);
    await answer.clone().arrayBuffer();
    if (path.endsWith("/chunks") && loses(requests++)) throw new TypeError("the network");
    return answer;
  }) as typeof fetch;
}

/** Plays chunks of 400 steps; how many steps the server has run, and what the player heard of. */
async function play(
  world: World,
  { chunks, changesInput = false }: { chunks: number; changesInput?: boolean },
): Promise<[done: number, heard: number]> {
  const size = world.plan.sampleSize;
  let drawn = 0;
  let heard = 0;
  const player = new Player({
    options: () => ({}),
    draw: (steps) => {
      if (drawn === chunks) return Promise.resolve(null);
      drawn++;
      return Promise.resolve({
        steps,
        values: new Float32Array(steps * size).fill(drawn),
        events: undefined as never,
      });
    },
    takeReset: () => false,
    onSession: () => Promise.resolve(),
    onSent: (_, { steps }) => void (heard += steps),
    say: (text) => {
      // The person picks other input while the server is away.
      if (changesInput && text !== "") player.forget();
    },
    unsay: () => undefined,
    onChange: () => undefined,
  });
  player.stepsASecond = 4000;
  await player.start();
  const [session] = world.service.sessions();
  while (!session!.isQuiet) await new Promise((resolve) => setTimeout(resolve, 1));
  return [session!.stepsDone, heard];
}

test("a chunk whose answer was lost is sent again and plays once", async () => {
  const world = makeWorld({ limits: { queueStepsMax: 4000 } });
  surround(world, (request) => request === 0);
  expect(await play(world, { chunks: 3 })).toEqual([1200, 1200]);
  world.service.close();
}, 20_000);

test("other input after a lost answer follows what was taken", async () => {
  const world = makeWorld({ limits: { queueStepsMax: 4000 } });
  surround(world, (request) => request === 0);
  // The first was taken and never heard of.
  expect(await play(world, { chunks: 2, changesInput: true })).toEqual([800, 400]);
  world.service.close();
}, 20_000);
