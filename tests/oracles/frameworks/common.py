"""What the scripts of this folder share: numbers, and how a case is written.

A case is a NIR file as the framework's own exporter wrote it (or, where `made_by` says nir, a file of the
`nir` package that the framework's importer reads), an input, and what the framework computed: the values
that left the model and membranes, float32. Weights are multiples of 1/64 unless a case says `raw`: then
every sum is exact in float32 whatever its order, and what is compared is the neurons' arithmetic.
"""

import gzip
import json
import os
import pathlib

import h5py
import nir
import numpy as np

# The exporters put edges in the order of a set.
assert os.environ.get("PYTHONHASHSEED") == "0", "run with PYTHONHASHSEED=0, for the same bytes every time"

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "frameworks"
STEPS = 120


def dyadic(rng, *shape, scale=1.0):
    """Multiples of 1/64 in (-scale, scale)."""
    return (np.round(rng.uniform(-scale, scale, shape) * 64) / 64).astype(np.float32)


def spikes(rng, *shape, density=0.3):
    return (rng.random((STEPS, *shape)) < density).astype(np.float32)


def eighths(rng, *shape, scale=2.0):
    """Values that are not spikes, exact in float32."""
    return (np.round(rng.uniform(-scale, scale, (STEPS, *shape)) * 8) / 8).astype(np.float32)


class Margin:
    """The smallest distance of a membrane to its threshold but 0, over all calls, and how often it was 0."""

    def __init__(self):
        self.least = np.inf
        self.ties = 0

    def see(self, distance):
        distance = np.abs(np.asarray(distance))
        self.ties += int((distance == 0).sum())
        self.least = min([self.least, *distance[distance > 0].tolist()])


def write_case(name, framework, graph, inputs, output, membranes, options, holds, margin=None, versions="",
               made_by=None, ulps=0, variables=None, note=None):
    """`membranes`: {our probe: [steps, ...]}; `options`: what Ganglion is asked for beside the dialect."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.nir"
    nir.write(path, graph)
    (FOLDER / f"{name}.nir.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
    arrays = {"input": inputs, "output": output, **membranes}
    parts, listed = [], []
    for key, values in arrays.items():
        values = np.ascontiguousarray(values, dtype="<f4")
        assert len(values) == STEPS and np.isfinite(values).all(), (name, key, values.shape)
        parts.append(values.tobytes())
        listed.append({"name": key, "shape": list(values.shape)})
    (FOLDER / f"{name}.f32.gz").write_bytes(gzip.compress(b"".join(parts), mtime=0))
    counts = np.asarray(output)
    case = {
        "name": name, "dialect": framework, "holds": holds, "versions": versions,
        "made_by": made_by or framework, "options": options, "variables": variables,
        "margin": None if margin is None else float(f"{margin.least:.3g}"),
        "ties": None if margin is None or margin.ties == 0 else margin.ties, "ulps": ulps,
        "output_sum": float(np.abs(counts).sum()), "arrays": listed, "note": note,
    }
    manifest = FOLDER / "manifest.json"
    cases = json.loads(manifest.read_text())["cases"] if manifest.exists() else []
    cases = sorted([each for each in cases if each["name"] != name] + [case], key=lambda each: each["name"])
    lines = ",\n    ".join(json.dumps({k: v for k, v in each.items() if v is not None}) for each in cases)
    manifest.write_text('{\n  "cases": [\n    ' + lines + "\n  ]\n}\n")
    print(f"{name}: output sum {case['output_sum']:g} of {counts.size}, margin {case['margin']}")


def versions(**packages):
    packages = {**packages, "nir": nir.__version__ if hasattr(nir, "__version__") else nir.version,
                "h5py": h5py.__version__, "numpy": np.__version__}
    return ", ".join(f"{name} {version}" for name, version in packages.items())
