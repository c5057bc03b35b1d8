"""A second reading of NIR in plain numpy float64, to check a loader and engine against.

Written from the equations of the standard and the two discretisations, for clarity and not for speed; shares nothing
with the code under test, nor with the `nir` package: it reads the HDF5 tree itself. The one thing that it does not
work out is where a cycle is cut: every case states that by hand.
"""

from graphlib import TopologicalSorter

import h5py
import numpy as np

Edge = tuple[str, str]
NEURONS = ("I", "IF", "LI", "LIF", "CubaLI", "CubaLIF")


def read(path) -> tuple[dict[str, dict], list[Edge]]:
    """Nodes (type and fields, floats as float64) and edges; a nested graph's node x in g is called "g.x".

    The Input and Output of a nested graph stay as wires: an edge into g goes to its Input, one from g leaves its Output.
    """

    def tree(item):
        if isinstance(item, h5py.Group):
            return {key: tree(child) for key, child in item.items()}
        value = item[()]
        if isinstance(value, bytes):
            return value.decode()
        return np.asarray(value, np.float64) if np.issubdtype(value.dtype, np.number) else value

    nodes: dict[str, dict] = {}

    def port(graph: dict, prefix: str, name: str, kind: str) -> str:
        node = graph["nodes"][name]
        if node["type"] != "NIRGraph":
            return prefix + name
        inner = next(k for k, v in node["nodes"].items() if v["type"] == kind)
        return port(node, f"{prefix}{name}.", inner, kind)

    def flatten(graph: dict, prefix: str) -> list[Edge]:
        found = {(a.decode(), b.decode()) for a, b in graph["edges"]}  # a set: a duplicate edge counts once
        edges = [(port(graph, prefix, a, "Output"), port(graph, prefix, b, "Input")) for a, b in sorted(found)]
        for name, node in graph["nodes"].items():
            if node["type"] == "NIRGraph":
                edges += flatten(node, f"{prefix}{name}.")
            else:
                nodes[prefix + name] = node
        return edges

    with h5py.File(path) as file:
        return nodes, flatten(tree(file["node"]), "")


def conv2d(x, weight, bias, stride, padding, dilation, groups):
    """Cross-correlation of x [C, H, W] with weight [Cout, C/groups, kh, kw]."""
    out_channels, per_group, *kernel = weight.shape
    stride, dilation = np.broadcast_to(stride, 2).astype(int), np.broadcast_to(dilation, 2).astype(int)
    if isinstance(padding, str):
        # "same": d*(k-1) zeros an axis, the smaller half in front, as PyTorch does it.
        total = dilation * (np.array(kernel) - 1) * (padding == "same")
        before, after = total // 2, total - total // 2
    else:
        before = after = np.broadcast_to(padding, 2).astype(int)
    x = np.pad(x, [(0, 0), *zip(before, after)])
    height, width = ((x.shape[a + 1] - dilation[a] * (kernel[a] - 1) - 1) // stride[a] + 1 for a in (0, 1))
    y = np.empty((out_channels, height, width))
    for o in range(out_channels):
        first = o // (out_channels // int(groups)) * per_group
        for i in range(height):
            for j in range(width):
                rows = i * stride[0] + dilation[0] * np.arange(kernel[0])
                columns = j * stride[1] + dilation[1] * np.arange(kernel[1])
                y[o, i, j] = (weight[o] * x[first : first + per_group, rows][:, :, columns]).sum() + bias[o]
    return y


def conv1d(x, weight, bias, stride, padding, dilation, groups):
    """The same with one axis: a picture of height 1."""
    padding = padding if isinstance(padding, str) else (0, int(np.ravel(padding)[0]))
    one = lambda n: (1, int(np.ravel(n)[0]))  # noqa: E731
    return conv2d(x[:, None], weight[:, :, None], bias, one(stride), padding, one(dilation), groups)[:, 0]


def pool(x, kernel, stride, padding, average):
    """Sum over each window of x [C, H, W], zeros outside; divided by the whole window's size for the average."""
    kernel, stride, padding = (np.broadcast_to(a, 2).astype(int) for a in (kernel, stride, padding))
    x = np.pad(x, [(0, 0), (padding[0],) * 2, (padding[1],) * 2])
    height, width = ((x.shape[a + 1] - kernel[a]) // stride[a] + 1 for a in (0, 1))
    y = np.empty((x.shape[0], height, width))
    for i in range(height):
        for j in range(width):
            top, left = i * stride[0], j * stride[1]
            y[:, i, j] = x[:, top : top + kernel[0], left : left + kernel[1]].sum((1, 2))
    return y / kernel.prod() if average else y


class Run:
    """One pass over a stream. `margin` is the smallest distance to a threshold met so far."""

    def __init__(self, path, dt: float, discretization="euler", cuba_current="new", if_gain="r", cuts=()):
        self.nodes, self.edges = read(path)
        self.dt, self.euler, self.new_current, self.if_gain = dt, discretization == "euler", cuba_current == "new", if_gain
        self.cuts = set(cuts)
        unknown = self.cuts - set(self.edges)
        assert not unknown, f"cut edges that the file does not have: {unknown}"
        self.state: dict[str, list] = {}
        self.previous: dict[str, np.ndarray] = {}
        self.history: dict[str, list] = {}  # what went into each Delay, step by step
        self.margin = np.inf
        # Evaluation order: along the edges, except those that read the previous step.
        sorter = TopologicalSorter({name: set() for name in self.nodes})
        for a, b in self.edges:
            if (a, b) not in self.cuts and not self._holds_back(b):
                sorter.add(b, a)
        self.order = list(sorter.static_order())

    def _steps(self, node) -> np.ndarray:
        return np.rint(node["delay"] / self.dt).astype(int)  # half to even

    def _holds_back(self, name: str) -> bool:
        """A Delay of at least one step everywhere: its output needs nothing of the present step."""
        node = self.nodes[name]
        return node["type"] == "Delay" and bool((self._steps(node) >= 1).all())

    def __call__(self, stream: np.ndarray) -> np.ndarray:
        return np.stack([self._step(x) for x in stream])

    def _step(self, x: np.ndarray) -> np.ndarray:
        now: dict[str, np.ndarray] = {}

        def incoming(name: str) -> np.ndarray:
            total = 0.0
            for a, b in self.edges:
                if b == name:
                    total = total + (self._previous(a) if (a, b) in self.cuts else now[a])
            return total

        for name in self.order:
            node = self.nodes[name]
            if node["type"] == "Delay":
                present = None if self._holds_back(name) else incoming(name)
                now[name] = self._delay(name, node, present)
            elif node["type"] == "Input" and "." not in name:
                now[name] = x
            else:
                now[name] = self._node(name, node, incoming(name))
        for name, node in self.nodes.items():
            if node["type"] == "Delay":
                self.history.setdefault(name, []).append(incoming(name))
        self.previous = now
        return next(now[k] for k, node in self.nodes.items() if node["type"] == "Output" and "." not in k)

    def _previous(self, name: str) -> np.ndarray:
        """Output of the step before; zeros in the shape of the population at the first step."""
        return self.previous[name] if self.previous else np.zeros_like(self.nodes[name]["r"])

    def _delay(self, name: str, node: dict, present) -> np.ndarray:
        steps, past = self._steps(node), self.history.get(name, [])
        y = np.zeros(steps.shape)
        for index in np.ndindex(steps.shape):
            back = steps[index]
            if back == 0:
                y[index] = present[index]
            elif back <= len(past):
                y[index] = past[-back][index]
        return y

    def _node(self, name: str, p: dict, x: np.ndarray) -> np.ndarray:
        match p["type"]:
            case "Input" | "Output":
                return x.reshape(p["shape"].astype(int))
            case "Linear":
                return (p["weight"] @ x[..., None])[..., 0]
            case "Affine":
                return (p["weight"] @ x[..., None])[..., 0] + p["bias"]
            case "Scale":
                return p["scale"] * x
            case "Conv1d" | "Conv2d" as kind:
                convolve = conv1d if kind == "Conv1d" else conv2d
                return convolve(x, p["weight"], p["bias"], p["stride"], p["padding"], p["dilation"], p["groups"])
            case "SumPool2d" | "AvgPool2d" as kind:
                return pool(x, p["kernel_size"], p["stride"], p["padding"], kind == "AvgPool2d")
            case "Flatten":
                start, end = (int(p[k]) % x.ndim for k in ("start_dim", "end_dim"))
                return x.reshape(*x.shape[:start], -1, *x.shape[end + 1 :])
            case "Threshold":
                self._near(x, p["threshold"])
                return (x > p["threshold"]) * 1.0
            case kind if kind in NEURONS:
                return self._neuron(name, kind, p, x)
        raise TypeError(f"{name}: unknown primitive {p['type']}")

    def _neuron(self, name: str, kind: str, p: dict, x: np.ndarray) -> np.ndarray:
        current, v = self.state.setdefault(name, [np.zeros_like(x), np.zeros_like(x)])
        if kind in ("I", "IF"):
            gain = p["r"] if kind == "IF" and self.if_gain == "r" else p["r"] * self.dt
            v = v + gain * x
        else:
            if kind.startswith("Cuba"):
                a = self._decay(p["tau_syn"])
                new = a * current + (1 - a) * p.get("w_in", 1.0) * x
                x, current = (new if self.new_current else current), new
            d = self._decay(p["tau_mem"] if kind.startswith("Cuba") else p["tau"])
            v = d * v + (1 - d) * (p["v_leak"] + p["r"] * x)
        if not kind.endswith("IF"):
            self.state[name] = [current, v]
            return v
        self._near(v, p["v_threshold"])
        fired = v > p["v_threshold"]
        self.state[name] = [current, np.where(fired, p.get("v_reset", 0.0), v)]
        return fired * 1.0

    def _decay(self, tau: np.ndarray) -> np.ndarray:
        return 1 - self.dt / tau if self.euler else np.exp(-self.dt / tau)

    def _near(self, v: np.ndarray, threshold: np.ndarray) -> None:
        self.margin = min(self.margin, float(np.abs(v - threshold).min()))
