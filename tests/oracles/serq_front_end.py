"""What the original makes of each program of serq_front_end.txt (one a line): its IR, or the place of
its refusal. Run with the development release that speaks our dialect (docs/serq_differences.md):

    pip install pyserq==0.1.5.dev70
    python tests/oracles/serq_front_end.py

Writes tests/golden/serq/original.json.gz, which tests/serq/lower_original.test.ts reads.
"""
import gzip
import json
import pathlib
import re

import pyserq

HERE = pathlib.Path(__file__).parent
DROPPED = ("version", "horizon", "warmup", "seed", "arrivals", "trace")


def plain(node):
    """Null fields dropped, as absent ones mean the same; `pow(x, y)` as `x ^ y`."""
    if isinstance(node, dict):
        node = {key: plain(value) for key, value in node.items() if value is not None}
        if node.get("Call", [None])[0] == "Pow":
            return {"Binary": ["Pow"] + [argument["Expr"] for argument in node["Call"][1]]}
        return node
    return [plain(each) for each in node] if isinstance(node, list) else node


def original(source):
    try:
        ir = json.loads(pyserq.compile(source=source, horizon=10).to_json())
    except ValueError as error:
        place = re.match(r"(\d+):(\d+)", str(error))
        return {"refused": [int(n) for n in place.groups()] if place else []}
    for field in DROPPED:
        ir.pop(field, None)
    return {"ir": plain(ir)}


programs = (HERE / "serq_front_end.txt").read_text().splitlines()
found = [{"source": source, **original(source)} for source in programs]
target = HERE.parent / "golden" / "serq" / "original.json.gz"
text = json.dumps({"pyserq": pyserq.__version__, "programs": found}, separators=(",", ":"))
target.write_bytes(gzip.compress(text.encode(), mtime=0))
print(len(found), "programs,", sum("ir" in each for each in found), "accepted,", target.stat().st_size, "bytes")
