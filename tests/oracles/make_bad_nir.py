"""Write NIR files that a loader must refuse, with the reason, by h5py alone (the official package would not write them).

    python make_bad_nir.py        # writes ../fixtures/nir_bad/*.nir.gz and ../fixtures/nir_bad/manifest.json

Every file is the same good one, input [3] -> fc Affine -> lif LIF [4] -> output, with one thing wrong. Packed like
the good ones. Read them in a process that may be killed: several are made to hang or to fill the memory.
"""

import gzip
import json
import tempfile
from pathlib import Path

import h5py
import numpy as np

TARGET = Path(__file__).parent.parent / "fixtures" / "nir_bad"
CASES = {}


def bad(reason: str, *names: str, stage="read", note=None):
    """Register an edit of the open good file (or of its bytes, when it takes and returns bytes).

    names   what a good error message mentions: the node, the field
    stage   "file": not readable as HDF5; "read": the tree; "graph": nodes and edges; "discretise": numbers against dt
    """

    def register(edit):
        CASES[edit.__name__] = (edit, {"reason": reason, "names": list(names), "stage": stage} | ({"note": note} if note else {}))
        return edit

    return register


def write_node(group: h5py.Group, fields: dict) -> None:
    for key, value in fields.items():
        if isinstance(value, dict):
            write_node(group.create_group(key), value)
        elif isinstance(value, str):
            group.create_dataset(key, data=value, dtype=h5py.string_dtype())
        else:
            group.create_dataset(key, data=value)


def good() -> dict:
    rng = np.random.default_rng(1)
    full = lambda value: np.full(4, value, np.float32)  # noqa: E731
    return {
        "type": "NIRGraph",
        "nodes": {
            "input": {"type": "Input", "shape": np.array([3])},
            "fc": {"type": "Affine", "weight": rng.normal(size=(4, 3)).astype(np.float32), "bias": full(0.5)},
            "lif": {"type": "LIF", "tau": full(1e-3), "r": full(2), "v_leak": full(0), "v_threshold": full(0.5), "v_reset": full(0)},
            "output": {"type": "Output", "shape": np.array([4])},
        },
        "edges": np.array([["input", "fc"], ["fc", "lif"], ["lif", "output"]], dtype=h5py.string_dtype()),
    }


def put(file: h5py.File, path: str, value) -> None:
    """Replace one field or node of the graph; None removes it."""
    if path in file["node"]:
        del file["node"][path]
    if value is not None:
        parent, _, key = path.rpartition("/")
        write_node(file["node"][parent] if parent else file["node"], {key: value})


def connect(file: h5py.File, *edges: tuple[str, str]) -> None:
    old = [(a.decode(), b.decode()) for a, b in file["node/edges"]]
    put(file, "edges", np.array(old + list(edges), dtype=h5py.string_dtype()))


# The file.


@bad("not HDF5: a line of text", stage="file")
def not_hdf5(data: bytes):
    return b"this is not a model\n"


@bad("empty file", stage="file")
def empty(data: bytes):
    return b""


@bad("cut off after 60 % of its bytes", stage="file")
def truncated(data: bytes):
    return data[: len(data) * 6 // 10]


@bad("HDF5 without a /node group", "node")
def no_node(file):
    del file["node"]


# Links and storage that lead out of the file, or round in it.


@bad("a soft link stands in for a weight", "fc", "weight")
def soft_link(file):
    put(file, "nodes/fc/weight", None)
    file["spare"] = np.zeros((4, 3), np.float32)
    file["node/nodes/fc/weight"] = h5py.SoftLink("/spare")


@bad("an external link stands in for a weight", "fc", "weight")
def external_link(file):
    put(file, "nodes/fc/weight", None)
    file["node/nodes/fc/weight"] = h5py.ExternalLink("elsewhere.nir", "/node/nodes/fc/weight")


@bad("the bytes of a weight lie in another file (external storage)", "fc", "weight")
def external_storage(file):
    put(file, "nodes/fc/weight", None)
    file["node/nodes/fc"].create_dataset("weight", (4, 3), np.float32, external=[("elsewhere.bin", 0, 48)])


@bad("a weight is a virtual dataset over another file", "fc", "weight")
def virtual_dataset(file):
    put(file, "nodes/fc/weight", None)
    layout = h5py.VirtualLayout((4, 3), np.float32)
    layout[:] = h5py.VirtualSource("elsewhere.nir", "weight", (4, 3))
    file["node/nodes/fc"].create_virtual_dataset("weight", layout)


@bad("a hard link makes the graph contain itself without end", "loop", note="a recursive reader never returns or exhausts its stack")
def hard_link_loop(file):
    file["node/nodes/loop"] = file["node"]


# Sizes.


@bad("Input declares 1e12 values", "input", "shape", stage="graph")
def huge_input(file):
    put(file, "nodes/input/shape", np.array([10**12]))


@bad("Input declares 2^32 x 2^32 values: the product is 0 in 64 bits", "input", "shape", stage="graph")
def huge_input_overflow(file):
    put(file, "nodes/input/shape", np.array([2**32, 2**32]))


@bad("Input declares a negative size", "input", "shape", stage="graph")
def negative_input(file):
    put(file, "nodes/input/shape", np.array([-3]))


@bad("a weight declares 1e6 x 1e6 values (4 TB) in gzip chunks never written", "fc", "weight")
def huge_weight(file):
    put(file, "nodes/fc/weight", None)
    file["node/nodes/fc"].create_dataset("weight", (10**6, 10**6), np.float32, chunks=(1000, 1000), compression="gzip")


# Nodes and fields.


@bad("unknown primitive Izhikevich", "lif", "Izhikevich")
def unknown_primitive(file):
    put(file, "nodes/lif/type", "Izhikevich")


@bad("a node without a type", "lif", "type")
def missing_type(file):
    put(file, "nodes/lif/type", None)


@bad("Affine without weight", "fc", "weight")
def missing_weight(file):
    put(file, "nodes/fc/weight", None)


@bad("LIF with a field that LIF does not have", "lif", "w_in")
def unknown_field(file):
    put(file, "nodes/lif/w_in", np.ones(4, np.float32))


@bad("NaN in a weight", "fc", "weight")
def nan_weight(file):
    file["node/nodes/fc/weight"][2, 1] = np.nan


@bad("infinite threshold", "lif", "v_threshold")
def infinite_threshold(file):
    file["node/nodes/lif/v_threshold"][0] = np.inf


@bad("weight is text", "fc", "weight")
def text_weight(file):
    put(file, "nodes/fc/weight", "0.5")


@bad("weight has one axis", "fc", "weight")
def flat_weight(file):
    put(file, "nodes/fc/weight", np.zeros(12, np.float32))


@bad("LIF whose tau has 4 values and whose r has 3", "lif", "r")
def uneven_fields(file):
    put(file, "nodes/lif/r", np.ones(3, np.float32))


@bad('Conv2d with padding "reflect"', "fc", "padding")
def unknown_padding(file):
    put(file, "nodes/fc", {
        "type": "Conv2d", "input_shape": np.array([4, 4]), "weight": np.ones((1, 1, 3, 3), np.float32), "bias": np.zeros(1, np.float32),
        "stride": np.array([1, 1]), "padding": "reflect", "dilation": np.array([1, 1]), "groups": 1,
    })


@bad("Conv2d with stride 0", "fc", "stride")
def zero_stride(file):
    put(file, "nodes/input/shape", np.array([1, 4, 4]))
    put(file, "nodes/fc", {
        "type": "Conv2d", "input_shape": np.array([4, 4]), "weight": np.ones((4, 1, 4, 4), np.float32), "bias": np.zeros(4, np.float32),
        "stride": np.array([0, 0]), "padding": np.array([0, 0]), "dilation": np.array([1, 1]), "groups": 1,
    })


# The graph.


@bad("Affine gives 4 values to a LIF of 5", "fc", "lif", stage="graph")
def shape_mismatch(file):
    for field, value in (("tau", 1e-3), ("r", 2), ("v_leak", 0), ("v_threshold", 0.5), ("v_reset", 0)):
        put(file, f"nodes/lif/{field}", np.full(5, value, np.float32))
    put(file, "nodes/output/shape", np.array([5]))


@bad("an edge to a node that does not exist", "ghost", stage="graph")
def dangling_edge(file):
    connect(file, ("lif", "ghost"))


@bad("two Inputs", "input", "input2", stage="graph")
def two_inputs(file):
    put(file, "nodes/input2", {"type": "Input", "shape": np.array([3])})
    connect(file, ("input2", "fc"))


@bad("two Outputs", "output", "output2", stage="graph")
def two_outputs(file):
    put(file, "nodes/output2", {"type": "Output", "shape": np.array([4])})
    connect(file, ("lif", "output2"))


@bad("no Output", "Output", stage="graph",
     note="the reference reader appends an Output behind a leaf; a loader may repair this with a warning")
def no_output(file):
    put(file, "nodes/output", None)
    put(file, "edges", np.array([["input", "fc"], ["fc", "lif"]], dtype=h5py.string_dtype()))


@bad("no edges: an empty float64 dataset, as h5py writes an empty list", "output", stage="graph")
def no_edges(file):
    put(file, "edges", np.array([]))


@bad("edges have three columns", "edges")
def edges_three_columns(file):
    put(file, "edges", np.array([["input", "fc", "lif"]], dtype=h5py.string_dtype()))


@bad("a cycle of two linear nodes, without any neuron or Delay", "mix", stage="graph")
def algebraic_loop(file):
    for name in ("mix", "back"):
        put(file, f"nodes/{name}", {"type": "Linear", "weight": np.eye(4, dtype=np.float32) / 2})
    connect(file, ("fc", "mix"), ("mix", "back"), ("back", "mix"), ("mix", "lif"))


@bad("a cycle whose only Delay rounds to 0 steps at dt 1e-4", "delay", stage="graph")
def zero_delay_loop(file):
    put(file, "nodes/mix", {"type": "Linear", "weight": np.eye(4, dtype=np.float32) / 2})
    put(file, "nodes/delay", {"type": "Delay", "delay": np.full(4, 1e-6)})
    connect(file, ("fc", "mix"), ("mix", "delay"), ("delay", "mix"), ("mix", "lif"))


# Numbers that no dt or no discretisation allows.


@bad("tau 0", "lif", "tau", stage="discretise")
def zero_tau(file):
    file["node/nodes/lif/tau"][1] = 0


@bad("tau is negative", "lif", "tau", stage="discretise")
def negative_tau(file):
    file["node/nodes/lif/tau"][1] = -1e-3


@bad("tau 5e-5 is shorter than dt 1e-4", "lif", "tau", stage="discretise",
     note="under euler only (exact accepts it); the error names both ways out, a smaller dt and exact")
def tau_below_dt(file):
    file["node/nodes/lif/tau"][1] = 5e-5


@bad("negative Delay", "lif", "delay", stage="discretise")
def negative_delay(file):
    put(file, "nodes/lif", {"type": "Delay", "delay": np.array([1e-4, -1e-4, 0, 0])})


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    for old in TARGET.glob("*.nir.gz"):
        old.unlink()
    cases = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, (edit, info) in CASES.items():
            path = Path(scratch) / f"{name}.nir"
            with h5py.File(path, "w") as file:
                write_node(file, {"version": "1.0.8", "node": good()})
                if info["stage"] != "file":
                    edit(file)
            data = path.read_bytes()
            if info["stage"] == "file":
                data = edit(data)
            (TARGET / f"{name}.nir.gz").write_bytes(gzip.compress(data, 9, mtime=0))
            cases.append({"file": f"{name}.nir.gz", **info})
            print(f"{name:24} {len(data):6} bytes  {info['reason']}")
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    (TARGET / "manifest.json").write_text(f'{{"cases":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
