"""Models of Sinabs, exported by it, and what it computes."""

import warnings

import numpy as np
import sinabs.layers as sl
import torch
from sinabs.activation import spike_generation
from sinabs.nir import to_nir

import common

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
VERSIONS = common.versions(sinabs="3.1.3", torch=torch.__version__, nirtorch="2.0.2")


def fill(layer, rng, scale):
    layer.weight.data = torch.from_numpy(common.dyadic(rng, *layer.weight.shape, scale=scale))
    layer.bias.data = torch.from_numpy(common.dyadic(rng, *layer.bias.shape, scale=0.1))
    return layer


def case(name, layers, inputs, neurons, holds, **more):
    """A step is one call with one time step: the state stays in the layers. `neurons`: indices."""
    net = torch.nn.Sequential(*layers)
    margin = common.Margin()
    forward = spike_generation.MultiSpike.forward

    def watched(ctx, v_mem, threshold, surrogate):
        spikes = forward(ctx, v_mem, threshold, surrogate)
        whole = torch.clamp(torch.round(v_mem / threshold), min=1)
        margin.see((v_mem - whole * threshold).detach())
        return spikes

    with torch.no_grad():
        sample = torch.from_numpy(inputs[:1])
        net(sample)  # it sizes its states at the first call, and the exporter reads shapes from them
        graph = to_nir(net, sample)
        if inputs.ndim > 2:
            graph.infer_types()  # it leaves Conv2d.input_shape None, which no file can hold
        for k in neurons:
            layers[k].reset_states()
        spike_generation.MultiSpike.forward = staticmethod(watched)
        outputs, membranes = [], {f"{k}.v": [] for k in neurons}
        for x in inputs:
            outputs.append(net(torch.from_numpy(x)[None])[0].numpy())
            for k in neurons:
                membranes[f"{k}.v"].append(layers[k].v_mem[0].numpy().copy())
        spike_generation.MultiSpike.forward = staticmethod(forward)
    membranes = {k: np.stack(v) for k, v in membranes.items()}
    common.write_case(f"sinabs_{name}", "sinabs", graph, inputs, np.stack(outputs), membranes,
                      more.pop("options", {}), holds, margin, VERSIONS, **more)


def conv():
    rng = np.random.default_rng(1)
    one = {"batch_size": 1, "min_v_mem": -1.0}
    layers = [fill(torch.nn.Conv2d(1, 2, 3), rng, 1), sl.IAFSqueeze(**one), sl.SumPool2d(2), torch.nn.Flatten(),
              fill(torch.nn.Linear(8, 5), rng, 0.5), sl.IAFSqueeze(**one)]
    case("conv", layers, common.spikes(rng, 1, 6, 6, density=0.5), [1, 5],
         "Conv2d, IAF with min_v_mem, SumPool2d, Flatten, Linear, IAF; several spikes a step")


def leaky():
    rng = np.random.default_rng(2)
    one = {"batch_size": 1, "norm_input": False}
    layers = [fill(torch.nn.Linear(8, 12), rng, 1),
              sl.LIFSqueeze(tau_mem=torch.full((12,), 7.0), spike_threshold=torch.full((12,), 0.5), **one),
              fill(torch.nn.Linear(12, 5), rng, 0.5), sl.ExpLeakSqueeze(tau_mem=torch.full((5,), 9.0), **one)]
    case("leaky", layers, common.eighths(rng, 8), [1, 3],
         "LIF of several spikes a step, ExpLeak as readout; norm_input False as its importer has it",
         ulps=6, note="alpha is exp of a float32, one unit off the f64 value")


def normed():
    rng = np.random.default_rng(3)
    layers = [fill(torch.nn.Linear(8, 12), rng, 4),
              sl.LIFSqueeze(tau_mem=torch.full((12,), 7.0), spike_threshold=torch.full((12,), 0.5), batch_size=1)]
    case("normed", layers, common.spikes(rng, 8), [1],
         "LIF by default, norm_input True, which the file cannot say", options={"gain": "file"}, ulps=3,
         note="alpha is exp of a float32, one unit off the f64 value")


for make in [conv, leaky, normed]:
    make()
