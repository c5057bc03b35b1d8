/** The commands: their texts and flags; those with a leading _ are not shown. Nothing here loads what a command needs to run. */
import type { FlagName } from "../config.ts";
import type { Command } from "./command.ts";

const ENGINE: readonly FlagName[] = ["frame", "device"];
const READING: readonly FlagName[] = [
  "dt",
  "discretization",
  "strict",
  "compare",
  "reset",
  "if-gain",
  "cuba-order",
  "flatten-batch",
  "cut",
  "dialect",
  "limit",
];

export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    summary: "serves models over HTTP",
    usage: "MODEL... [flags]",
    about: `Serves each MODEL, a NIR file (.nir), over HTTP until SIGTERM or Ctrl-C.

Prints exactly one line to stdout once it is ready: listening http://ADDRESS:PORT
Everything else it says goes to stderr. Listening beyond this machine needs an --api-key,
or --insecure where another program guards the door.`,
    examples: [
      "ganglion serve examples/digits/digits.nir",
      "ganglion serve a.nir b.nir --slots 64 --frame 20 --port 9000",
      "GANGLION_API_KEY=$(openssl rand -hex 24) ganglion serve a.nir --host 0.0.0.0",
    ],
    flags: {
      "What is served": [
        "slots",
        "sessions-max",
        ...ENGINE,
        "name",
        "state-dir",
        "checkpoint-every",
      ],
      "Who may talk to it": ["host", "port", "api-key", "cors-origin", "insecure"],
      "What it tells": ["log"],
      "How the files are read": READING,
    },
    load: () => import("./serve.ts"),
  },
  infer: {
    summary: "runs a whole recording through a model",
    usage: "MODEL INPUT.npy [-o OUT.npy] [flags]",
    about: `Runs one stream from rest to its end through the engine that serves. INPUT.npy has shape
[T, ...sample_shape], or flat [T, values]; OUT.npy gets <f4 [T, ...output_shape].
Without -o the .npy goes to stdout. The result does not depend on --frame.

With --record the result is an .npz archive: "output" and every recorded value.`,
    examples: [
      "ganglion infer digits.nir seven.npy -o scores.npy",
      "ganglion infer digits.nir seven.npy --record hidden.v,hidden.s -o inside.npz",
      "ganglion infer digits.nir seven.npy | python -c 'import sys, numpy, io; print(numpy.load(io.BytesIO(sys.stdin.buffer.read())).sum(0))'",
    ],
    flags: {
      "What comes out": ["output", "record"],
      "What computes": ENGINE,
      "How the file is read": READING,
    },
    load: () => import("./infer.ts"),
  },
  inspect: {
    summary: "shows a model: graph, shapes, assumptions, plan, state",
    usage: "MODEL [--json] [flags]",
    about:
      `Shows what Ganglion makes of a NIR file: nodes with shapes and parameters, what was assumed
or repaired and why, where cycles are cut, the steps of the plan, the bytes of state a
session takes, and the names that can be recorded.`,
    examples: ["ganglion inspect digits.nir", "ganglion inspect digits.nir --dt 1e-3 --json"],
    flags: { "What comes out": ["json"], "How the file is read": READING },
    load: () => import("./inspect.ts"),
  },
  doctor: {
    summary: "shows what this machine can compute on, and what is missing",
    usage: "[--json]",
    about:
      `Asks Deno and Bun which WebGPU adapter they get, checks that it computes rightly and how it
is read back, and names the one command that mends what is missing.`,
    examples: ["ganglion doctor", "ganglion doctor --json"],
    flags: { "What comes out": ["json"] },
    load: () => import("./doctor.ts"),
  },
  bench: notBuilt("measures frames per second on this machine"),
  load: notBuilt("puts load on a running server"),
  convert: notBuilt("converts models of other formats"),
  calibrate: notBuilt("fits the planner's cost model to this machine"),
  _examine: {
    ...notBuilt("what doctor asks of each runtime"),
    load: () => import("./examine.ts"),
  },
};

function notBuilt(summary: string): Command {
  return { summary: `${summary} (not built yet)`, usage: "", about: "", examples: [], flags: {} };
}
