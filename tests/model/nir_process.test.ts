/** Reading in a child: the same graph, and whatever the bytes are, this process lives and says why. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { compilePlan, decodeGraph, encodeGraph, readNirBytes } from "../../src/model/mod.ts";
import { readNirIsolated } from "../../src/runtime/nir_process.ts";
import { lifFile, writeH5 } from "./h5_write.ts";
import { fails, PAPER, paperFile, someFile } from "./helpers.ts";

const looping = [process.execPath, fileURLToPath(new URL("looping_child.ts", import.meta.url))];

describe("a child process", () => {
  test("reads what this process reads", async () => {
    const name = PAPER.find((each) => paperFile(each) !== null);
    const bytes = name === undefined ? await someFile() : paperFile(name)!;
    const [inside, outside] = await Promise.all([
      readNirBytes(bytes, { name: "m" }),
      readNirIsolated(bytes, { name: "m" }),
    ]);
    expect(outside).toEqual(inside);
    expect(compilePlan(outside).digest).toBe(compilePlan(inside).digest);
  });

  test("hands errors on as they are", async () => {
    const bytes = await writeH5(lifFile({ v_peak: { data: Float32Array.of(1), shape: [1] } }));
    const error = await fails(() => readNirIsolated(bytes), "model_unsupported", "v_peak");
    expect(error.facts).toMatchObject({ node: "lif", field: "v_peak" });
    await fails(() => readNirIsolated(new Uint8Array(0)), "model_unreadable", "HDF5");
    const few = { limits: { modelBytesMax: 10 } };
    await fails(() => readNirIsolated(bytes, few), "model_unreadable", "limit");
  });

  test("that loops is killed when its time is up", async () => {
    const started = performance.now();
    const limits = { modelSecondsMax: 1 };
    const read = () => readNirIsolated(new Uint8Array(8), { command: looping, limits });
    await fails(read, "model_timeout", "1 s");
    expect(performance.now() - started).toBeLessThan(5000);
  });

  test("that dies, says nothing or talks nonsense is a model that cannot be read", async () => {
    const child = (code: string) => ({ command: [process.execPath, "-e", code] });
    const read = (code: string) => () => readNirIsolated(new Uint8Array(1 << 20), child(code));
    await fails(read("process.exit(3)"), "model_unreadable", "damaged");
    await fails(read("process.kill(process.pid, 'SIGSEGV')"), "model_unreadable", "damaged");
    await fails(read("0"), "model_unreadable", "no answer");
    await fails(read("process.stdout.write('\\x01GanglNIR\\xff')"), "model_unreadable");
    await fails(read("process.stdout.write('\\x01hello there, parent')"), "model_unreadable");
    await fails(
      () => readNirIsolated(new Uint8Array(8), { command: ["/no/such/program"] }),
      "internal",
    );
  });

  test("that talks without end is stopped", async () => {
    const code = "const b = Buffer.alloc(1 << 22); for (;;) require('fs').writeSync(1, b)";
    const options = { command: [process.execPath, "-e", code], limits: { modelBytesMax: 1 << 20 } };
    await fails(() => readNirIsolated(new Uint8Array(8), options), "model_unreadable", "room");
  });
});

describe("damaged files", () => {
  test("random bytes behind the signature", async () => {
    const signature = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a];
    const tail = fc.uint8Array({ maxLength: 2000 });
    await fc.assert(
      fc.asyncProperty(tail, async (bytes) => {
        await fails(
          () => readNirBytes(Uint8Array.from([...signature, ...bytes])),
          "model_unreadable",
        );
      }),
      { numRuns: 100 },
    );
    expect((await readNirBytes(await someFile())).nodes.size).toBeGreaterThan(1);
  });

  test("bytes changed at random: a graph, or an error of ours, in the time given", async () => {
    const file = await someFile();
    const seeds = Array.from({ length: 12 }, (_, i) => i + 1);
    const outcomes = await Promise.all(seeds.map(async (seed) => {
      try {
        await readNirIsolated(mutant(file, seed), { limits: { modelSecondsMax: 10 } });
        return "read";
      } catch (error) {
        return (error as { code?: string }).code ?? String(error);
      }
    }));
    for (const outcome of outcomes) expect(outcome).toMatch(/^(read|model_\w+)$/);
  }, 60_000);

  // Found by trying: this change makes the library loop for ever.
  const real = paperFile("lif_norse.nir");
  if (real !== null) {
    test("a real file changed so that the library hangs", async () => {
      const read = () => readNirIsolated(mutant(real, 111), { limits: { modelSecondsMax: 2 } });
      await fails(read, "model_timeout", "2 s");
    });
  }
});

describe("the form between processes", () => {
  test("gives back what it took, numbers of both widths and nested graphs", async () => {
    for (const name of PAPER) {
      const bytes = paperFile(name);
      if (bytes === null) continue;
      const graph = await readNirBytes(bytes);
      expect(decodeGraph(encodeGraph(graph))).toEqual(graph);
    }
    const own = await readNirBytes(await writeH5(lifFile({}, 3)));
    expect(decodeGraph(encodeGraph(own))).toEqual(own);
  });
});

/** A few bytes of the file replaced, the same ones for the same seed. */
function mutant(file: Uint8Array, seed: number): Uint8Array {
  const bytes = file.slice();
  let state = seed;
  const next = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
  for (let i = 0; i < 8; i++) bytes[8 + next() % (bytes.length - 8)] = next() & 255;
  return bytes;
}
