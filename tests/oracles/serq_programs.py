"""What the original says of the programs in tests/fixtures/serq/programs, as fixtures.

The programs are in the seed page's dialect, which only development releases of the original speak.
So two environments are needed, and two steps:

    python -m venv a && a/bin/pip install pyserq==0.1.5.dev70
    python -m venv b && b/bin/pip install pyserq==0.1.6
    a/bin/python tests/oracles/serq_programs.py compile ir.json
    b/bin/python tests/oracles/serq_programs.py run ir.json

The first turns each text into the original's IR (version 13), the second runs that IR (as version
14) and keeps in ../fixtures/serq/expected.json the report, every observed value and what the client
of each turn saw, or the run's error. Nothing of ours takes part. Programs whose name starts with one
of RANDOM run with 20 seeds; of those the report alone is kept.
"""

import json
import os
import pathlib
import sys

import pyserq

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "serq"
RANDOM = ("mm1", "mmc", "mg1", "laws", "random_")
SEEDS = range(1, 21)
HORIZON = 60.0
WARMUP = {"renewal_arrivals": 7.5, "gauges": 6.0, "random_engine": 10.0, "mm1": 12.0, "random_client": 5.0, "client_turns": 4.5}


def compile_all(out):
    irs = {}
    for path in sorted((FIXTURES / "programs").glob("*.sq")):
        warmup = WARMUP.get(path.stem, 0.0)
        program = pyserq.compile(str(path), horizon=HORIZON, warmup=warmup)
        irs[path.stem] = json.loads(program.to_json())
    pathlib.Path(out).write_text(json.dumps(irs))


def as_power(node):
    """`pow(x, y)` is `x ^ y`: version 14 has the operator alone."""
    if isinstance(node, dict):
        if node.get("Call", [None])[0] == "Pow":
            return {"Binary": ["Pow"] + [as_power(each["Expr"]) for each in node["Call"][1]]}
        return {key: as_power(value) for key, value in node.items()}
    return [as_power(each) for each in node] if isinstance(node, list) else node


def as_version_14(ir):
    """`share` moved from the program to each run over several stages."""
    ir = as_power({**ir, "version": 14})
    share = ir.pop("share", None)
    for block in ir["blocks"]:
        for statement in block:
            if isinstance(statement, dict) and statement.get("Run", {}).get("also"):
                statement["Run"]["share"] = share
    return ir


def run(ir):
    report = pyserq.run(pyserq.Program.from_json(json.dumps(ir)))
    found = json.loads(report.json())
    found.pop("serq_version")
    for claim in found.get("claims", []):
        claim.pop("note", None)
    return found, report


def values_of(observed):
    return {
        key: {"values": o.samples, "times": o.times, "sessions": o.sessions}
        for key, o in observed.items()
    }


def run_all(source):
    irs = json.loads(pathlib.Path(source).read_text())
    os.chdir(FIXTURES / "programs")  # a trace is found from there
    expected = {}
    for name, ir in irs.items():
        ir = as_version_14(ir)
        settings = {"horizon": ir["horizon"], "warmup": ir["warmup"]}
        if name.startswith(RANDOM):
            reports = {}
            for seed in SEEDS:
                reports[seed] = run({**ir, "seed": seed})[0]
            expected[name] = {"settings": settings, "seeds": reports}
        else:
            try:
                found, report = run(ir)
            except ValueError as error:
                expected[name] = {"settings": settings, "error": str(error)}
                continue
            values, client = values_of(report.observes), values_of(report.client)
            expected[name] = {
                "settings": settings,
                "report": found,
                "values": values,
                "client": client,
            }
    lines = [
        f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in expected.items()
    ]
    (FIXTURES / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(expected)} programs, pyserq {pyserq.__version__}")


if __name__ == "__main__":
    {"compile": compile_all, "run": run_all}[sys.argv[1]](*sys.argv[2:])
