/** `StreamServer.create`: models in every form, what it refuses, and how it ends. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { compilePlan, graphOf, StreamServer } from "../../src/mod.ts";
import { GanglionError } from "../../src/base/errors.ts";
import { DIGITS } from "../cli/command_line.ts";

const size = { slots: 2, frame: 3 };
const device = "cpu" as const;

/** Two inputs with weights 1 and 2 into one integrator that fires above 3. */
const small = () =>
  graphOf({
    nodes: {
      input: { type: "Input", shape: [2] },
      fc: { type: "Linear", weight: [[1, 2]] },
      "deep": {
        type: "NIRGraph",
        nodes: {
          input: { type: "Input", shape: [1] },
          "a.b": { type: "IF", r: [1], v_threshold: [3] },
          output: { type: "Output", shape: [1] },
        },
        edges: [["input", "a.b"], ["a.b", "output"]],
      },
      output: { type: "Output", shape: [1] },
    },
    edges: [["input", "fc"], ["fc", "deep"], ["deep", "output"]],
  });

async function outputs(server: StreamServer, input: number[]): Promise<number[]> {
  const session = server.open();
  const future = server.submit(session, Float32Array.from(input));
  await server.run();
  session.close();
  return [...(await future.result()).data];
}

const ones = [1, 1, 1, 1, 1, 1];

async function refusal(creation: Promise<StreamServer>): Promise<string> {
  const error = await creation.then(() => null, (reason: unknown) => reason);
  expect(error).toBeInstanceOf(GanglionError);
  const { code, message } = error as GanglionError;
  return `${code}: ${message}`;
}

describe("a model in every form", () => {
  test("path, bytes: the digits", async () => {
    const options = { slots: 1, frame: 5, sampleShape: [64], device };
    const results = [];
    for (const model of [DIGITS, new Uint8Array(readFileSync(DIGITS))]) {
      await using server = await StreamServer.create(model, options);
      results.push(await outputs(server, new Array<number>(320).fill(1)));
    }
    expect(results[0]).toEqual(results[1]!);
    expect(results[0]).toHaveLength(50);
  });

  test("graph, plan", async () => {
    for (const model of [small(), compilePlan(small())]) {
      await using server = await StreamServer.create(model, { ...size, sampleShape: [2], device });
      expect(await outputs(server, ones)).toEqual([0, 1, 0]);
    }
  });

  test("every device gives the same", async () => {
    const results = [];
    for (const each of ["auto", "webgpu", "cpu"] as const) {
      const options = { ...size, sampleShape: [2], device: each };
      await using server = await StreamServer.create(small(), options);
      results.push([server.info.numerics, ...await outputs(server, ones)]);
    }
    expect(results).toEqual(new Array(3).fill(["exact-1", 0, 1, 0]));
  });
});

describe("parameters from outside", () => {
  const options = { ...size, sampleShape: [2], device };

  test("3.8 call sets a field, by one number or by all its values", async () => {
    for (const value of [1, [1], Float32Array.of(1)]) {
      const call = { "deep.a.b.v_threshold": value };
      await using server = await StreamServer.create(small(), { ...options, call });
      expect(await outputs(server, ones)).toEqual([1, 1, 1]);
    }
  });

  test("call names what is not there", async () => {
    for (const name of ["deep.a.b.nope", "fc", "", "nope.r", "a.b.r"]) {
      expect(await refusal(StreamServer.create(small(), { ...options, call: { [name]: 1 } })))
        .toBe(
          `model_invalid: The call sets "${name}", but the model has no such field; ` +
            'name one as "node.field"',
        );
    }
  });

  test("3.8 a `state` collection in variables is ignored; parameters are used", async () => {
    const variables = { state: { "deep.a.b": [99] }, fc: { weight: [[5, 5]] } };
    await using server = await StreamServer.create(small(), { ...options, variables });
    expect(await outputs(server, ones)).toEqual([1, 1, 1]);
  });

  test("a plan cannot be changed any more", async () => {
    const plan = compilePlan(small());
    const call = { "fc.weight": 1 };
    expect(await refusal(StreamServer.create(plan, { ...options, call }))).toStartWith("usage: ");
    await using _ = await StreamServer.create(plan, { ...options, variables: { state: {} } });
  });
});

describe("create fails with the reason", () => {
  const options = { ...size, sampleShape: [2], device };

  test("3.1 before any slot is opened", async () => {
    const broken = graphOf({
      nodes: {
        input: { type: "Input", shape: [3] },
        fc: { type: "Linear", weight: [[1, 2]] },
        output: { type: "Output", shape: [1] },
      },
      edges: [["input", "fc"], ["fc", "output"]],
    });
    expect(await refusal(StreamServer.create(broken, options))).toContain('Node "fc"');
    expect(await refusal(StreamServer.create("absent.nir", options)))
      .toBe("model_unreadable: absent.nir does not exist");
    expect(await refusal(StreamServer.create(new Uint8Array(9), options)))
      .toStartWith("model_unreadable: ");
    for (const sampleShape of [[3], [], [2, 1], [1, 2]]) {
      expect(await refusal(StreamServer.create(small(), { ...options, sampleShape })))
        .toBe(
          'bad_array: The model "model" takes samples of shape [2], ' +
            `sampleShape is [${sampleShape.join(", ")}]`,
        );
    }
    for (const wrong of [{ slots: 0 }, { slots: 1.5 }, { frame: 257 }, { frame: NaN }]) {
      expect(await refusal(StreamServer.create(small(), { ...options, ...wrong })))
        .toStartWith("usage: ");
    }
  });
});

describe("the end", () => {
  test("close cancels what waits, twice is once, and nothing opens afterwards", async () => {
    const server = await StreamServer.create(small(), { ...size, sampleShape: [2], device });
    const session = server.open();
    const future = server.submit(session, Float32Array.from(ones));
    await Promise.all([server.close(), server.close()]);
    expect(future.state).toBe("cancelled");
    expect(() => server.open()).toThrow("closed");
    expect(() => server.close(session)).toThrow("not open");
  });

  test("close waits for the step that runs", async () => {
    const server = await StreamServer.create(small(), { ...size, sampleShape: [2], device });
    const future = server.submit(server.open(), Float32Array.from(ones));
    const running = server.step();
    while (future.state === "waiting") await Promise.resolve();
    await server.close();
    expect([await running, future.state]).toEqual([1, "done"]);
  });
});
