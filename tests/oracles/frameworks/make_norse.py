"""Models of Norse, exported by it, and what it computes."""

import warnings

import nir
import norse.torch as norse
import numpy as np
import torch
from norse.torch.functional import iaf, leaky_integrator_box, lif, lif_box
from norse.torch.utils import export_nir, import_nir

import common

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
VERSIONS = common.versions(norse="1.1.0", torch=torch.__version__, nirtorch="2.6")
MARGIN = common.Margin()


def watch(module):
    """Sees every v - v_th."""
    inner = module.threshold
    module.threshold = lambda x, *rest: (MARGIN.see(x.detach()), inner(x, *rest))[1]


for functional in [iaf, lif, lif_box]:
    watch(functional)


def full(value, size):
    return torch.full((size,), value)


def fill(layer, rng, scale):
    layer.weight.data = torch.from_numpy(common.dyadic(rng, *layer.weight.shape, scale=scale))
    layer.bias.data = torch.from_numpy(common.dyadic(rng, *layer.bias.shape, scale=0.1))
    return layer


def run(layers, inputs, names):
    """Layer by layer, step by step; `names`: {index of a neuron: our name}."""
    global MARGIN
    MARGIN = common.Margin()
    states = [None] * len(layers)
    outputs, membranes = [], {}
    with torch.no_grad():
        for x in inputs:
            x = torch.from_numpy(x)[None]
            for k, layer in enumerate(layers):
                if k not in names:
                    x = layer(x)
                    continue
                x, states[k] = layer(x, states[k])
                for field in states[k]._fields:
                    if field == "v":
                        key = f"{names[k]}.{field}"
                        membranes.setdefault(key, []).append(getattr(states[k], field)[0].numpy().copy())
            outputs.append(x[0].numpy())
    return np.stack(outputs), {k: np.stack(v) for k, v in membranes.items()}, MARGIN


def case(name, layers, inputs, neurons, holds, export_dt=1, **more):
    # Without a batch: the exporter would count it as an axis of the Input.
    graph = export_nir.to_nir(norse.SequentialState(*layers), torch.from_numpy(inputs[0]), dt=export_dt)
    if inputs.ndim > 2:
        graph.infer_types()  # it leaves Conv2d.input_shape None, which no file can hold
    names = {k: str(k) for k in neurons}
    output, membranes, margin = run(layers, inputs, names)
    common.write_case(f"norse_{name}", "norse", graph, inputs, output, membranes, holds=holds,
                      options=more.pop("options", {}), margin=margin, versions=VERSIONS, **more)


def boxes():
    rng = np.random.default_rng(1)
    box = lambda size, inv, th: norse.LIFBoxCell(lif_box.LIFBoxParameters(
        tau_mem_inv=full(inv, size), v_leak=full(0.0, size), v_th=full(th, size)))
    layers = [fill(torch.nn.Linear(8, 12), rng, 4), box(12, 100.0, 0.5),
              fill(torch.nn.Linear(12, 5), rng, 4), box(5, 50.0, 0.2)]
    case("lif_box", layers, common.spikes(rng, 8), [1, 3], "LIFBoxCell, exported with dt=1")


def leak():
    rng = np.random.default_rng(2)
    layers = [fill(torch.nn.Linear(8, 12), rng, 4),
              norse.LIFBoxCell(lif_box.LIFBoxParameters(
                  tau_mem_inv=full(80.0, 12), v_leak=full(0.25, 12), v_th=full(0.6, 12))),
              fill(torch.nn.Linear(12, 5), rng, 2),
              norse.LIBoxCell(leaky_integrator_box.LIBoxParameters(
                  tau_mem_inv=full(60.0, 5), v_leak=full(-0.125, 5)))]
    case("li_box", layers, common.eighths(rng, 8), [1, 3],
         "v_leak other than 0, LIBoxCell as readout; exported with the default dt, which writes tau*1e-3",
         export_dt=1e-3, options={"dt": 1e-6}, ulps=2, note="tau is rounded to float32 in the file")


def conv():
    rng = np.random.default_rng(3)
    layers = [fill(torch.nn.Conv2d(1, 2, 3), rng, 0.5),
              norse.IAFCell(iaf.IAFParameters(v_th=torch.full((2, 4, 4), 1.0))),
              fill(torch.nn.Conv2d(2, 3, 2, stride=2), rng, 0.5),
              norse.LIFBoxCell(lif_box.LIFBoxParameters(
                  tau_mem_inv=torch.full((3, 2, 2), 200.0), v_leak=torch.zeros(3, 2, 2),
                  v_th=torch.full((3, 2, 2), 0.0625)))]
    case("conv", layers, common.spikes(rng, 1, 6, 6), [1, 3], "Conv2d, IAFCell, Conv2d, LIFBoxCell")


def lif_cell():
    rng = np.random.default_rng(4)
    size = 12
    cell = norse.LIFCell(lif.LIFParameters(
        tau_syn_inv=full(200.0, size), tau_mem_inv=full(100.0, size), v_leak=full(0.0, size),
        v_th=full(0.4, size)))
    layers = [fill(torch.nn.Linear(8, size), rng, 2), cell]
    case("lif_cell", layers, common.spikes(rng, 8), [1],
         "LIFCell, Norse's default; the file lacks its input gain, so w_in = tau_syn/dt is given",
         variables={"1": {"w_in": 5.0}}, ulps=1,
         note="i is not compared: it decays at the end of the step, so what is kept is one decay further")


def imported():
    rng = np.random.default_rng(5)
    ones = np.ones(6, np.float32)
    graph = nir.NIRGraph(
        nodes={
            "input": nir.Input({"input": np.array([8])}),
            "fc": nir.Affine(common.dyadic(rng, 6, 8, scale=4), common.dyadic(rng, 6, scale=0.1)),
            "cuba": nir.CubaLIF(tau_syn=5e-3 * ones, tau_mem=1e-2 * ones, r=2 * ones, v_leak=0.125 * ones,
                                v_threshold=0.5 * ones, v_reset=0 * ones, w_in=3 * ones),
            "output": nir.Output({"output": np.array([6])}),
        },
        edges=[("input", "fc"), ("fc", "cuba"), ("cuba", "output")])
    inputs = common.spikes(rng, 8)
    global MARGIN
    MARGIN = common.Margin()
    module = import_nir._import_norse_module(graph.nodes["cuba"])
    affine = import_nir._import_norse_module(graph.nodes["fc"])
    state, outputs, currents, membranes = None, [], [], []
    with torch.no_grad():
        for x in inputs:
            z, state = module(affine(torch.from_numpy(x)[None]), state)
            outputs.append(z[0].numpy())
            currents.append(state[0].v[0].numpy().copy())
            membranes.append(state[1].v[0].numpy().copy())
    common.write_case("norse_cuba_imported", "norse", graph, inputs, np.stack(outputs),
                      {"cuba.i": np.stack(currents), "cuba.v": np.stack(membranes)}, {},
                      "CubaLIF with v_leak, r and w_in, as its importer builds it", MARGIN, VERSIONS,
                      made_by="nir")


def recurrent():
    rng = np.random.default_rng(6)
    ones = np.ones(8, np.float32)
    graph = nir.NIRGraph(
        nodes={
            "input": nir.Input({"input": np.array([6])}),
            "fc": nir.Affine(common.dyadic(rng, 8, 6, scale=4), common.dyadic(rng, 8, scale=0.1)),
            "lif": nir.LIF(tau=1e-2 * ones, r=ones, v_leak=0 * ones, v_threshold=0.3 * ones, v_reset=0 * ones),
            # A bias here would be left out in its first step: it has no value to read yet.
            "w_rec": nir.Affine(common.dyadic(rng, 8, 8, scale=3), 0 * ones),
            "output": nir.Output({"output": np.array([8])}),
        },
        edges=[("input", "fc"), ("fc", "lif"), ("lif", "w_rec"), ("w_rec", "lif"), ("lif", "output")])
    inputs = common.spikes(rng, 6)
    global MARGIN
    MARGIN = common.Margin()
    module = norse.from_nir(graph)
    state, outputs, membranes = None, [], []
    with torch.no_grad():
        for x in inputs:
            z, state = module(torch.from_numpy(x)[None], state)
            outputs.append(z[0].numpy().copy())
            membranes.append(state.state["lif"][0].v[0].numpy().copy())
    common.write_case("norse_recurrent_imported", "norse", graph, inputs, np.stack(outputs),
                      {"lif.v": np.stack(membranes)}, {},
                      "a LIF with an Affine around it, as its importer runs it", MARGIN, VERSIONS, made_by="nir")


for make in [boxes, leak, conv, lif_cell, imported, recurrent]:
    make()
