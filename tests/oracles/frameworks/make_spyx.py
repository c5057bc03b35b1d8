"""Models of spyx, exported by it, and what it computes."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from spyx.nir import to_nir
from spyx.nn import IF, LIF, RLIF, CuBaLIF, Sequential

import common

VERSIONS = common.versions(spyx="1.0.0", jax=jax.__version__, flax=flax.__version__)


def linear(rng, inputs, outputs, scale):
    layer = nnx.Linear(inputs, outputs, rngs=nnx.Rngs(0))
    layer.kernel[...] = jnp.asarray(common.dyadic(rng, inputs, outputs, scale=scale))
    layer.bias[...] = jnp.asarray(common.dyadic(rng, outputs, scale=0.1))
    return layer


def case(name, layers, inputs, neurons, holds, **more):
    """`neurons`: {index: (our name, size, threshold)}."""
    model = Sequential(*layers)
    size = next(layer.kernel.shape[1] for layer in reversed(layers) if hasattr(layer, "kernel"))
    graph = to_nir(model, {"input": np.array([inputs.shape[1]])}, {"output": np.array([size])})
    state = model.initial_state(1)
    outputs, seen, margin = [], {}, common.Margin()
    for x in inputs:
        out, state = model(jnp.asarray(x[None]), state)
        outputs.append(np.asarray(out)[0])
        for k, (ours, count, threshold) in neurons.items():
            v = np.asarray(state[k])[0, :count]
            margin.see(v - threshold)
            # A CuBaLIF takes the threshold off at the start of the next step; ours is seen after that.
            if isinstance(layers[k], CuBaLIF):
                v = np.where(v > threshold, v - np.float32(threshold), v)
            seen.setdefault(f"{ours}.v", []).append(v)
    common.write_case(f"spyx_{name}", "spyx", graph, inputs, np.stack(outputs),
                      {k: np.stack(v) for k, v in seen.items()}, {}, holds, margin, VERSIONS, **more)


def lif():
    rng = np.random.default_rng(1)
    layers = [linear(rng, 8, 12, 0.75), LIF((12,), beta=0.75, rngs=nnx.Rngs(0)), linear(rng, 12, 6, 0.5),
              CuBaLIF((6,), alpha=0.5, beta=0.75, rngs=nnx.Rngs(0)), linear(rng, 6, 5, 1), IF((5,))]
    case("lif", layers, common.spikes(rng, 8),
         {1: ("layer_1", 12, 1.0), 3: ("layer_3", 6, 1.0), 5: ("layer_5", 5, 1.0)},
         "LIF, CuBaLIF and IF: spikes leave a step late, the threshold goes in the next step")


def recurrent():
    rng = np.random.default_rng(2)
    layer = RLIF((12,), beta=0.75, rngs=nnx.Rngs(0))
    layer.recurrent_w[...] = jnp.asarray(common.dyadic(rng, 12, 12, scale=0.4))
    layers = [linear(rng, 8, 12, 0.75), layer]
    case("recurrent", layers, common.spikes(rng, 8), {1: ("layer_1.layer_1.lif", 12, 1.0)}, "RLIF", ulps=1,
         note="it adds (beta*V + x) + feedback; its exporter wires the graph's input to w_rec instead of lif")


for make in [lif, recurrent]:
    make()
