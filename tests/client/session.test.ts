/** The client against the real server in memory, one promise at a time. */
import { describe, expect, test } from "bun:test";
import { Ganglion, GanglionError, type Output, type Session } from "../../client/mod.ts";
import type { Limits } from "../../src/base/limits.ts";
import { onePass } from "../http/support/world.ts";
import { Random } from "../support/plans.ts";
import { type Fault, FaultyNetwork } from "./faulty_network.ts";

const SAMPLE = 6;
const stream = (seed: number, steps: number) => new Random(seed).floats(steps * SAMPLE);
const joined = (...parts: Float32Array[]) => Float32Array.from(parts.flatMap((each) => [...each]));

function setUp(limits: Partial<Limits> = {}, faults: Fault[] = []) {
  const network = new FaultyNetwork(faults, limits);
  network.start();
  const { fetch, clock } = network;
  const options = { fetch, clock, random: () => 0.5 };
  const client = new Ganglion("http://ganglion.test/", options);
  /** Runs the work while time passes. */
  const run = <T>(work: Promise<T>) => network.until(work);
  return { network, client, run, options };
}

/** Reads up to a step, and leaves. */
async function readTo(session: Session, step: number, signal?: AbortSignal): Promise<Output[]> {
  const outputs: Output[] = [];
  for await (const output of session.outputs({ signal })) {
    outputs.push(output);
    if (output.startStep + output.steps >= step) break;
  }
  return outputs;
}

const valuesOf = (outputs: readonly Output[]) => outputs.flatMap(({ data }) => [...data]);

/** The error that the work ends with. */
async function errorOf(work: Promise<unknown>): Promise<GanglionError> {
  const error = await work.then(() => null, (thrown: unknown) => thrown);
  if (!(error instanceof GanglionError)) throw new Error(`no GanglionError but ${error}`);
  return error;
}

describe("chunks and outputs", () => {
  test("a reader that left goes on behind the last output it had", async () => {
    const { client, run, network } = setUp();
    const session = await run(client.open());
    const values = stream(1, 21);
    await run(session.send(values));
    const parts = [await run(readTo(session, 4)), await run(readTo(session, 9))];
    const rest = await run(readTo(session, 21));
    expect([...parts, rest].map((each) => each[0]!.startStep)).toEqual([0, 4, 12]);
    const wanted = await onePass(network.world.plan, values);
    expect(valuesOf([...parts.flat(), ...rest])).toEqual([...wanted]);

    // Another process with the id of an output.
    const other = await run(client.attach(session.id));
    const after = parts[1]!.at(-1)!.id;
    expect(after).toBe("1-12");
    for await (const output of other.outputs({ after })) {
      expect(output.startStep).toBe(12);
      break;
    }
    expect((await errorOf(run(other.outputs({ after: "x" }).next()))).code).toBe("bad_id");
  });

  test("run gives the outputs of its steps, also when the answer was lost, with what is recorded", async () => {
    const lost: Fault[] = [
      { kind: "none", size: 9e9 },
      { kind: "lost answer", size: 0 },
      { kind: "silent", size: 0 },
    ];
    const { client, run, network } = setUp({}, lost);
    const values = stream(2, 9);
    const session = await run(client.open());
    const plain = await run(session.run(values));
    const wanted = await onePass(network.world.plan, values);
    expect(plain).toMatchObject({ seq: 0, startStep: 0, steps: 9, shape: [9, 3], id: "1-9" });
    expect([...plain.data]).toEqual([...wanted]);

    const recording = await run(client.open({ record: ["lif.v"] }, { encoding: "bits" }));
    const told = await run(recording.run(values));
    const [read] = await run(readTo(recording, 4));
    expect([...told.data]).toEqual([...wanted]);
    expect(told.probes["lif.v"]!.length).toBe(27);
    expect([...read!.probes["lif.v"]!]).toEqual([...told.probes["lif.v"]!.subarray(0, 12)]);
  });

  test("what was sent and taken is sent again when the session is rolled back, though nobody sends", async () => {
    const { client, run, network } = setUp({ checkpointMs: 100_000 });
    const notices: string[] = [];
    const session = await run(
      client.open({}, { onNotice: ({ kind }) => void notices.push(kind) }),
    );
    await network.keep();
    const [first, second] = [stream(3, 10), stream(4, 11)];
    await run(session.send(first));
    await run(session.send(second));
    const early = await run(readTo(session, 12));
    await network.kill();
    const late = await run(readTo(session, 21));
    expect(late[0]!.startStep).toBe(early.at(-1)!.startStep + early.at(-1)!.steps);
    expect(late[0]!.epoch).toBe(2);
    expect(notices).toContain("rolled_back");
    expect(network.replays).toBe(2);
    const wanted = await onePass(network.plan, joined(first, second));
    expect(valuesOf([...early, ...late])).toEqual([...wanted]);
  });

  test("a session that the server lost before it was kept begins again, where all is in the ring", async () => {
    const { client, run, network } = setUp({ checkpointMs: 100_000 });
    const [first, second, third] = [stream(3, 10), stream(4, 11), stream(5, 6)];
    const session = await run(client.open());
    const id = session.id;
    await run(session.send(first));
    const early = await run(readTo(session, 6));
    await run(session.send(second));
    await network.kill();
    const late = await run(readTo(session, 21));
    expect(session.id).not.toBe(id);
    await network.kill();
    const told = await run(session.run(third)); // heard of by who sends
    const wanted = [...await onePass(network.plan, joined(first, second, third))];
    expect(valuesOf([...early, ...late])).toEqual(wanted.slice(0, 21 * 3));
    expect([...told.data]).toEqual(wanted.slice(21 * 3));
    await run(session.reset());
    await network.kill();
    // What came before the reset is not in the ring.
    expect((await run(session.run(third))).startStep).toBe(27);
    network.forget();
    expect((await errorOf(run(session.run(third)))).code).toBe("session_unknown");
  });

  test("a replay ring that is too small says so", async () => {
    const { client, run, network } = setUp({ checkpointMs: 100_000 });
    const session = await run(client.open({}, { replayBytesMax: 300 }));
    await network.keep();
    for (const seed of [1, 2, 3]) await run(session.send(stream(seed, 10)));
    await network.kill();
    const error = await errorOf(run(session.send(stream(4, 10))));
    expect([error.code, error.facts]).toEqual(["replay_lost", {
      next_chunk_seq: 0,
      replay_from: 2,
    }]);
    expect((await errorOf(session.send(stream(4, 1)))).code).toBe("replay_lost");
  });

  test("outputs that the ring dropped are missed by name, and reading goes on behind them", async () => {
    const { client, run } = setUp({ ringBytesMax: 1000 });
    const session = await run(client.open());
    await run(session.run(stream(5, 60)));
    const error = await errorOf(run(readTo(session, 60)));
    expect(error.code).toBe("outputs_missing");
    expect(error.number("from_step")).toBe(0);
    const rest = await run(readTo(session, 60));
    expect(rest[0]!.startStep).toBe(error.number("to_step"));
  });

  test("a chunk that was given up: told once, then both directions go on", async () => {
    const { client, run, network } = setUp();
    const session = await run(client.open());
    const { executor, plan } = network.world;
    const [good, bad] = [stream(1, 4), stream(2, 8)];
    await run(session.run(good));
    executor.fails = ([row]) => row!.input[0] === bad[4 * SAMPLE];
    await run(session.send(bad));
    const reading = await errorOf(run(readTo(session, 12)));
    expect([reading.code, reading.facts]).toEqual(["step_failed", { seq: 1, at_step: 8 }]);
    executor.fails = () => false;
    // The rest of it, under the number that the server expects.
    const sent = await run(session.send(bad.slice(4 * SAMPLE)));
    expect([sent.seq, sent.startStep]).toEqual([1, 8]);
    const outputs = await run(readTo(session, 12));
    const wanted = (await onePass(plan, joined(good, bad))).slice(8 * 3);
    expect(valuesOf(outputs)).toEqual([...wanted]);

    // Heard of by who sends.
    executor.fails = () => true;
    await run(session.send(good));
    await run(new Promise<void>((resolve) => void network.clock.after(2_000, resolve)));
    const sending = await errorOf(run(session.send(bad)));
    expect([sending.code, sending.number("seq")]).toEqual(["step_failed", 2]);
    executor.fails = () => false;
    await run(session.send(good));
    expect((await errorOf(run(readTo(session, 16)))).code).toBe("step_failed");
    expect((await run(readTo(session, 16)))[0]).toMatchObject({ seq: 2, startStep: 12 });

    // Old failures do no harm to who comes later.
    const late = await run(client.attach(session.id));
    const old = [await errorOf(run(readTo(late, 99))), await errorOf(run(readTo(late, 99)))];
    expect(old.map(({ code }) => code)).toEqual(["step_failed", "step_failed"]);
    expect((await run(late.send(good))).seq).toBe(3);
  });

  test("a chunk that is refused uses up no number, and those behind it go on", async () => {
    const { client, run } = setUp();
    const session = await run(client.open());
    const bad = stream(1, 2);
    bad[7] = NaN;
    const sends = [stream(1, 1), bad, stream(2, 2)].map((values) => session.send(values));
    const refused = errorOf(sends[1]!);
    expect((await run(sends[2]!)).seq).toBe(1);
    const { code, status, facts, action, requestId } = await refused;
    expect([code, status, facts]).toEqual(["non_finite", 422, { step: 1, index: 1 }]);
    expect([action, typeof requestId]).toEqual([
      "Replace the value at the position given",
      "string",
    ]);
    expect((await errorOf(session.send(new Float32Array(7)))).code).toBe("bad_chunk");
    expect((await errorOf(session.send(new Float32Array(0)))).code).toBe("bad_chunk");
  });
});

describe("states", () => {
  test("snapshot, restore, fork, reset, park: each goes on as it must", async () => {
    const { client, run, network } = setUp();
    const { plan } = network.world;
    const [first, second] = [stream(1, 8), stream(2, 8)];
    const whole = await onePass(plan, joined(first, second));
    const [early, late] = [[...whole.slice(0, 24)], [...whole.slice(24)]];
    const session = await run(client.open());
    await run(session.run(first));
    const kept = await run(session.snapshot());
    const fork = await run(session.fork());
    expect([...(await run(fork.run(second))).data]).toEqual(late);
    expect(valuesOf(await run(readTo(fork, 16)))).toEqual(late);

    await run(session.park());
    expect(session.view.state).toBe("parked");
    expect([...(await run(session.run(second))).data]).toEqual(late);
    // Outputs that were not read are of a state that was replaced.
    expect((await run(session.restore(kept))).steps_done).toBe(8);
    expect([...(await run(session.run(second))).data]).toEqual(late);
    const read = await run(readTo(session, 16));
    expect([valuesOf(read), read[0]!.startStep]).toEqual([late, 8]);

    await run(session.reset());
    expect([...(await run(session.run(first))).data]).toEqual(early);
    expect((await run(readTo(session, 24)))[0]!.startStep).toBe(16);

    const opened = await run(client.open({ state: kept }));
    await run(opened.send(second));
    expect(valuesOf(await run(readTo(opened, 16)))).toEqual(late);
    await run(Promise.all([fork.close(), opened.close()]));
    kept[kept.length - 1]! ^= 1;
    const before = (await client.sessions()).length;
    expect((await errorOf(run(client.open({ state: kept })))).code).toBe("snapshot_refused");
    expect((await client.sessions()).length).toBe(before);
  });

  test("closing ends its readers; what is sent afterwards is refused here", async () => {
    const { client, run } = setUp();
    const session = await run(client.open());
    await run(session.send(stream(1, 4)));
    const reading = readTo(session, 100);
    await run(readTo(await run(client.attach(session.id)), 4));
    await run(session.close());
    expect((await run(reading)).length).toBe(1);
    expect((await errorOf(session.send(stream(1, 1)))).code).toBe("session_gone");
    await run(session.close());
    expect((await errorOf(run(client.attach(session.id)))).facts).toMatchObject({
      reason: "closed",
    });
  });

  test("a session that ended by itself is an error with the reason", async () => {
    const { client, run } = setUp();
    const session = await run(client.open({ ttl_s: 1 }));
    const error = await errorOf(run(readTo(session, 1)));
    expect([error.code, error.facts]).toEqual(["session_gone", { reason: "idle" }]);
  });

  test("models, limits and sessions are those of the server", async () => {
    const { client, run } = setUp();
    const [model] = await run(client.models());
    expect(await run(client.model(model!.id))).toEqual(model!);
    expect((await run(client.limits())).frame).toBe(10);
    const session = await run(client.open());
    expect((await run(client.sessions())).map(({ id }) => id)).toEqual([session.id]);
    expect((await errorOf(run(client.model("none")))).code).toBe("model_unknown");
  });
});

describe("giving up", () => {
  test("aborting a send withdraws what is not on its way; reading ends with the reason", async () => {
    const { client, run } = setUp({ queueStepsMax: 8 });
    const session = await run(client.open());
    const [stop, leave] = [new AbortController(), new AbortController()];
    const sends = [1, 2, 3].map((seed) =>
      session.send(stream(seed, 4), seed === 3 ? stop : {}).catch((error: unknown) => error)
    );
    stop.abort(new Error("enough"));
    expect(await sends[2]!).toEqual(new Error("enough"));
    await run(Promise.all(sends));
    expect((await run(session.describe())).next_chunk_seq).toBe(2);
    const reading = readTo(session, 100, leave.signal).catch((error: unknown) => error);
    leave.abort(new Error("away"));
    expect(await run(reading)).toEqual(new Error("away"));
    const late = session.send(stream(1, 1), stop).catch((error: unknown) => error);
    expect(await late).toEqual(new Error("enough"));
    // Detached, the session lives.
    session.detach();
    expect((await errorOf(session.send(stream(1, 1)))).code).toBe("session_gone");
    const again = await run(client.attach(session.id));
    expect((await run(readTo(again, 8))).length).toBe(2);
  });

  test("without any success for retryForMs: unreachable, and why", async () => {
    const { network, options, run } = setUp();
    const fetch = () => Promise.reject(new TypeError("connection refused"));
    const client = new Ganglion("http://nowhere.test", { ...options, fetch, retryForMs: 3000 });
    const before = network.clock.now();
    const error = await errorOf(run(client.models()));
    expect(error.code).toBe("unreachable");
    expect(error.message).toContain("connection refused");
    expect(network.clock.now() - before).toBeGreaterThanOrEqual(3000);
    expect(network.clock.now() - before).toBeLessThan(9000);
    expect(network.clock.timers).toBe(0);
  });

  test("keys are sent, and a false one is no reason to try again", async () => {
    const { network, options, run } = setUp();
    const asked: (string | null)[] = [];
    const fetch = (_: string, init: RequestInit) => {
      asked.push(new Headers(init.headers).get("authorization"));
      const body = JSON.stringify({ code: "unauthorized", detail: "The key is not known" });
      return Promise.resolve(new Response(body, { status: 401 }));
    };
    const client = new Ganglion("http://ganglion.test", { ...options, fetch, apiKey: "secret" });
    expect((await errorOf(run(client.open()))).code).toBe("unauthorized");
    expect(asked).toEqual(["Bearer secret"]);
    expect(network.clock.timers).toBe(0);
  });
});
