"""Numbers of the original's generator and of glibc's logarithm, as tests/fixtures/serq/numbers.json.

    b/bin/pip install pyserq==0.1.6
    b/bin/python tests/oracles/serq_numbers.py tests/fixtures/serq/numbers.json

`ln` is the C library's (Python's `math.log` calls it), which the original's variates use as well.
"""

import json
import math
import pathlib
import random
import sys

import pyserq

SEEDS = [0, 1, 2, 7, 42, 4294967295, 4294967296, 9007199254740991]
COUNTS = [1, 2, 3, 7, 1000, 65537, 4000000000]


def uniforms(seed, count):
    rng = pyserq.Rng(seed)
    return [rng.random_f64() for _ in range(count)]


def below(seed):
    rng = pyserq.Rng(seed)
    return [rng.range_u32(0, count - 1) for count in COUNTS for _ in range(3)]


def session_draws(seed):
    """What two sessions draw in `init`, in two turns and in the server."""
    draw = {"Sample": ["Uniform", [{"Num": 0.0}, {"Num": 1.0}]]}
    names = ["cached", "serial", "turn_no", "new", "out", "think", "more", "forced", "computed"]
    slots = {f"slot_{name.removesuffix('_no')}": i for i, name in enumerate(names)}
    look = {"base": 0, "count": 1, "index": None}
    cost = {"Cost": [{"Stage": {"base": 0, "count": 1}}, {"Num": 1.0}]}
    run = {"Run": {"stage": look, "mode": "Plain", "work": cost, "growing": None}}
    seen = [{"Observe": [0, {"Attr": 9}]}, {"Observe": [0, {"Attr": 10}]}, {"Observe": [0, draw]}]
    session = ["Turn", *seen, "Turn", *seen, run, "End"]
    side = ["Workload" if isinstance(s, str) else "Server" for s in session]
    program = {
        "version": 14,
        "attrs": [*names, "a", "b"],
        "attr_types": ["Value", *["Size"] * 7, "Value", "Size", "Size"],
        "sides": [["Workload"], ["Workload"], side],
        "observes": ["seen"],
        "pools": [],
        "stages": [{"name": "d", "kind": {"Ps": {"Ctx": "N"}}}],
        "arrival": {"Batch": 2},
        "trace": None,
        "trace_ordered": False,
        "init": 0,
        "turn": 1,
        "session": 2,
        "blocks": [[{"Set": [9, draw]}], [{"Set": [10, draw]}], session],
        "horizon": 10.0,
        "warmup": 0.0,
        "seed": seed,
        "hidden": [],
        **slots,
    }
    report = pyserq.run(pyserq.Program.from_json(json.dumps(program)))
    return {"program": program, "seen": report.observe("seen").samples}


def logarithms():
    source = random.Random(1)
    xs = [1 - source.random() for _ in range(600)]
    xs += [source.uniform(0.93, 1.07) for _ in range(300)]
    xs += [math.exp(source.uniform(-700, 700)) for _ in range(300)]
    return [[x, math.log(x)] for x in xs]


if __name__ == "__main__":
    found = {
        "uniforms": {str(seed): uniforms(seed, 20) for seed in SEEDS},
        "counts": COUNTS,
        "below": {str(seed): below(seed) for seed in SEEDS},
        "sessions": [session_draws(seed) for seed in (1, 5, 77)],
        "ln": logarithms(),
    }
    pathlib.Path(sys.argv[1]).write_text(json.dumps(found, separators=(",", ":")) + "\n")
