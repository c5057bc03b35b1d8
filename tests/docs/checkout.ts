/**
 * A folder that looks like a checkout, in which the shell blocks and programs of a page run as pasted:
 * the repository's folders by links, the files that pages speak of, and an `npx` that starts this
 * checkout's programs (the real one takes a second each time; tests/bin tries it).
 */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { ROOT } from "../../bin/launch.mjs";
import { writeNpy } from "../../src/base/npy.ts";
import { writeSafetensors } from "../../src/base/safetensors.ts";
import { lifFile, writeH5 } from "../model/h5_write.ts";

const LINKED = ["bin", "src", "shaders", "tests", "tools", "bench", "deploy", "node_modules"];
const LIMIT_MS = 120_000;

/** `serve` runs until it is ready, then must end well; everything else runs to its end. */
const NPX = `#!/usr/bin/env node
import { spawn } from "node:child_process";
import process from "node:process";
const [name, ...words] = process.argv.slice(2);
const root = ${JSON.stringify(ROOT)};
const ours = name === "ganglion" || name === "serq";
const serves = name === "ganglion" && words[0] === "serve";
const program = ours ? [process.execPath, root + "/bin/" + name + ".mjs"] : [root + "/node_modules/.bin/" + name];
const child = spawn(program[0], [...program.slice(1), ...words, ...(serves ? ["--port", "0"] : [])], {
  stdio: ["inherit", serves ? "pipe" : "inherit", "inherit"],
});
if (serves) child.stdout.on("data", () => child.kill("SIGTERM"));
child.on("exit", (code) => process.exit(code ?? 1));
`;

export interface Checkout extends Disposable {
  readonly path: (name: string) => string;
  /** Runs a shell block; `url` takes the place of the address that \`npm start\` has. */
  shell(script: string, url?: string): Promise<Outcome>;
  /** Runs a TypeScript program as if it were saved in `folder` of the checkout. */
  program(source: string, folder: string, url?: string): Promise<Outcome>;
}

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export async function checkout(): Promise<Checkout> {
  const root = mkdtempSync(join(tmpdir(), "ganglion-docs-"));
  const path = (name: string) => join(root, name);
  for (const name of readdirSync(ROOT)) {
    if (LINKED.includes(name)) symlinkSync(join(ROOT, name), path(name));
    else if (["examples", "docs", "client", "web"].includes(name)) {
      cpSync(join(ROOT, name), path(name), { recursive: true });
    } else if (/\.(json|toml|md)$/.test(name)) cpSync(join(ROOT, name), path(name));
  }
  mkdirSync(path(".tools"));
  writeFileSync(path(".tools/npx"), NPX);
  chmodSync(path(".tools/npx"), 0o755);
  writeFileSync(path(".tools/ganglion"), '#!/bin/sh\nexec npx ganglion "$@"\n');
  chmodSync(path(".tools/ganglion"), 0o755);
  await writeFiles(path);

  const env = { ...process.env, PATH: `${path(".tools")}${delimiter}${process.env["PATH"]}` };
  const run = async (command: string[]): Promise<Outcome> => {
    const child = Bun.spawn(command, {
      cwd: root,
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: LIMIT_MS,
      killSignal: "SIGKILL",
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, stdout, stderr };
  };
  const at = (source: string, url?: string) =>
    url === undefined ? source : source.replaceAll("http://127.0.0.1:8787", url);
  return {
    path,
    shell: (script, url) => run(["bash", "-eu", "-o", "pipefail", "-c", at(script, url)]),
    program(source, folder, url) {
      const file = join(root, folder, "pasted.ts");
      writeFileSync(file, at(source, url));
      return run([process.execPath, "--no-install", file]);
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** What pages call a model, an input and the like. */
async function writeFiles(path: (name: string) => string): Promise<void> {
  const exported = (file: string) =>
    gunzipSync(readFileSync(join(ROOT, "tests/fixtures/docs_export", `snntorch.${file}.gz`)));
  for (const file of ["model.nir", "input.npy", "theirs.npy"]) {
    writeFileSync(path(file), exported(file));
  }
  const two = await writeH5(lifFile({}, 2));
  for (const name of ["a.nir", "b.nir", "net.nir"]) writeFileSync(path(name), two);
  const pixels = Float32Array.from({ length: 12 }, (_, i) => (i % 5) / 4);
  writeFileSync(path("images.npy"), writeNpy(pixels, [6, 2]));
  writeFileSync(path("true.npy"), writeNpy(Float32Array.from([0, 1, 1, 0, 1, 0]), [6]));
  writeFileSync(path("steps.f32"), new Uint8Array(3 * 64 * 4));
  mkdirSync(path("runs/a"), { recursive: true });
  writeFileSync(path("runs/a/model.nir"), two);
  const run = { encoder: { kind: "rate", steps: 25, seed: 7 }, readout: "sum" };
  writeFileSync(path("runs/a/run.json"), JSON.stringify(run));
  const tensor = (...shape: number[]) => ({
    shape,
    data: new Float32Array(shape.reduce((product, length) => product * length, 1)).fill(0.125),
  });
  const tensors = new Map([
    ["conv/kernel", tensor(3, 3, 1, 2)],
    ["conv/bias", tensor(2)],
    ...["scale", "bias", "mean", "var"].map((name) => [`norm/${name}`, tensor(2)] as const),
    ["head/kernel", tensor(392, 10)],
    ["head/bias", tensor(10)],
  ]);
  writeFileSync(path("variables.safetensors"), writeSafetensors({ tensors, metadata: {} }));
  cpSync(join(ROOT, "examples/serq/seed.sq"), path("model.sq"));
}
