"""What the original says of the programs in tests/fixtures/serq/programs, as fixtures.

The programs are in the seed page's dialect, which only development releases of the original speak.
So two environments are needed, and two steps:

    python -m venv a && a/bin/pip install pyserq==0.1.5.dev70
    python -m venv b && b/bin/pip install pyserq==0.1.6
    a/bin/python tests/oracles/serq_programs.py compile tests/fixtures/serq/programs ir.json
    b/bin/python tests/oracles/serq_programs.py run ir.json tests/fixtures/serq/expected.json

The first turns each text into the original's IR (version 13), the second runs that IR (as version
14) and keeps the report and every observed value. Nothing of ours takes part. Programs whose name
starts with one of RANDOM run with 20 seeds; of those the report alone is kept.
"""

import json
import pathlib
import sys

import pyserq

RANDOM = ("mm1", "mmc", "mg1", "laws", "random_")
SEEDS = range(1, 21)
HORIZON = 60.0
WARMUP = {"renewal_arrivals": 7.5, "gauges": 6.0, "random_engine": 10.0, "mm1": 12.0}
ARRIVALS = {"random_closed": None}


def compile_all(folder, out):
    irs = {}
    for path in sorted(pathlib.Path(folder).glob("*.sq")):
        warmup = WARMUP.get(path.stem, 0.0)
        program = pyserq.compile(source=path.read_text(), horizon=HORIZON, warmup=warmup)
        irs[path.stem] = json.loads(program.to_json())
    pathlib.Path(out).write_text(json.dumps(irs))


def as_version_14(ir):
    """`share` moved from the program to each run over several stages."""
    ir["version"] = 14
    share = ir.pop("share", None)
    for block in ir["blocks"]:
        for statement in block:
            if isinstance(statement, dict) and statement.get("Run", {}).get("also"):
                statement["Run"]["share"] = share
    return ir


def run(ir):
    report = pyserq.run(pyserq.Program.from_json(json.dumps(ir)))
    found = json.loads(report.json())
    for late in ("serq_version", "client"):
        found.pop(late, None)
    for pool in found["pools"]:
        pool.pop("over_cap", None)
    for claim in found.get("claims", []):
        claim.pop("note", None)
    return found, report


def run_all(source, out):
    expected = {}
    for name, ir in json.loads(pathlib.Path(source).read_text()).items():
        ir = as_version_14(ir)
        settings = {"horizon": ir["horizon"], "warmup": ir["warmup"]}
        if name.startswith(RANDOM):
            reports = {}
            for seed in SEEDS:
                reports[seed] = run({**ir, "seed": seed})[0]
            expected[name] = {"settings": settings, "seeds": reports}
        else:
            found, report = run(ir)
            values = {
                key: {"values": o.samples, "times": o.times, "sessions": o.sessions}
                for key, o in report.observes.items()
            }
            expected[name] = {"settings": settings, "report": found, "values": values}
    lines = [
        f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in expected.items()
    ]
    pathlib.Path(out).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(expected)} programs, pyserq {pyserq.__version__}")


if __name__ == "__main__":
    {"compile": compile_all, "run": run_all}[sys.argv[1]](*sys.argv[2:])
