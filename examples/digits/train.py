"""Train a spiking classifier of handwritten digits with snnTorch and write everything a server needs:
the NIR file, the recorded test streams, and what the framework itself answers to them.

    python train.py            # under a minute on one core; writes next to this file

Three choices make the file an exact oracle rather than an approximate one:
  * beta = 1 - 2^-k, so that tau = dt/(1-beta) and r = tau/dt come back as decay = beta and gain = 1 without
    a rounding, whoever computes them;
  * the trained weights are rounded to multiples of 2^-10. The inputs of every layer are 0 or 1, so each weighted
    sum is exact in float32 and does not depend on the order of its additions;
  * the threshold is moved by at most 0.001 so that no membrane of the whole test set comes near it: spikes then do
    not depend on how an engine rounds (see `settle`).
"""

import json
import platform
from pathlib import Path

import nir
import numpy as np
import sklearn
import snntorch
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from snntorch import surrogate
from snntorch.export_nir import export_to_nir
from snntorch.import_nir import import_from_nir

from verify import run

HERE = Path(__file__).parent
STEPS, INPUTS, HIDDEN, CLASSES = 25, 64, 128, 10
BETA_HIDDEN, BETA_OUTPUT = 1 - 2**-3, 1 - 2**-4
EPOCHS, BATCH, RATE = 120, 64, 2e-3
GRID = 2.0**-10
SEED_SPLIT, SEED_TRAIN, SEED_TEST_SPIKES = 7, 11, 13


def encode(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Bernoulli rate code: a pixel of intensity p in [0, 1] spikes with probability p at each step -> u1 [n, STEPS, 64]."""
    return (rng.random((len(images), STEPS, INPUTS)) < images[:, None, :]).astype(np.uint8)


class Digits(torch.nn.Module):
    """64 -> 128 LIF -> 10 LIF. Called with one time step; the membranes live in the neurons."""

    def __init__(self) -> None:
        super().__init__()

        def lif(n: int, beta: float) -> snntorch.Leaky:
            # Parameters of the population's shape (not scalars) are what the NIR standard wants; reset to zero in
            # the same step is what NIR's v_reset means.
            return snntorch.Leaky(
                beta=torch.full((n,), beta),
                threshold=torch.ones(n),
                spike_grad=surrogate.fast_sigmoid(slope=10),
                init_hidden=True,
                reset_mechanism="zero",
                reset_delay=False,
            )

        self.net = torch.nn.Sequential(
            torch.nn.Linear(INPUTS, HIDDEN),
            lif(HIDDEN, BETA_HIDDEN),
            torch.nn.Linear(HIDDEN, CLASSES),
            lif(CLASSES, BETA_OUTPUT),
        )

    def forward(self, spikes: torch.Tensor) -> torch.Tensor:
        """Spikes [batch, STEPS, 64] -> output spikes [batch, STEPS, 10]; starts from rest."""
        for layer in self.net:
            if isinstance(layer, snntorch.Leaky):
                layer.mem = torch.zeros(0)  # the next call makes it zeros of the batch's shape
        return torch.stack([self.net(x) for x in spikes.unbind(1)], 1)


def train(model: Digits, images: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> None:
    """Adam on the cross entropy of the spike counts; every epoch sees freshly drawn spikes."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    targets = torch.from_numpy(labels)
    for epoch in range(EPOCHS):
        spikes = torch.from_numpy(encode(images, rng)).float()
        order = torch.from_numpy(rng.permutation(len(images)))
        total = 0.0
        for pick in order.split(BATCH):
            loss = torch.nn.functional.cross_entropy(model(spikes[pick]).sum(1), targets[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(pick)
        schedule.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {total / len(images):.4f}", flush=True)


def export(model: Digits) -> nir.NIRGraph:
    """snnTorch's own exporter, then names for people instead of the indices of the Sequential."""
    graph = export_to_nir(model.net, torch.zeros(1, INPUTS), ignore_dims=[0])
    names = {"input": "input", "0": "fc1", "1": "hidden", "2": "fc2", "3": "readout", "output": "output"}
    rank = list(names)  # the exporter's order changes from run to run; the file's should not
    nodes = {names[k]: graph.nodes[k] for k in rank}
    edges = [(names[a], names[b]) for a, b in sorted(graph.edges, key=lambda edge: rank.index(edge[0]))]
    return nir.NIRGraph(nodes, edges)


def settle(model: Digits, recordings: np.ndarray) -> float:
    """Set the threshold in [1, 1.001) that no membrane comes close to on these recordings; returns the distance."""
    neurons = [layer for layer in model.net if isinstance(layer, snntorch.Leaky)]

    def distance(threshold: float) -> float:
        for layer in neurons:
            layer.threshold.fill_(threshold)
        return run(export(model), recordings, np.float64)[1]

    best = max((1 + k * 2.0**-16 for k in range(64)), key=distance)
    return distance(best)


def reimport(graph: nir.NIRGraph, recordings: np.ndarray) -> np.ndarray:
    """The file through snnTorch's own importer: output spikes [n, STEPS, 10]."""
    network, state, outputs = import_from_nir(graph), None, []
    with torch.no_grad():
        for x in torch.from_numpy(recordings).float().unbind(1):
            spikes, state = network(x, state)
            outputs.append(spikes)
    return torch.stack(outputs, 1).numpy()


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(SEED_TRAIN)
    torch.use_deterministic_algorithms(True)

    digits = load_digits()
    images = digits.data / 16.0
    images_train, images_test, labels_train, labels_test = train_test_split(
        images, digits.target, test_size=0.25, random_state=SEED_SPLIT, stratify=digits.target
    )

    model = Digits()
    train(model, images_train, labels_train, np.random.default_rng(SEED_TRAIN))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((parameter / GRID).round() * GRID)

    # The recorded test set, and the framework's answer to it.
    recordings = encode(images_test, np.random.default_rng(SEED_TEST_SPIKES))
    print(f"smallest distance of a membrane to its threshold: {settle(model, recordings):.3g}")
    with torch.no_grad():
        outputs = model(torch.from_numpy(recordings).float()).numpy()
    scores = outputs.sum(1)
    predictions = scores.argmax(1)
    correct = int((predictions == labels_test).sum())
    print(f"test: {correct} of {len(labels_test)} right, {correct / len(labels_test):.4f}")

    nir.write(HERE / "digits.nir", export(model))
    graph = nir.read(HERE / "digits.nir")
    others = {"numpy": run(graph, recordings, np.float32)[0], "snnTorch's importer": reimport(graph, recordings)}
    for name, other in others.items():
        print(f"the file, run by {name}: {int((other != outputs).sum())} of {outputs.size} output spikes differ")

    np.save(HERE / "test_set_bits.npy", np.packbits(recordings, axis=-1, bitorder="little"))
    np.save(HERE / "test_labels.npy", labels_test.astype(np.uint8))
    np.save(HERE / "scores.npy", scores.astype("<f4"))
    np.save(HERE / "predictions.npy", predictions.astype(np.uint8))
    (HERE / "recordings").mkdir(exist_ok=True)
    for digit in range(CLASSES):  # the first recording of each digit that the framework gets right
        index = np.flatnonzero((labels_test == digit) & (predictions == digit))[0]
        np.save(HERE / "recordings" / f"{digit}.npy", recordings[index])
    report = {
        "n": len(labels_test),
        "correct": correct,
        "accuracy": correct / len(labels_test),
        "framework": "snnTorch",
        "versions": {
            "python": platform.python_version(),
            "snntorch": snntorch._version.__version__,
            "torch": torch.__version__.split("+")[0],
            "nir": nir.version,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }
    (HERE / "accuracy.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
