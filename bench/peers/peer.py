"""What the peers share: they are asked over standard input and answer on standard output, a JSON line each.

    python sparx_server.py FOLDER

FOLDER holds model.nir and frames.npy (bench/peers/export.ts). The first line tells versions and threads. Then:

    {"do": "open", "sessions": N}     new sessions at rest; also once through the recording, to compile
    {"do": "check", "file": PATH}     new sessions, and their outputs over the recording as an array
    {"do": "repeat"}                  once through the recording, timed; the sessions' state goes on

The clock runs from frames in the host's memory to outputs in the host's memory, pipes left out.
"""

import json
import pathlib
import sys
import time

import nir
import numpy as np


def serve(versions, threads, make):
    """`make(graph, dt, sessions, frame)` opens sessions at rest and gives a function: a list of frames
    [frame, inputs], one a session, to the list of their outputs [frame, outputs]. dt is in seconds a step."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not stand between the answers

    def tell(**answer):
        print(json.dumps(answer), file=answers, flush=True)

    folder = pathlib.Path(sys.argv[1])
    graph = nir.read(folder / "model.nir")
    dt = float(graph.metadata["dt"])
    recording = np.load(folder / "frames.npy")  # [rounds, sessions, frame, inputs]
    tell(versions=versions, threads=threads)
    sessions, step = 0, None

    def play():
        return [step(frames) for frames in rounds]

    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "open":
            sessions = asked["sessions"]
            rounds = [list(frames[:sessions]) for frames in recording]
            step = make(graph, dt, sessions, recording.shape[2])
            play()
            tell(sessions=sessions)
        elif asked["do"] == "check":
            step = make(graph, dt, sessions, recording.shape[2])
            np.save(asked["file"], np.asarray(play(), np.float32))
            tell(file=asked["file"])
        else:
            began, cpu = time.perf_counter(), time.process_time()
            play()
            tell(ms=(time.perf_counter() - began) * 1e3, cpuMs=(time.process_time() - cpu) * 1e3)
