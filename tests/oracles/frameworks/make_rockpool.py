"""A model of Rockpool, exported by it, and what it computes."""

import os
import warnings

os.environ["PIP_NO_INDEX"] = "1"  # its import would look for samna on the net

import numpy as np
import torch
from rockpool.nn.combinators import Sequential
from rockpool.nn.modules import LIFTorch, LinearTorch
from rockpool.nn.modules.torch import lif_torch
from rockpool.nn.modules.torch.nir import to_nir

import common

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
VERSIONS = common.versions(rockpool="3.1.0", torch=torch.__version__, nirtorch="2.0.2")
DT = 1e-3


def linear(rng, inputs, outputs, scale):
    weight = torch.from_numpy(common.dyadic(rng, inputs, outputs, scale=scale))
    bias = torch.from_numpy(common.dyadic(rng, outputs, scale=0.1))
    return LinearTorch(shape=(inputs, outputs), weight=weight, bias=bias, has_bias=True)


def main():
    rng = np.random.default_rng(1)
    margin = common.Margin()
    forward = lif_torch.StepPWL.forward

    def watched(ctx, x, threshold, window, most):
        whole = torch.clamp(torch.round(x / threshold), min=1)
        margin.see((x - whole * threshold).detach())
        return forward(ctx, x, threshold, window, most)

    lif_torch.StepPWL.forward = staticmethod(watched)
    lifs = [LIFTorch(12, tau_mem=torch.full((12,), 0.02), tau_syn=torch.full((12, 1), 0.005),
                     threshold=torch.full((12,), 1.0), dt=DT),
            LIFTorch(5, tau_mem=torch.full((5,), 0.01), tau_syn=torch.full((5, 1), 0.008),
                     threshold=torch.full((5,), 0.75), dt=DT)]
    net = Sequential(linear(rng, 8, 12, 1), lifs[0], linear(rng, 12, 5, 0.5), lifs[1])
    inputs = common.spikes(rng, 8)
    graph = to_nir(net)
    net.reset_state()
    with torch.no_grad():
        output, _, records = net(torch.from_numpy(inputs)[None], record=True)
    held = [record for record in records.values() if isinstance(record, dict) and "vmem" in record]
    names = [name for name in graph.nodes if name not in ("input", "output")]
    membranes = {}
    for name, record in zip([names[1], names[3]], held, strict=True):
        membranes[f"{name}.v"] = record["vmem"][0].detach().numpy()
        membranes[f"{name}.i"] = record["isyn"][0].detach().numpy().reshape(common.STEPS, -1)
    common.write_case("rockpool_lif", "rockpool", graph, inputs, output[0].detach().numpy(), membranes, {},
                      "Linear, LIFTorch twice; dt found from r", margin, VERSIONS)


main()
