"""Write small NIR files with the official `nir` package, and what they must answer, computed by nir_oracle.py.

    python make_nir_fixtures.py        # writes ../fixtures/nir/*.nir.gz and ../fixtures/nir/manifest.json

The files are packed (gunzip them whole before reading): a NIR file of ten numbers takes 15 kB of HDF5, mostly zeros.

Each case draws its parameters and its input from a seed, and takes the first seed for which no membrane comes closer
than 1e-4 to a threshold under any reading listed, so that float32 and float64 must agree on every spike, and no two
readings give the same output.
"""

import gzip
import json
import tempfile
from pathlib import Path

import h5py
import nir
import numpy as np

import nir_oracle

TARGET = Path(__file__).parent.parent / "fixtures" / "nir"
MARGIN = 1e-4
STEPS = 16  # of a stream; 4 where nothing has state
CASES = {}

EULER, EXACT = {"discretization": "euler"}, {"discretization": "exact"}
BOTH = (EULER, EXACT)


def case(holds, readings=BOTH, dt=1e-4, dt_source="flag", cuts=(), margin=MARGIN, compression=None, note=None):
    """Register a builder: rng -> (graph, input stream[, edit of the written file]).

    readings    how the file is to be read; one expected output for each
    dt_source   "flag": give dt to the loader; "metadata", "inferred", "default": it must find dt by itself
    cuts        the edges that read the previous step, by the rule of the project, worked out by hand
    """
    if not isinstance(readings, tuple):
        readings = (readings,)
    info = dict(holds=holds, dt=dt, dt_source=dt_source, cuts=[list(c) for c in cuts])
    if note:
        info["note"] = note

    def register(build):
        CASES[build.__name__] = (build, info, readings, margin, compression)
        return build

    return register


# Drawing. float32 unless a case says otherwise; inputs are multiples of 1/8 and thus exact.


def f4(a):
    return np.asarray(a, np.float32)


def weights(rng, *shape, scale=1.0):
    return f4(rng.normal(0, scale, shape))


def taus(rng, *shape):
    return f4(rng.uniform(4e-4, 2e-3, shape))


def spikes(rng, *shape, rate=0.4):
    return (rng.random((STEPS, *shape)) < rate).astype(float)


def reals(rng, *shape):
    return rng.integers(-16, 17, (STEPS, *shape)) / 8


def lif(rng, *shape, gain=3.0, **fields):
    """Every parameter differs between neurons, and none has its neutral value."""
    fields = {
        "tau": taus(rng, *shape),
        "r": f4(rng.uniform(0.8, 1.2, shape) * gain),
        "v_leak": f4(rng.uniform(-0.1, 0.2, shape)),
        "v_threshold": f4(rng.uniform(0.3, 0.6, shape)),
        "v_reset": f4(rng.uniform(-0.2, 0.1, shape)),
    } | fields
    return nir.LIF(**fields)


def cuba(rng, kind, *shape):
    fields = {
        "tau_syn": taus(rng, *shape),
        "tau_mem": taus(rng, *shape),
        "r": f4(rng.uniform(2, 3, shape)),
        "v_leak": f4(rng.uniform(-0.1, 0.2, shape)),
        "w_in": f4(rng.uniform(0.7, 1.6, shape)),
    }
    if kind is nir.CubaLIF:
        fields |= {"v_threshold": f4(rng.uniform(0.3, 0.6, shape)), "v_reset": f4(rng.uniform(-0.2, 0.1, shape))}
    return kind(**fields)


def conv(kind, rng, weight, **fields):
    """Without a type check on construction: the package derives a wrong type for grouped and non-square kernels."""
    defaults = {"input_shape": None, "stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    node = kind(**defaults | fields | {"input_shape": None}, weight=weight, bias=weights(rng, weight.shape[0]))
    node.input_shape = fields["input_shape"]
    return node


def chain(shape_in, *nodes, shape_out):
    """input -> n0 -> n1 -> … -> output, with the shapes given and nothing checked."""
    named = {"input": nir.Input(np.array(shape_in))}
    named |= {f"n{i}": node for i, node in enumerate(nodes)}
    named["output"] = nir.Output(np.array(shape_out))
    names = list(named)
    return graph(named, list(zip(names, names[1:])))


def graph(nodes, edges, **fields):
    return nir.NIRGraph(nodes, edges, type_check=False, **fields)


def ports(shape_in, shape_out):
    return {"input": nir.Input(np.array(shape_in)), "output": nir.Output(np.array(shape_out))}


# Primitives without state.


@case("Affine, Linear, Scale", readings={})
def affine_linear_scale(rng):
    nodes = nir.Affine(weights(rng, 3, 4), weights(rng, 3)), nir.Linear(weights(rng, 5, 3)), nir.Scale(weights(rng, 5))
    return chain([4], *nodes, shape_out=[5]), reals(rng, 4)


@case("Affine and Linear whose weights have a leading axis [2, out, in]: one matrix for each row of the input", readings={})
def affine_leading_axis(rng):
    nodes = nir.Affine(weights(rng, 2, 3, 4), weights(rng, 2, 3)), nir.Linear(weights(rng, 2, 5, 3))
    return chain([2, 4], *nodes, shape_out=[2, 5]), reals(rng, 2, 4)


@case("Threshold behind an Affine (output is 0 or 1)", readings={})
def threshold(rng):
    return chain([4], nir.Affine(weights(rng, 6, 4), weights(rng, 6)), nir.Threshold(weights(rng, 6)), shape_out=[6]), reals(rng, 4)


@case("Flatten of all axes (start 0, end -1), row major, then Linear", readings={})
def flatten_all(rng):
    flat = nir.Flatten({"input": np.array([2, 3, 2])}, start_dim=0, end_dim=-1)
    return chain([2, 3, 2], flat, nir.Linear(weights(rng, 3, 12)), shape_out=[3]), reals(rng, 2, 3, 2)


@case("Flatten of the last two axes of three (start 1, end 2), then Scale", readings={})
def flatten_part(rng):
    flat = nir.Flatten({"input": np.array([2, 3, 2])}, start_dim=1, end_dim=2)
    return chain([2, 3, 2], flat, nir.Scale(weights(rng, 2, 6)), shape_out=[2, 6]), reals(rng, 2, 3, 2)


@case("Conv1d: stride 2, padding 1", readings={})
def conv1d_strided(rng):
    node = conv(nir.Conv1d, rng, weights(rng, 3, 2, 3), input_shape=9, stride=2, padding=1)
    return chain([2, 9], node, shape_out=[3, 5]), reals(rng, 2, 9)


@case('Conv1d: kernel 4, dilation 3, padding "same" (9 zeros: 4 before, 5 after), 2 groups', readings={})
def conv1d_same_grouped(rng):
    node = conv(nir.Conv1d, rng, weights(rng, 4, 1, 4), input_shape=7, padding="same", dilation=3, groups=2)
    return chain([2, 7], node, shape_out=[4, 7]), reals(rng, 2, 7)


@case('Conv1d: padding "valid"', readings={})
def conv1d_valid(rng):
    node = conv(nir.Conv1d, rng, weights(rng, 2, 2, 3), input_shape=6, padding="valid")
    return chain([2, 6], node, shape_out=[2, 4]), reals(rng, 2, 6)


@case("Conv2d: kernel 3x2, stride (2, 1), padding (1, 0), input 5x4", readings={})
def conv2d_non_square(rng):
    node = conv(nir.Conv2d, rng, weights(rng, 3, 2, 3, 2), input_shape=(5, 4), stride=(2, 1), padding=(1, 0))
    return chain([2, 5, 4], node, shape_out=[3, 3, 3]), reals(rng, 2, 5, 4)


@case("Conv2d: dilation (1, 2), padding (0, 1)", readings={})
def conv2d_dilated(rng):
    node = conv(nir.Conv2d, rng, weights(rng, 2, 1, 2, 2), input_shape=(3, 5), padding=(0, 1), dilation=(1, 2))
    return chain([1, 3, 5], node, shape_out=[2, 2, 5]), reals(rng, 1, 3, 5)


@case("Conv2d: 2 groups, 4 channels in, 2 out", readings={})
def conv2d_grouped(rng):
    node = conv(nir.Conv2d, rng, weights(rng, 2, 2, 3, 3), input_shape=(4, 4), padding=(1, 1), groups=2)
    return chain([4, 4, 4], node, shape_out=[2, 4, 4]), reals(rng, 4, 4, 4)


@case('Conv2d: padding "same" with kernel 2x4 (1 and 3 zeros: the smaller half in front)', readings={})
def conv2d_same(rng):
    node = conv(nir.Conv2d, rng, weights(rng, 2, 1, 2, 4), input_shape=(3, 4), padding="same")
    return chain([1, 3, 4], node, shape_out=[2, 3, 4]), reals(rng, 1, 3, 4)


@case('Conv2d: padding "valid", stride 2', readings={})
def conv2d_valid(rng):
    node = conv(nir.Conv2d, rng, weights(rng, 2, 1, 2, 2), input_shape=(5, 6), stride=(2, 2), padding="valid")
    return chain([1, 5, 6], node, shape_out=[2, 2, 3]), reals(rng, 1, 5, 6)


@case("Conv2d whose stride, padding and dilation are stored as one integer each", readings={})
def conv2d_scalar_fields(rng):
    node = conv(nir.Conv2d, rng, weights(rng, 2, 1, 3, 3), input_shape=(5, 5))
    node.stride, node.padding, node.dilation = 2, 1, 1
    return chain([1, 5, 5], node, shape_out=[2, 3, 3]), reals(rng, 1, 5, 5)


@case("SumPool2d: kernel (2, 3), stride (1, 2), padding (1, 1), floor", readings={})
def sum_pool(rng):
    node = nir.SumPool2d(np.array([2, 3]), np.array([1, 2]), np.array([1, 1]))
    return chain([2, 3, 4], node, shape_out=[2, 4, 2]), reals(rng, 2, 3, 4)


@case("AvgPool2d: kernel 2, stride 2, padding 1; the divisor counts the padding", readings={})
def avg_pool(rng):
    node = nir.AvgPool2d(np.array([2, 2]), np.array([2, 2]), np.array([1, 1]))
    return chain([2, 4, 5], node, shape_out=[2, 3, 3]), reals(rng, 2, 4, 5)


@case("Delay of 0, 1, 2, 5 and 20 steps (longer than the stream)", readings={})
def delay(rng):
    return chain([5], nir.Delay(np.array([0, 1e-4, 2e-4, 5e-4, 2e-3])), shape_out=[5]), reals(rng, 5)


@case("Delay of 0.5, 1.5, 2.5 and 3.25 steps: half to even gives 0, 2, 2, 3", readings={}, dt=2.0**-13)
def delay_rounding(rng):
    return chain([4], nir.Delay(np.array([0.5, 1.5, 2.5, 3.25]) * 2.0**-13), shape_out=[4]), reals(rng, 4)


# Neurons. Each hangs directly on the input.


@case("LIF: all parameters differ between neurons")
def lif_all_parameters(rng):
    return chain([5], lif(rng, 5), shape_out=[5]), reals(rng, 5)


@case("LIF with population shape [2, 3, 2]")
def lif_3d(rng):
    return chain([2, 3, 2], lif(rng, 2, 3, 2), shape_out=[2, 3, 2]), spikes(rng, 2, 3, 2)


@case("LI: output is v")
def li(rng):
    return chain([4], nir.LI(taus(rng, 4), weights(rng, 4), weights(rng, 4, scale=0.3)), shape_out=[4]), reals(rng, 4)


CUBA = tuple(r | {"cuba_current": order} for r in BOTH for order in ("new", "old"))


@case("CubaLIF; the membrane reads the new current (default) or the old one", readings=CUBA)
def cuba_lif(rng):
    return chain([5], cuba(rng, nir.CubaLIF, 5), shape_out=[5]), reals(rng, 5)


@case("CubaLI; the membrane reads the new current (default) or the old one", readings=CUBA)
def cuba_li(rng):
    return chain([4], cuba(rng, nir.CubaLI, 4), shape_out=[4]), reals(rng, 4)


@case("I: v += dt*r*x, output v", readings={})
def integrator(rng):
    return chain([4], nir.I(f4(rng.uniform(500, 4000, 4))), shape_out=[4]), reals(rng, 4)


GAINS = ({"if_gain": "r"}, {"if_gain": "r_dt"})


@case("IF with r = 1: one input of 1 raises v by 1", readings=GAINS[0], note="default gain: r")
def if_unit(rng):
    node = nir.IF(f4(np.ones(4)), f4(rng.uniform(1, 3, 4)), f4(rng.uniform(-0.5, 0.5, 4)))
    return chain([4], node, shape_out=[4]), reals(rng, 4)


@case("IF with r = 1/dt, again a gain of 1", readings=GAINS[1], note="default gain: r*dt")
def if_inverse_dt(rng):
    node = nir.IF(f4(np.full(4, 1e4)), f4(rng.uniform(1, 3, 4)), f4(np.zeros(4)))
    return chain([4], node, shape_out=[4]), reals(rng, 4)


@case("IF with r neither 1 nor 1/dt: both gains", readings=GAINS, note="default gain: r*dt, with a warning")
def if_other(rng):
    node = nir.IF(f4(rng.uniform(2000, 4000, 4)), f4(rng.uniform(0.3, 0.6, 4)), f4(np.zeros(4)))
    return chain([4], node, shape_out=[4]), reals(rng, 4)


@case("IF that reaches its threshold exactly: v = 1, 2, 3 are exact and must not fire at thresholds 1, 2, 3",
      readings=GAINS[0], margin=None, note="the comparison is strict: neuron k fires every k + 1 steps; with >= every k steps")
def if_strict(rng):
    node = nir.IF(f4(np.ones(3)), f4([1, 2, 3]), f4(np.zeros(3)))
    return chain([3], node, shape_out=[3]), np.ones((STEPS, 3))


# How values are stored.


@case("LIF and CubaLIF in gzip chunks, as the package writes by default", compression="gzip")
def stored_gzip(rng):
    nodes = lif(rng, 4), nir.Affine(weights(rng, 3, 4), weights(rng, 3)), cuba(rng, nir.CubaLIF, 3)
    return chain([4], *nodes, shape_out=[3]), reals(rng, 4)


@case("float64 parameters, an int64 threshold and reset, an int64 weight")
def stored_mixed_types(rng):
    n = 4
    node = lif(rng, n, tau=rng.uniform(4e-4, 2e-3, n), r=rng.uniform(4, 6, n), v_leak=np.zeros(n),
               v_threshold=np.ones(n, np.int64), v_reset=np.zeros(n, np.int64))
    return chain([3], nir.Linear(rng.integers(-2, 4, (n, 3))), node, shape_out=[n]), reals(rng, 3)


@case("0-d parameters: one value for the whole population of 3")
def stored_scalars(rng):
    fields = {"tau": 5e-4, "r": 1.25, "v_leak": 0.05, "v_threshold": 0.4, "v_reset": -0.1}
    node = nir.LIF(**{k: np.float32(v) for k, v in fields.items()})
    return chain([4], nir.Affine(weights(rng, 3, 4), weights(rng, 3)), node, shape_out=[3]), reals(rng, 4)


def without(*paths):
    """An edit of the written file: remove these fields."""

    def edit(file):
        for path in paths:
            del file["node/nodes"][path]

    return edit


@case("absent v_reset (0), absent w_in (1)")
def absent_fields(rng):
    nodes = lif(rng, 4), nir.Linear(weights(rng, 3, 4)), cuba(rng, nir.CubaLIF, 3)
    return chain([4], *nodes, shape_out=[3]), reals(rng, 4), without("n0/v_reset", "n2/v_reset", "n2/w_in")


@case("absent Conv2d input_shape and Flatten input_type: both follow from the Input", readings={})
def absent_shapes(rng):
    nodes = (
        conv(nir.Conv2d, rng, weights(rng, 2, 1, 2, 2), input_shape=(3, 4)),
        nir.Flatten({"input": np.array([2, 2, 3])}, start_dim=0),
        nir.Linear(weights(rng, 3, 12)),
    )
    return chain([1, 3, 4], *nodes, shape_out=[3]), reals(rng, 1, 3, 4), without("n0/input_shape", "n1/input_type")


@case("snnTorch's convention at dt 1 ms: r = tau/dt and w_in = tau_syn/dt give dt away", EULER, dt=1e-3, dt_source="inferred")
def dt_inferred(rng):
    def tau(n):
        return f4(1e-3 / (1 - rng.uniform(0.5, 0.9, n)))

    a, b = (tau(3) for _ in range(2)), tau(4)
    tau_syn, tau_mem = a
    nodes = (
        nir.LIF(tau=b, r=f4(b / 1e-3), v_leak=f4(np.zeros(4)), v_threshold=f4(rng.uniform(1.2, 1.8, 4)), v_reset=f4(np.zeros(4))),
        nir.Linear(weights(rng, 3, 4)),
        nir.CubaLIF(tau_syn=tau_syn, tau_mem=tau_mem, r=f4(tau_mem / 1e-3), w_in=f4(tau_syn / 1e-3),
                    v_leak=f4(np.zeros(3)), v_threshold=f4(rng.uniform(0.5, 1, 3)), v_reset=f4(np.zeros(3))),
    )
    return chain([4], *nodes, shape_out=[3]), spikes(rng, 4)


@case("metadata {dt: 0.0005} at the root", dt=5e-4, dt_source="metadata")
def dt_metadata(rng):
    node = lif(rng, 4, tau=f4(rng.uniform(2e-3, 5e-3, 4)))
    made = chain([4], node, shape_out=[4])
    made.metadata = {"dt": 5e-4, "comment": "free text"}
    return made, reals(rng, 4)


@case("no sign of dt anywhere: 1e-4 s", dt_source="default")
def dt_default(rng):
    return chain([4], lif(rng, 4), shape_out=[4]), reals(rng, 4)


@case('names: "10" before "9", a dot, an accent, a space, no letters from a to z at all')
def names(rng):
    nodes = ports([3], [4]) | {
        "9": nir.Linear(weights(rng, 4, 3)),
        "10": lif(rng, 4),
        "lif1.w_rec": nir.Linear(weights(rng, 4, 4)),
        "é ß": nir.Scale(weights(rng, 4)),
        "出力": lif(rng, 4),
    }
    path = ["input", "9", "10", "lif1.w_rec", "é ß", "出力", "output"]
    return graph(nodes, list(zip(path, path[1:]))), reals(rng, 3)


# Graphs.


@case("fan-out of the input to two Affines, fan-in of both at a LIF, and a second way round it to the output")
def fan_in_fan_out(rng):
    nodes = ports([3], [4]) | {
        "a": nir.Affine(weights(rng, 4, 3), weights(rng, 4)),
        "b": nir.Linear(weights(rng, 4, 3)),
        "lif": lif(rng, 4),
        "skip": nir.Scale(weights(rng, 4)),
    }
    edges = [("lif", "output"), ("input", "b"), ("a", "lif"), ("b", "lif"), ("input", "a"), ("b", "skip"), ("skip", "output")]
    return graph(nodes, edges), reals(rng, 3)


@case("the edge (linear, lif) written twice counts once", note="the standard is silent; importers drop duplicates")
def duplicate_edge(rng):
    nodes = ports([3], [4]) | {"linear": nir.Linear(weights(rng, 4, 3)), "lif": lif(rng, 4)}
    edges = [("input", "linear"), ("linear", "lif"), ("linear", "lif"), ("lif", "output")]
    return graph(nodes, edges), reals(rng, 3)


@case("NIRGraph in NIRGraph in NIRGraph, without a cycle; inner names repeat outer ones")
def nested(rng):
    inner = ports([4], [4]) | {"lif": lif(rng, 4)}
    inner = graph(inner, [("input", "lif"), ("lif", "output")])
    middle = ports([3], [4]) | {"linear": nir.Linear(weights(rng, 4, 3)), "sub": inner}
    middle = graph(middle, [("input", "linear"), ("linear", "sub"), ("sub", "output")])
    outer = ports([3], [2]) | {"sub": middle, "linear": nir.Linear(weights(rng, 2, 4)), "lif": lif(rng, 2)}
    return graph(outer, [("input", "sub"), ("sub", "linear"), ("linear", "lif"), ("lif", "output")]), reals(rng, 3)


@case("recurrence as snnTorch writes it: a nested graph of LIF and w_rec between two layers",
      cuts=[("rec.lif", "rec.w_rec")])
def recurrent_nested(rng):
    rec = ports([4], [4]) | {"lif": lif(rng, 4), "w_rec": nir.Linear(weights(rng, 4, 4))}
    rec = graph(rec, [("input", "lif"), ("lif", "w_rec"), ("w_rec", "lif"), ("lif", "output")])
    nodes = ports([3], [2]) | {"fc": nir.Affine(weights(rng, 4, 3), weights(rng, 4)), "rec": rec,
                               "out": nir.Linear(weights(rng, 2, 4)), "li": nir.LI(taus(rng, 2), f4([2, 3]), f4([0, 0.1]))}
    edges = [("input", "fc"), ("fc", "rec"), ("rec", "out"), ("out", "li"), ("li", "output")]
    return graph(nodes, edges), spikes(rng, 3)


@case("recurrence in the flat: CubaLIF and an Affine; its bias acts in every step, the first included",
      cuts=[("lif", "w_rec")])
def recurrent_flat(rng):
    nodes = ports([4], [4]) | {"lif": cuba(rng, nir.CubaLIF, 4), "w_rec": nir.Affine(weights(rng, 4, 4), weights(rng, 4, scale=0.5))}
    return graph(nodes, [("input", "lif"), ("lif", "w_rec"), ("w_rec", "lif"), ("lif", "output")]), spikes(rng, 4)


@case("an edge from a LIF to itself", cuts=[("lif", "lif")])
def recurrent_self_edge(rng):
    return graph(ports([4], [4]) | {"lif": lif(rng, 4)}, [("input", "lif"), ("lif", "lif"), ("lif", "output")]), spikes(rng, 4)


@case("an edge from a LI to itself: a real value goes round", cuts=[("li", "li")])
def recurrent_li(rng):
    nodes = ports([3], [3]) | {"li": nir.LI(taus(rng, 3), f4([0.5, -0.8, 0.9]), f4([0.1, 0, -0.1]))}
    return graph(nodes, [("input", "li"), ("li", "li"), ("li", "output")]), reals(rng, 3)


@case("two LIFs in a cycle, both seen at the output: b sees a in the same step, a sees b one step late",
      cuts=[("b", "ba")])
def cycle_two_neurons(rng):
    top = f4(np.vstack([np.eye(3), np.zeros((3, 3))]))
    nodes = ports([3], [6]) | {
        "a": lif(rng, 3), "b": lif(rng, 3),
        "ab": nir.Linear(weights(rng, 3, 3)), "ba": nir.Affine(weights(rng, 3, 3), weights(rng, 3, scale=0.3)),
        "show_a": nir.Linear(top), "show_b": nir.Linear(top[::-1].copy()),
    }
    edges = [("input", "a"), ("a", "ab"), ("ab", "b"), ("b", "ba"), ("ba", "a"),
             ("a", "show_a"), ("b", "show_b"), ("show_a", "output"), ("show_b", "output")]
    return graph(nodes, edges), spikes(rng, 3)


@case("the input enters both LIFs of a cycle: byte order decides, and Z comes before a", cuts=[("a", "aZ")])
def cycle_tie(rng):
    nodes = ports([3], [3]) | {"a": lif(rng, 3), "Z": lif(rng, 3),
                               "aZ": nir.Linear(weights(rng, 3, 3)), "Za": nir.Linear(weights(rng, 3, 3))}
    edges = [("input", "a"), ("input", "Z"), ("a", "aZ"), ("aZ", "Z"), ("Z", "Za"), ("Za", "a"), ("a", "output")]
    return graph(nodes, edges), spikes(rng, 3)


@case("three LIFs in a row with the ways back c to a, b to a and c to c", cuts=[("c", "ca"), ("b", "a"), ("c", "c")])
def cycle_three_neurons(rng):
    nodes = ports([3], [3]) | {k: lif(rng, 3) for k in "abc"}
    nodes |= {k: nir.Linear(weights(rng, 3, 3)) for k in ("ab", "bc", "ca")}
    edges = [("input", "a"), ("a", "ab"), ("ab", "b"), ("b", "bc"), ("bc", "c"), ("c", "ca"), ("ca", "a"),
             ("b", "a"), ("c", "c"), ("c", "output")]
    return graph(nodes, edges), spikes(rng, 3)


@case("a Delay of 1, 2 and 3 steps in the way back: the Delay is the cut and nothing else is late")
def cycle_delay(rng):
    nodes = ports([3], [3]) | {"lif": lif(rng, 3), "w_rec": nir.Linear(weights(rng, 3, 3)),
                               "delay": nir.Delay(np.array([1e-4, 2e-4, 3e-4]))}
    edges = [("input", "lif"), ("lif", "w_rec"), ("w_rec", "delay"), ("delay", "lif"), ("lif", "output")]
    return graph(nodes, edges), spikes(rng, 3)


@case("the cycle holds no neuron but a Delay: a recirculating sum", readings={})
def cycle_delay_only(rng):
    nodes = ports([3], [3]) | {"mix": nir.Scale(f4([0.5, -0.75, 0.25])), "delay": nir.Delay(np.array([1e-4, 2e-4, 3e-4]))}
    return graph(nodes, [("input", "mix"), ("delay", "mix"), ("mix", "delay"), ("mix", "output")]), reals(rng, 3)


@case("a small convolutional network: Conv2d, IF, SumPool2d, Flatten, Affine, LIF; gzip", compression="gzip",
      note="default gain of the IF: r")
def small_cnn(rng):
    shape = (3, 4, 4)
    nodes = (
        conv(nir.Conv2d, rng, weights(rng, 3, 1, 3, 3, scale=0.7), input_shape=(4, 4), padding=(1, 1)),
        nir.IF(f4(np.ones(shape)), f4(rng.uniform(0.8, 1.2, shape)), f4(np.zeros(shape))),
        nir.SumPool2d(np.array([2, 2]), np.array([2, 2]), np.array([0, 0])),
        nir.Flatten({"input": np.array([3, 2, 2])}, start_dim=0, end_dim=-1),
        nir.Affine(weights(rng, 5, 12), weights(rng, 5)),
        lif(rng, 5),
    )
    return chain([1, 4, 4], *nodes, shape_out=[5]), spikes(rng, 1, 4, 4)


# Writing.


def listed(array: np.ndarray) -> dict:
    """Shape and flat values; whole numbers without a decimal point, so that spikes stay short."""
    flat = [int(v) if v == int(v) else float(v) for v in array.ravel()]
    return {"shape": list(array.shape), "data": flat}


def make(name: str, scratch: Path) -> dict:
    build, info, readings, least, compression = CASES[name]
    path = scratch / f"{name}.nir"
    for seed in range(1000):
        made, stream, *edits = build(np.random.default_rng(seed))
        nir.write(path, made, compression=compression)
        for edit in edits:
            with h5py.File(path, "r+") as file:
                edit(file)
        types = sorted({node["type"] for node in nir_oracle.read(path)[0].values()})
        if not {*nir_oracle.NEURONS, "Delay"} & {*types}:
            stream = stream[:4]
        expected = []
        for reading in readings:
            run = nir_oracle.Run(path, info["dt"], cuts=[tuple(c) for c in info["cuts"]], **reading)
            expected.append({"reading": reading, "output": run(stream), "min_margin": run.margin})
        far = all(e["min_margin"] > (least or -1) for e in expected)
        alive = all(np.abs(e["output"]).mean() > 0.1 for e in expected)
        told_apart = len({e["output"].tobytes() for e in expected}) == len(expected)
        if far and alive and told_apart:
            break
    else:
        raise RuntimeError(f"{name}: no seed keeps its margins")
    for e in expected:
        e["output"] = listed(e["output"])
        if np.isinf(e["min_margin"]):
            del e["min_margin"]  # nothing has a threshold
    (TARGET / f"{name}.nir.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    return {"file": f"{name}.nir.gz", **info, "types": types, "input": listed(stream), "expected": expected}


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    for old in TARGET.glob("*.nir.gz"):
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        cases = [make(name, Path(scratch)) for name in CASES]
    versions = {"nir": nir.version, "h5py": h5py.version.version, "hdf5": h5py.version.hdf5_version, "numpy": np.__version__}
    lines = ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases)
    (TARGET / "manifest.json").write_text(f'{{"made_with":{json.dumps(versions)},\n"cases":[\n{lines}\n]}}\n')
    for c in cases:
        margins = [e["min_margin"] for e in c["expected"] if "min_margin" in e]
        print(f"{c['file']:32} {(TARGET / c['file']).stat().st_size:6} bytes  {f'margin {min(margins):.2g}' if margins else ''}")


if __name__ == "__main__":
    main()
