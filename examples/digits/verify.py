"""Check digits.nir without snnTorch: read the file, step the equations in numpy, compare with what train.py wrote.

    python verify.py           # needs numpy and nir only; exit status 1 if a prediction differs

The reading is the standard's under forward Euler with dt = 1e-4 s: d = 1 - dt/tau, v = d*v + (1-d)*(v_leak + r*I),
a spike where v > v_threshold (strict), v = v_reset there in the same step, the spike seen downstream in the same step.
"""

import sys
from pathlib import Path

import nir
import numpy as np

HERE = Path(__file__).parent
DT = 1e-4


def run(graph: nir.NIRGraph, spikes: np.ndarray, dtype: type) -> tuple[np.ndarray, float]:
    """Spikes u1 [n, steps, 64] -> output spikes [n, steps, 10] and the smallest |v - v_threshold| met anywhere."""
    follow = dict(graph.edges)  # a chain: every node has one successor
    n, steps, _ = spikes.shape
    state: dict[str, np.ndarray] = {}
    outputs, margin = [], np.inf
    for t in range(steps):
        x, name = spikes[:, t].astype(dtype), follow["input"]
        while name != "output":
            node = graph.nodes[name]
            if isinstance(node, nir.Affine):
                x = x @ node.weight.T.astype(dtype) + node.bias.astype(dtype)
            elif isinstance(node, nir.LIF):
                # Coefficients in float64, rounded once; then the same two roundings a step as every float32 engine.
                tau, r, leak = (a.astype(np.float64) for a in (node.tau, node.r, node.v_leak))
                decay = 1 - DT / tau
                d, kr, kl = (a.astype(dtype) for a in (decay, (1 - decay) * r, (1 - decay) * leak))
                v = d * state.get(name, np.zeros_like(x)) + (kl + kr * x)
                margin = min(margin, float(np.abs(v - node.v_threshold.astype(dtype)).min()))
                fired = v > node.v_threshold.astype(dtype)
                state[name] = np.where(fired, node.v_reset.astype(dtype), v)
                x = fired.astype(dtype)
            else:
                raise TypeError(f"{name}: {type(node).__name__} is not in this model")
            name = follow[name]
        outputs.append(x)
    return np.stack(outputs, 1), margin


def main() -> int:
    graph = nir.read(HERE / "digits.nir")
    spikes = np.unpackbits(np.load(HERE / "test_set_bits.npy"), axis=-1, bitorder="little")
    scores, predictions = np.load(HERE / "scores.npy"), np.load(HERE / "predictions.npy")
    labels = np.load(HERE / "test_labels.npy")
    wrong = 0
    for dtype in (np.float32, np.float64):
        outputs, margin = run(graph, spikes, dtype)
        counts = outputs.sum(1)
        mine = counts.argmax(1)
        differ = int((mine != predictions).sum())
        wrong += differ
        print(
            f"{dtype.__name__}: {int((mine == labels).sum())} of {len(labels)} right, "
            f"{differ} predictions differ from the framework's, largest score difference {np.abs(counts - scores).max():g}, "
            f"smallest distance to a threshold {margin:.3g}"
        )
    top = np.sort(scores, 1)
    print(f"scores: {int((top[:, -1] == top[:, -2]).sum())} recordings have two best classes (the lower one is taken)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
