"""The peer snnTorch: the loop over time of its tutorials, one row of the batch a session. See peer.py.

Its own importer refuses LI, so the layers are built here from the nodes: Linear, and Leaky with the same decay,
threshold and reset. The gain r*dt/tau of the file is 1, which is checked.
"""

import importlib.metadata

import numpy as np
import snntorch as snn
import torch

import peer


def constant(values):
    """The one value of a population."""
    assert (values == values.flat[0]).all(), "one value a population"
    return float(values.flat[0])


def leaky(node, dt):
    decay = dt / constant(node.tau)
    assert abs(decay * constant(node.r) - 1) < 1e-12 and not node.v_leak.any(), "a gain of 1 and no leak"
    fires = hasattr(node, "v_threshold")
    assert not fires or not node.v_reset.any(), "a reset to 0"
    return snn.Leaky(beta=1 - decay, threshold=constant(node.v_threshold) if fires else 1.0,
                     reset_mechanism="zero" if fires else "none", reset_delay=False)


def linear(node):
    outputs, inputs = node.weight.shape
    layer = torch.nn.Linear(inputs, outputs, bias=False)
    layer.weight.data = torch.from_numpy(np.asarray(node.weight, np.float32))
    return layer


def make(graph, dt, sessions, frame):
    names = [f"{kind}{k}" for k in (1, 2, 3) for kind in ("fc", "n")]
    fc1, n1, fc2, n2, fc3, n3 = (linear(node) if "fc" in name else leaky(node, dt)
                                 for name, node in ((name, graph.nodes[name]) for name in names))
    membranes = [torch.zeros(sessions, layer.weight.shape[0]) for layer in (fc1, fc2, fc3)]

    @torch.no_grad()
    def step(frames):
        batch = torch.from_numpy(np.stack(frames, axis=1))  # [frame, sessions, inputs]
        mem1, mem2, mem3 = membranes
        outputs = []
        for x in batch:
            spk1, mem1 = n1(fc1(x), mem1)
            spk2, mem2 = n2(fc2(spk1), mem2)
            _, mem3 = n3(fc3(spk2), mem3)
            outputs.append(mem3)
        membranes[:] = mem1, mem2, mem3
        return list(torch.stack(outputs, dim=1).numpy())

    return step


versions = {name: importlib.metadata.version(name) for name in ["snntorch", "torch", "numpy"]}
peer.serve(versions, torch.get_num_threads(), make)
