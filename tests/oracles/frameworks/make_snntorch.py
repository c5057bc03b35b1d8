"""Models of snnTorch, exported by it, and what it computes."""

import warnings

import nir
import numpy as np
import snntorch as snn
import torch
from snntorch.export_nir import export_to_nir
from snntorch.import_nir import import_from_nir

import common

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
VERSIONS = common.versions(snntorch="1.0.0", torch=torch.__version__, nirtorch="2.6")


def full(value, *shape):
    return torch.full(shape, value)


def fill(module, rng, scale):
    """Dyadic weights; biases too."""
    for part in module.modules():
        if isinstance(part, (torch.nn.Linear, torch.nn.Conv2d)):
            part.weight.data = torch.from_numpy(common.dyadic(rng, *part.weight.shape, scale=scale))
            part.bias.data = torch.from_numpy(common.dyadic(rng, *part.bias.shape, scale=0.1))


def run(net, inputs, neurons):
    """Step by step; `neurons`: {our name: module}."""
    margin = common.Margin()
    for module in neurons.values():
        inner = module.spike_grad
        module.spike_grad = lambda shift, inner=inner: (margin.see(shift.detach()), inner(shift))[1]
    outputs, membranes = [], {f"{name}.v": [] for name in neurons}
    with torch.no_grad():
        for x in inputs:
            out = net(torch.from_numpy(x)[None])
            outputs.append((out[0] if isinstance(out, tuple) else out)[0].numpy())
            for name, module in neurons.items():
                membranes[f"{name}.v"].append(module.mem[0].numpy().copy())
    return np.stack(outputs), {k: np.stack(v) for k, v in membranes.items()}, margin


def case(name, net, inputs, neurons, holds, options=None, **more):
    graph = export_to_nir(net, torch.from_numpy(inputs[:1]), ignore_dims=[0])
    for module in neurons.values():  # the exporter ran a step
        for state in {"mem", "syn", "spk"} & set(dict(module.named_buffers())):
            setattr(module, state, torch.zeros(0))
    output, membranes, margin = run(net, inputs, neurons)
    common.write_case(f"snntorch_{name}", "snntorch", graph, inputs, output, membranes, options or {}, holds,
                      margin, VERSIONS, **more)


def leaky():
    rng = np.random.default_rng(1)
    zero = {"reset_mechanism": "zero", "reset_delay": False, "init_hidden": True}
    net = torch.nn.Sequential(
        torch.nn.Linear(8, 12), snn.Leaky(beta=full(0.9, 12), threshold=full(1.0, 12), **zero),
        torch.nn.Linear(12, 5), snn.Leaky(beta=full(0.8, 5), threshold=full(0.5, 5), **zero))
    fill(net, rng, 1)
    case("leaky", net, common.spikes(rng, 8), {"1": net[1], "3": net[3]},
         "Leaky as its importer builds it: reset to zero in the same step")


def leaky_default():
    rng = np.random.default_rng(2)
    torch.manual_seed(2)
    net = torch.nn.Sequential(
        torch.nn.Linear(8, 12), snn.Leaky(beta=full(0.95, 12), threshold=full(0.6, 12), init_hidden=True),
        torch.nn.Linear(12, 5), snn.Leaky(beta=full(0.85, 5), threshold=full(0.3, 5), init_hidden=True))
    case("leaky_default", net, common.eighths(rng, 8), {"1": net[1], "3": net[3]},
         "Leaky by default: subtracts in the next step; weights raw, values as input",
         {"reset": "subtract_next"}, ulps=2, note="raw weights: PyTorch adds in another order")


def synaptic():
    rng = np.random.default_rng(3)
    net = torch.nn.Sequential(
        torch.nn.Linear(8, 12),
        snn.Synaptic(alpha=full(0.7, 12), beta=full(0.9, 12), threshold=full(1.5, 12), init_hidden=True),
        torch.nn.Linear(12, 5),
        snn.Synaptic(alpha=full(0.6, 5), beta=full(0.8, 5), threshold=full(1.0, 5), init_hidden=True))
    fill(net, rng, 1)
    case("synaptic", net, common.spikes(rng, 8), {"1": net[1], "3": net[3]},
         "Synaptic (CubaLIF) by default", {"reset": "subtract_next"})


def recurrent():
    rng = np.random.default_rng(4)
    net = torch.nn.Sequential(
        torch.nn.Linear(8, 12),
        snn.RLeaky(beta=full(0.9, 12), linear_features=12, threshold=full(1.0, 12), init_hidden=True),
        torch.nn.Linear(12, 5),
        snn.RSynaptic(alpha=full(0.6, 5), beta=full(0.8, 5), linear_features=5, threshold=full(1.0, 5),
                      init_hidden=True))
    fill(net, rng, 0.8)
    case("recurrent", net, common.spikes(rng, 8), {"1.lif": net[1], "3.lif": net[3]},
         "RLeaky and RSynaptic by default, all to all", {"reset": "subtract_next"}, ulps=1,
         note="it adds (beta*mem + input) + feedback, Ganglion beta*mem + (input + feedback)")


def conv():
    rng = np.random.default_rng(5)
    zero = {"reset_mechanism": "zero", "reset_delay": False, "init_hidden": True}
    net = torch.nn.Sequential(
        torch.nn.Conv2d(2, 2, 3),
        snn.Leaky(beta=full(0.9, 2, 4, 4), threshold=full(1.0, 2, 4, 4), **zero),
        torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(8, 5),
        snn.Leaky(beta=full(0.8, 5), threshold=full(0.5, 5), **zero))
    fill(net, rng, 0.5)
    case("conv", net, common.spikes(rng, 2, 6, 6), {"1": net[1], "5": net[5]},
         "Conv2d, Leaky, AvgPool2d, Flatten, Linear, Leaky")


def imported():
    """A file that snnTorch did not write: its importer divides the thresholds by r*dt/tau."""
    rng = np.random.default_rng(6)
    ones = np.ones(6, np.float32)
    graph = nir.NIRGraph(
        nodes={
            "input": nir.Input({"input": np.array([8])}),
            "fc": nir.Affine(common.dyadic(rng, 6, 8), common.dyadic(rng, 6, scale=0.1)),
            "lif": nir.LIF(tau=2e-3 * ones, r=4 * ones, v_leak=0 * ones, v_threshold=0.3 * ones,
                           v_reset=0 * ones),
            "output": nir.Output({"output": np.array([6])}),
        },
        edges=[("input", "fc"), ("fc", "lif"), ("lif", "output")])
    inputs = common.spikes(rng, 8)
    module = import_from_nir(graph)
    lif = next(part for part in module.modules() if isinstance(part, snn.Leaky))
    output, membranes, margin = run(module, inputs, {"lif": lif})
    common.write_case("snntorch_imported", "snntorch", graph, inputs, output, membranes, {},
                      "LIF with r 4 and tau 20 steps: the threshold becomes 0.3/0.2", margin, VERSIONS,
                      made_by="nir")


for make in [leaky, leaky_default, synaptic, recurrent, conv, imported]:
    make()
