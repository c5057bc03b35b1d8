"""Write variables of whole models with the official `safetensors` package, and what the models must answer, in float64.

    python make_safetensors.py        # writes ../fixtures/safetensors/*.safetensors and answers.json

The layers are computed here from their equations, not by the framework that they are named after. Each model takes
the first seed for which no membrane comes closer than 1e-3 to the threshold.
"""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

TARGET = Path(__file__).parent.parent / "fixtures" / "safetensors"


class Close(Exception):
    pass


class Lif:
    def __init__(self, tau):
        self.d, self.v = np.exp(-1 / tau), 0.0

    def __call__(self, x):
        self.v = self.d * self.v + x
        if np.min(np.abs(self.v - 1)) < 1e-3:
            raise Close
        s = (self.v >= 1).astype(float)
        self.v = self.v - s
        return s


def norm(x, p, name):
    return (x - p[f"batch_stats/{name}/mean"]) / np.sqrt(p[f"batch_stats/{name}/var"] + 1e-5) * p[
        f"params/{name}/scale"] + p[f"params/{name}/bias"]


def norm_variables(rng, name, n):
    return {
        f"params/{name}/scale": rng.uniform(0.8, 1.6, n),
        f"params/{name}/bias": rng.uniform(0, 0.4, n),
        f"batch_stats/{name}/mean": rng.uniform(-0.2, 0.2, n),
        f"batch_stats/{name}/var": rng.uniform(0.3, 1.2, n),
    }


def mlp(rng):
    """SpikingMLP(hidden=(5, 4), recurrent, delays=(3, 0, 0), batch_norm) on [2, 3] samples."""
    p = {
        "params/delayed_0/kernel": rng.uniform(-0.7, 1, (6, 5)),
        "params/delayed_0/delay": rng.uniform(-0.5, 3.5, (6, 5)),
        "params/delayed_0/bias": rng.uniform(-0.1, 0.3, 5),
        "params/dense_1/kernel": rng.uniform(-0.7, 1.2, (5, 4)),
        "params/dense_1/bias": rng.uniform(0, 0.4, 4),
        "params/readout/kernel": rng.uniform(-1, 1, (4, 3)),
        "params/readout/bias": rng.uniform(-0.1, 0.1, 3),
        **norm_variables(rng, "norm_0", 5),
        **norm_variables(rng, "norm_1", 4),
        "params/recurrent_0/recurrent": rng.uniform(-0.6, 0.6, (5, 5)),
        "params/recurrent_1/recurrent": rng.uniform(-0.6, 0.6, (4, 4)),
    }
    p = {k: v.astype(np.float32) for k, v in p.items()}
    p["params/readout/kernel"] = p["params/readout/kernel"].astype(np.float16)
    p["params/readout/bias"] = p["params/readout/bias"].astype(np.float64)
    stream = rng.integers(0, 2, (20, 6)).astype(float)
    lag = np.rint(np.clip(p["params/delayed_0/delay"], 0, 3)).astype(int)
    n = [Lif(2.0), Lif(2.0)]
    o = [np.zeros(5), np.zeros(4)]
    out, v = [], np.zeros(3)
    for t in range(20):
        x = p["params/delayed_0/bias"].astype(float).copy()
        for i in range(6):
            for j in range(5):
                if t >= lag[i, j]:
                    x[j] += p["params/delayed_0/kernel"][i, j] * stream[t - lag[i, j], i]
        for layer in range(2):
            if layer == 1:
                x = o[0] @ p["params/dense_1/kernel"] + p["params/dense_1/bias"]
            jump = norm(x, p, f"norm_{layer}") + o[layer] @ p[f"params/recurrent_{layer}/recurrent"]
            o[layer] = n[layer](jump)
        v = np.exp(-1 / 2) * v + o[1] @ p["params/readout/kernel"].astype(float) + p["params/readout/bias"]
        out.append(v)
    return p, stream, out


def conv(x, kernel, stride, pad):
    h, w, _ = x.shape
    kh, kw = kernel.shape[:2]
    x = np.pad(x, ((pad, pad), (pad, pad), (0, 0)))
    oh, ow = (h + 2 * pad - kh) // stride + 1, (w + 2 * pad - kw) // stride + 1
    y = np.zeros((oh, ow, kernel.shape[3]))
    for i in range(oh):
        for j in range(ow):
            window = x[i * stride:i * stride + kh, j * stride:j * stride + kw]
            y[i, j] = np.tensordot(window, kernel.astype(float), 3)
    return y


def resnet(rng):
    """SEWResNet(stages=(1, 1), classes=3, width=2, stem="imagenet") on [13, 12, 2] samples, connect add."""
    kernels = {
        "Conv_0": (7, 7, 2, 2),
        "stage1_block1/first_conv": (3, 3, 2, 2),
        "stage1_block1/second_conv": (3, 3, 2, 2),
        "stage2_block1/first_conv": (3, 3, 2, 4),
        "stage2_block1/second_conv": (3, 3, 4, 4),
        "stage2_block1/downsample_conv": (1, 1, 2, 4),
    }
    p = {}
    for name, shape in kernels.items():
        p[f"params/{name}/kernel"] = rng.normal(0.1, 1.5 / np.sqrt(np.prod(shape[:3])), shape)
        p.update(norm_variables(rng, name.replace("Conv", "BatchNorm").replace("_conv", "_bn"), shape[3]))
    p["params/Dense_0/kernel"] = rng.uniform(-1, 1, (4, 3))
    p["params/Dense_0/bias"] = rng.uniform(-1, 1, 3)
    p = {k: v.astype(np.float32) for k, v in p.items()}
    stream = rng.integers(0, 2, (6, 13, 12, 2)).astype(float)
    n = [Lif(2.0) for _ in range(6)]
    out = []
    for x in stream:
        def unit(x, name, bn, stride, pad, neuron):
            return n[neuron](norm(conv(x, p[f"params/{name}/kernel"], stride, pad), p, bn))

        x = unit(x, "Conv_0", "BatchNorm_0", 2, 3, 0)
        padded = np.pad(x, ((1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
        h, w, c = x.shape
        oh, ow = (h + 2 - 3) // 2 + 1, (w + 2 - 3) // 2 + 1
        x = np.array([[padded[2 * i:2 * i + 3, 2 * j:2 * j + 3].max((0, 1)) for j in range(ow)] for i in range(oh)])
        b = "stage1_block1"
        r = unit(x, f"{b}/first_conv", f"{b}/first_bn", 1, 1, 1)
        x = x + unit(r, f"{b}/second_conv", f"{b}/second_bn", 1, 1, 2)
        b = "stage2_block1"
        r = unit(x, f"{b}/first_conv", f"{b}/first_bn", 2, 1, 3)
        r = unit(r, f"{b}/second_conv", f"{b}/second_bn", 1, 1, 4)
        x = unit(x, f"{b}/downsample_conv", f"{b}/downsample_bn", 2, 0, 5) + r
        out.append(x.mean((0, 1)) @ p["params/Dense_0/kernel"] + p["params/Dense_0/bias"])
    return p, stream.reshape(6, -1), out


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    answers = {}
    for name, make in {"mlp": mlp, "resnet": resnet}.items():
        for seed in range(2000):
            try:
                p, stream, out = make(np.random.default_rng(seed))
                break
            except Close:
                continue
        else:
            raise SystemExit(f"no seed for {name}")
        save_file(p, TARGET / f"{name}.safetensors")
        answers[name] = {"seed": seed, "input": np.asarray(stream, int).tolist(), "output": np.asarray(out).tolist()}
    (TARGET / "answers.json").write_text(json.dumps(answers) + "\n")


main()
