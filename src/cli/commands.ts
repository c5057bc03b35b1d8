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
  "gain",
  "spikes",
  "form",
  "late",
  "synapse",
  "rest",
  "clamp",
  "limit",
];

export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    summary: "serves models over HTTP",
    usage: "MODEL... [flags]",
    about: `Serves each MODEL, a NIR file (.nir) or a run folder, over HTTP until SIGTERM or Ctrl-C.

Prints exactly one line to stdout once it is ready: listening http://ADDRESS:PORT
Everything else it says goes to stderr. Listening beyond this machine needs an --api-key,
or --insecure where another program guards the door.

A run folder's run.json says how its model is read and its frame; a flag that is given wins.`,
    examples: [
      "ganglion serve examples/digits",
      "ganglion serve a.nir b.nir --slots 64 --frame 20 --port 9000",
      "GANGLION_API_KEY=$(openssl rand -hex 24) ganglion serve a.nir --host 0.0.0.0",
    ],
    flags: {
      "What is served": [
        "slots",
        "sessions-max",
        ...ENGINE,
        "cpu-threads",
        "no-worker",
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
    summary: "runs recordings through a model",
    usage: "MODEL INPUT [-o OUT.npy] [flags]",
    about:
      `Runs one recording, or each of N, from rest to its end through the engine that serves, as many
at once as there are --slots. INPUT is an array of shape [T, ...sample_shape]
or flat [T, values], with one more axis in front for N of them: an .npy file, an array of an .npz
archive, or a .csv with a row a step. Or it holds events with fields t (microseconds), x, y, p, as
.npy, .npz, .csv or .txt, which --bin-us makes into steps.

OUT.npy gets <f4 [T, ...output_shape] or [N, T, ...]. Without -o the .npy goes to stdout. The result
does not depend on --frame or --slots.

MODEL is a NIR file or a run folder. A run folder's encoder is applied first: with direct, latency
and rate, INPUT holds samples without time, [...sample_shape] or [N, ...sample_shape]. Its readout
gives a prediction for each, which is said on stderr.

With --labels, --rates or --json a report goes to stdout in place of the array.
With --record or a readout the result may be an .npz archive: "output", every recorded value,
"scores" and "prediction". --plot writes a page with the input, the spikes of every layer and what
--record names, of the first recording; without -o there is no array then.`,
    examples: [
      "ganglion infer digits.nir seven.npy -o scores.npy",
      "ganglion infer examples/digits recordings.npy --labels labels.npy",
      "ganglion infer digits.nir seven.npy --record hidden.v,hidden.s -o inside.npz",
      "ganglion infer gestures.nir events.npy --bin-us 1000 --plot gestures.html --record out.v",
      "ganglion infer digits.nir seven.npy | python -c 'import sys, numpy, io; print(numpy.load(io.BytesIO(sys.stdin.buffer.read())).sum(0))'",
    ],
    flags: {
      "What goes in": ["bin-us", "array", "encoded"],
      "What comes out": ["output", "record", "labels", "readout", "rates", "json", "plot"],
      "What computes": ["slots", ...ENGINE],
      "How the file is read": READING,
    },
    defaults: { slots: 64 },
    load: () => import("./infer.ts"),
  },
  compare: {
    summary: "shows where another framework's outputs differ",
    usage: "MODEL INPUT THEIRS.npy [flags]",
    about: `Runs INPUT through MODEL and compares the outputs with THEIRS.npy, which another program
computed from the same input, in the same shape. Shows the first step and neuron that differ, both
values, the neuron's membrane before its reset and its distance to the threshold.

Exit code 0: equal within --tolerance. 1: different (or at fault: then stdout is empty).`,
    examples: [
      "ganglion compare model.nir input.npy snntorch_spikes.npy",
      "ganglion compare model.nir input.npy norse_membranes.npy --tolerance 1e-5 --json",
    ],
    flags: {
      "What goes in": ["bin-us", "array", "encoded"],
      "What is compared": ["tolerance", "json"],
      "What computes": ENGINE,
      "How the file is read": READING,
    },
    load: () => import("./compare.ts"),
  },
  convert: {
    summary: "writes a model as NIR, safetensors or a run folder",
    usage: "MODEL OUT [flags]",
    about: `Reads MODEL, a NIR file or a run folder, and writes OUT:

OUT.nir           a NIR file; a --dt is kept as metadata
OUT.safetensors   its parameters, one tensor for each node.field
OUT               otherwise a run folder: run.json with the flags that are given, and model.nir, or
                  model.json and variables.safetensors where MODEL is a run folder of layers

What is there already is not overwritten without --force.

The model that is read back computes the same bits. NIR cannot say which --reset, --compare and so
on were meant; a run folder keeps them.`,
    examples: [
      "ganglion convert examples/digits digits.safetensors",
      "ganglion convert net.nir runs/net --reset subtract --readout sum --class-names yes,no",
      "ganglion convert net.nir runs/net --encoder rate:steps=25,seed=7",
    ],
    flags: {
      "What is written": ["force"],
      "What a run folder says": ["encoder", "readout", "class-names", "frame"],
      "How the file is read": READING,
    },
    load: () => import("./convert.ts"),
  },
  inspect: {
    summary: "shows a model: graph, shapes, assumptions, plan, state",
    usage: "MODEL [--json] [flags]",
    about:
      `Shows what Ganglion makes of a NIR file or a run folder: nodes with shapes and parameters, what
was assumed or repaired and why, where cycles are cut, the steps of the plan, the bytes of state a
session takes, the names that can be recorded, and what the run folder says.`,
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
  bench: {
    summary: "measures how many frames a second this machine makes of a model",
    usage: "MODEL [flags]",
    about:
      `Runs frames of MODEL with 1, 2, 4, ... sessions in a step, without HTTP, on WebGPU and on the
CPU executor (--device webgpu or cpu: only there), for --seconds in all. "times real time" is
seconds of signal a second, by the model's time step, all sessions together.

calibrate --model measures the same with a server around it, load measures a running server.`,
    examples: [
      "ganglion bench examples/digits",
      "ganglion bench a.nir --slots 256 --frame 20 --density 0.01 --json",
    ],
    flags: {
      "What is measured": ["slots", ...ENGINE, "density", "seconds"],
      "What comes out": ["json"],
      "How the file is read": READING,
    },
    defaults: { slots: 64 },
    load: () => import("./bench.ts"),
  },
  load: {
    summary: "measures a running server with paced sessions",
    usage: "URL [flags]",
    about:
      `Opens --sessions sessions on the server at URL. Each sends a chunk of --chunk frames every
--period times --chunk ms, whatever became of those before, from a time of its own that --seed
draws. A chunk's latency runs from when it was due to the event with its last step.

Ends when throughput and median latency of three windows in a row are within 10 %, else after
--seconds. With --find-capacity it searches the largest number of sessions whose 99th percentile
is at most --target.

The table goes to stdout, --json prints everything as JSON instead, -o writes that to a file.
Ctrl-C ends the sessions and gives the result so far.

Exit code 1: also when this client was too late itself to say anything of the server.`,
    examples: [
      "ganglion load http://127.0.0.1:8787 --sessions 32 --period 20",
      "ganglion load http://127.0.0.1:8787 --find-capacity --html capacity.html",
      "GANGLION_API_KEY=... ganglion load https://snn.example.org --input gestures.npy -o load.json",
    ],
    flags: {
      "What load": ["sessions", "period", "chunk", "model", "density", "seed", "api-key"],
      "What recordings": ["input", "bin-us", "array"],
      "What is measured": ["find-capacity", "target", "seconds"],
      "What comes out": ["json", "output", "html"],
    },
    load: () => import("./load.ts"),
  },
  calibrate: {
    summary: "measures a server, and writes a serQ program that predicts it",
    usage: "URL [--model ID] | --model FILE [-o OUT.sq] [flags]",
    about:
      `Measures what a step costs with 1, 2, 4, ... sessions in it, and what a chunk costs beside its
steps; fits step = base + row x sessions; and writes both into a serQ program. Then serq run OUT.sq
predicts the latency of chunks, for other numbers of sessions and other frame periods.

With a URL that server is measured, which should rest meanwhile. Without one --model is a NIR file
or a run folder: a server is started for it, and the bare executor, without HTTP, is measured too.
--seconds is the time to measure for.

Without -o the program goes to stdout, else a report does; with --json the report is JSON.`,
    examples: [
      "ganglion calibrate http://127.0.0.1:8787 -o server.sq",
      "ganglion calibrate --model examples/digits --slots 64 -o digits.sq",
      "serq run digits.sq --horizon 60 --warmup 5 --percentiles 50,99 -- --sessions 32 --period 0.02",
    ],
    flags: {
      "What is measured": ["model", "api-key", "seconds", "density"],
      "What comes out": ["output", "json"],
      "How FILE is served": ["slots", ...ENGINE, "no-worker"],
      "How its file is read": READING,
    },
    defaults: { seconds: 20 },
    load: () => import("./calibrate.ts"),
  },
  _examine: {
    summary: "what doctor asks of each runtime",
    usage: "",
    about: "",
    examples: [],
    flags: {},
    load: () => import("./examine.ts"),
  },
};
