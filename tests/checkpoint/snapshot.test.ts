/** State files: what Python reads, and what is refused (API §2, GET and PUT …/state). */
import { describe, expect, test } from "bun:test";
import { GanglionError } from "../../src/base/errors.ts";
import {
  decodeSession,
  decodeSnapshot,
  encodeSession,
  encodeSnapshot,
  type SessionImage,
} from "../../src/checkpoint/mod.ts";
import {
  checksumOf,
  readSafetensors,
  type TensorFile,
  writeSafetensors,
} from "../../src/checkpoint/safetensors.ts";
import type { RowState } from "../../src/engine/executor.ts";
import type { Plan } from "../../src/model/plan.ts";
import { stateTensors } from "../../src/model/row_state.ts";
import { mlpPlan, Random, recurrentPlan } from "../support/plans.ts";
import { leakyPlan } from "../http/support/world.ts";

const plan = recurrentPlan(1);
const numerics = "exact-1";

function stateOf(of: Plan, seed: number): RowState {
  const random = new Random(seed);
  const tensors: Record<string, Float32Array> = {};
  for (const { name, node, field, size } of stateTensors(of)) {
    const { type } = node.state.find((each) => each.name === field)!;
    tensors[name] = type === "bits" ? random.spikes(size) : random.floats(size);
  }
  return { tensors };
}

const state = stateOf(plan, 3);
const file = encodeSnapshot(plan, { state, step: 41, numerics });

/** `code reason` of the refusal, or `taken`. */
function verdict(bytes: Uint8Array, { plan: of = plan, allowInexact = false } = {}): string {
  try {
    decodeSnapshot(bytes, { plan: of, numerics, allowInexact });
    return "taken";
  } catch (error) {
    if (!(error instanceof GanglionError)) throw error;
    return [error.code, error.facts["reason"]].filter(Boolean).join(" ");
  }
}

/** The file with something changed, and its checksum mended. */
function changed(change: (file: { metadata: Record<string, string> } & TensorFile) => void) {
  const { metadata, tensors } = readSafetensors(file, 1 << 20);
  const copy = { metadata: { ...metadata }, tensors: new Map(tensors) };
  change(copy);
  copy.metadata["checksum"] = checksumOf(copy);
  return writeSafetensors(copy);
}

describe("a snapshot", () => {
  test("comes back as it was, for every kind of state", () => {
    for (const each of [plan, leakyPlan(), mlpPlan(1, "cuba_lif", 0)]) {
      const own = stateOf(each, 5);
      const bytes = encodeSnapshot(each, { state: own, step: 7, numerics });
      const read = decodeSnapshot(bytes, { plan: each, numerics, allowInexact: false });
      expect(read).toEqual({ state: own, step: 7, numerics });
    }
  });

  test("cut anywhere it is refused", () => {
    for (let length = 0; length < file.length; length++) {
      expect([length, verdict(file.subarray(0, length))]).toEqual([length, "snapshot_unreadable"]);
    }
    expect(verdict(Uint8Array.from([...file, 0]))).toBe("snapshot_unreadable");
  });

  test("with any one bit flipped it is refused", () => {
    const small = encodeSnapshot(leakyPlan(), {
      state: stateOf(leakyPlan(), 1),
      step: 3,
      numerics,
    });
    for (let bit = 0; bit < small.length * 8; bit++) {
      const flipped = small.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect([bit, verdict(flipped, { plan: leakyPlan() })]).not.toEqual([bit, "taken"]);
    }
  });

  test("what does not fit is refused by name", () => {
    const tensor = (values: number[]) => ({
      shape: [values.length],
      data: Float32Array.from(values),
    });
    const first = stateTensors(plan).find(({ node, field }) =>
      node.state.find((each) => each.name === field)!.type === "f32"
    )!;
    const bits = stateTensors(plan).find(({ node, field }) =>
      node.state.find((each) => each.name === field)!.type === "bits"
    )!;
    const replaced = (name: string, at: number, value: number) =>
      changed(({ tensors }) => {
        const { shape, data } = tensors.get(name)!;
        const copy = data.slice();
        copy[at] = value;
        (tensors as Map<string, unknown>).set(name, { shape, data: copy });
      });
    const map = (each: TensorFile) => each.tensors as Map<string, unknown>;
    const cases: [string, Uint8Array, string][] = [
      ["as it is", changed(() => {}), "taken"],
      [
        "more metadata",
        changed(({ metadata }) => metadata["author"] = "somebody"),
        "taken",
      ],
      ["a tensor more", changed((each) => map(each).set("x", tensor([1]))), "tensors"],
      ["a tensor less", changed((each) => map(each).delete(first.name)), "tensors"],
      ["another shape", changed((each) => map(each).set(first.name, tensor([1]))), "tensors"],
      ["NaN", replaced(first.name, 0, NaN), "values"],
      ["infinity", replaced(first.name, 1, -Infinity), "values"],
      ["half a spike", replaced(bits.name, 0, 0.5), "values"],
      ["another model", changed(({ metadata }) => metadata["model_digest"] = "0"), "model"],
      ["another format", changed(({ metadata }) => metadata["format"] = "pt"), "format"],
      ["no step", changed(({ metadata }) => delete metadata["step"]), "format"],
      ["a step below zero", changed(({ metadata }) => metadata["step"] = "-1"), "format"],
      ["another tag", changed(({ metadata }) => metadata["numerics"] = "gpu/1"), "numerics"],
    ];
    expect(cases.map(([name, bytes]) => [name, verdict(bytes)])).toEqual(
      cases.map((
        [name, , reason],
      ) => [name, reason === "taken" ? reason : `snapshot_refused ${reason}`]),
    );
    const inexact = cases.at(-1)![1];
    expect(verdict(inexact, { allowInexact: true })).toBe("taken");
    expect(verdict(file, { plan: leakyPlan() })).toBe("snapshot_refused model");
  });

  test("values that no executor stores are made canonical", () => {
    const tensors = { ...state.tensors };
    const [name] = Object.keys(tensors).filter((each) => each.endsWith(".v"));
    tensors[name!] = tensors[name!]!.slice().fill(-0, 0, 1).fill(1e-40, 1, 2);
    const bytes = encodeSnapshot(plan, { state: { tensors }, step: 0, numerics });
    const read = decodeSnapshot(bytes, { plan, numerics, allowInexact: false });
    expect([...read.state.tensors[name!]!.subarray(0, 2)].map((x) => Object.is(x, 0)))
      .toEqual([true, true]);
  });
});

describe("headers that no writer of ours makes", () => {
  const text = new TextEncoder();
  const packed = (header: unknown, dataBytes = 0, length?: number): Uint8Array => {
    const bytes = text.encode(typeof header === "string" ? header : JSON.stringify(header));
    const whole = new Uint8Array(8 + bytes.length + dataBytes);
    new DataView(whole.buffer).setBigUint64(0, BigInt(length ?? bytes.length), true);
    whole.set(bytes, 8);
    return whole;
  };
  const entry = (dtype: unknown, shape: unknown, offsets: unknown) => ({
    a: { dtype, shape, data_offsets: offsets },
  });
  test.each(
    [
      ["a header longer than the limit", packed("{}", 0, 2 ** 40)],
      ["a header longer than the file", packed("{}", 0, 99)],
      ["no JSON", packed("{")],
      ["not UTF-8", Uint8Array.from([2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe])],
      ["an array", packed([])],
      ["half precision", packed(entry("F16", [2], [0, 4]), 4)],
      ["a shape that does not fill its place", packed(entry("F32", [2], [0, 4]), 4)],
      ["a shape too large to multiply", packed(entry("F32", [2 ** 40, 2 ** 40], [0, 4]), 4)],
      ["an axis below zero", packed(entry("F32", [-1], [0, -4]), 4)],
      ["no shape", packed(entry("F32", null, [0, 4]), 4)],
      ["a hole at the beginning", packed(entry("F32", [1], [4, 8]), 8)],
      ["bytes behind the end", packed(entry("F32", [1], [0, 4]), 8)],
      ["a place beyond the end", packed(entry("F32", [4], [0, 16]), 4)],
      [
        "tensors that overlap",
        packed({
          ...entry("F32", [2], [0, 8]),
          b: { dtype: "F32", shape: [2], data_offsets: [4, 12] },
        }, 12),
      ],
      ["metadata that are no text", packed({ __metadata__: { step: 3 } })],
      ["metadata that are no object", packed({ __metadata__: "x" })],
    ] as const,
  )("%s", (_, bytes) => expect(verdict(bytes)).toBe("snapshot_unreadable"));
});

describe("a session's checkpoint", () => {
  const image: SessionImage = {
    id: "abc",
    model: "m",
    modelDigest: "d",
    numerics,
    owner: null,
    ttlSeconds: 3,
    record: ["lif.v"],
    outputs: "ring",
    framePeriodMs: 0,
    createdAtMs: 12,
    timeline: {
      spans: [{ epoch: 1, fromStep: 0, toStep: null, isCut: false }],
      stepsDone: 5,
      part: 1,
    },
    epochReserved: 2,
    nextSeq: 2,
    chunks: [
      {
        seq: 0,
        steps: 5,
        reset: false,
        digest: "q",
        startStep: 0,
        epoch: 1,
        state: "done",
        stepsRun: 5,
        input: null,
      },
      {
        seq: 1,
        steps: 2,
        reset: true,
        digest: "r",
        startStep: 5,
        epoch: 2,
        state: "waiting",
        stepsRun: 0,
        input: Float32Array.of(1, 2, 3),
      },
      {
        seq: 2,
        steps: 3,
        reset: false,
        digest: "b",
        startStep: 7,
        epoch: 2,
        state: "waiting",
        stepsRun: 0,
        // Words of spikes, which as numbers would be a NaN that signals, and others.
        input: Uint32Array.of(0x7fa00001, 0xffffffff, 0x80000000),
      },
    ],
    events: [
      {
        kind: "output",
        position: { epoch: 1, step: 5, part: 0 },
        seq: 0,
        startStep: 0,
        steps: 5,
        data: Float32Array.of(1, -0, Infinity),
        probes: { "lif.v": Float32Array.of(3), "a/b": Float32Array.of(4) },
      },
      { kind: "error", position: { epoch: 1, step: 5, part: 1 } },
    ],
    ring: { begin: { epoch: 1, step: 0 }, lastDropped: null, clearedTo: null },
    readout: null,
    eventsReceived: 1,
    state,
  };

  test("comes back as it was", () => {
    expect(decodeSession(encodeSession(image))).toEqual(image);
    const atRest = { ...image, state: null };
    expect(decodeSession(encodeSession(atRest))).toEqual(atRest);
    // Every bit of an f64, also where no text could say it.
    const scores = Float64Array.of(1 / 3, -0, NaN, -Infinity, 5e-324, 2 ** 60 + 1);
    const reading = { ...image, readout: { readout: "sum", steps: 3, scores } };
    const back = decodeSession(encodeSession(reading));
    expect(back.readout).toMatchObject({ readout: "sum", steps: 3 });
    expect([...new Uint8Array(back.readout!.scores.buffer)])
      .toEqual([...new Uint8Array(scores.buffer)]);
  });

  test("cut or changed it is refused, and it is no snapshot, nor a snapshot a checkpoint", () => {
    const bytes = encodeSession(image);
    for (let at = 0; at < bytes.length; at += 7) {
      const flipped = bytes.slice();
      flipped[at]! ^= 4;
      expect(() => decodeSession(flipped)).toThrow(GanglionError);
      expect(() => decodeSession(bytes.slice(0, at))).toThrow(GanglionError);
    }
    expect(verdict(bytes)).toBe("snapshot_refused format");
    expect(() => decodeSession(file)).toThrow("no ganglion-session-3");
  });
});

test("Python's safetensors reads what we write, and we read what it writes", async () => {
  const fixture = await Bun.file(new URL("../fixtures/safetensors/snapshot.json", import.meta.url))
    .json() as { made_with: string; ours_read: Record<string, number[]>; file: string };
  const small = stateOf(leakyPlan(), 1);
  const ours = new URL("../fixtures/safetensors/ours.safetensors", import.meta.url);
  expect(await Bun.file(ours).bytes())
    .toEqual(encodeSnapshot(leakyPlan(), { state: small, step: 3, numerics }));
  // What Python read of our file, when tests/oracles/read_snapshot.py was run last.
  expect(fixture.made_with).toMatch(/^safetensors \d/);
  for (const [name, values] of Object.entries(fixture.ours_read)) {
    expect([...small.tensors[name]!]).toEqual(values);
  }
  const bytes = new Uint8Array(Buffer.from(fixture.file, "base64"));
  const read = decodeSnapshot(bytes, { plan: leakyPlan(), numerics, allowInexact: false });
  expect(read).toEqual({ state: small, step: 3, numerics });
});
