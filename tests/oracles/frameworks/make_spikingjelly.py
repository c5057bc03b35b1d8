"""Models of SpikingJelly, exported by it, and what it computes."""

import warnings

import numpy as np
import torch
from spikingjelly.activation_based import layer, neuron
from spikingjelly.activation_based.nir_exchange import export_to_nir

import common

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
VERSIONS = common.versions(spikingjelly="2.0.0", torch=torch.__version__, nirtorch="2.6")


def fill(part, rng, scale):
    part.weight.data = torch.from_numpy(common.dyadic(rng, *part.weight.shape, scale=scale))
    part.bias.data = torch.from_numpy(common.dyadic(rng, *part.bias.shape, scale=0.1))
    return part


def case(name, layers, inputs, neurons, holds, **more):
    net = torch.nn.Sequential(*layers)
    graph = export_to_nir(net, torch.from_numpy(inputs[:1]), dt=1e-4)
    margin = common.Margin()
    for k in neurons:
        layers[k].reset()
    outputs, membranes = [], {f"_{k}.v": [] for k in neurons}
    with torch.no_grad():
        for x in inputs:
            outputs.append(net(torch.from_numpy(x)[None])[0].numpy())
            for k in neurons:
                membranes[f"_{k}.v"].append(layers[k].v[0].numpy().copy())
                margin.see(layers[k].v - layers[k].v_threshold)
    common.write_case(f"spikingjelly_{name}", "spikingjelly", graph, inputs, np.stack(outputs),
                      {k: np.stack(v) for k, v in membranes.items()}, {}, holds, margin, VERSIONS, **more)


def lif():
    rng = np.random.default_rng(1)
    layers = [fill(layer.Linear(8, 12), rng, 4), neuron.LIFNode(tau=5.0, v_threshold=0.5),
              fill(layer.Linear(12, 6), rng, 1), neuron.LIFNode(tau=3.0, decay_input=False, v_threshold=0.75),
              fill(layer.Linear(6, 5), rng, 1), neuron.IFNode(v_threshold=1.0)]
    case("lif", layers, common.spikes(rng, 8), [1, 3, 5],
         "LIFNode with and without decay_input, IFNode", ulps=2,
         note="it divides by tau, Ganglion multiplies by 1/tau")


def cuba():
    rng = np.random.default_rng(2)
    layers = [fill(layer.Conv2d(1, 2, 3), rng, 1), neuron.LIFNode(tau=2.0, v_threshold=0.25, v_reset=-0.125),
              layer.AvgPool2d(2), layer.Flatten(), fill(layer.Linear(8, 5), rng, 1),
              neuron.CUBALIFNode(c_decay=0.5, v_decay=0.75, v_threshold=1.0)]
    case("conv", layers, common.spikes(rng, 1, 6, 6), [1, 5],
         "Conv2d, LIFNode with v_reset, AvgPool2d, Flatten, Linear, CUBALIFNode")


for make in [lif, cuba]:
    make()
