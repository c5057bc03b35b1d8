"""Models of sparx, exported by it, and what it computes."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from sparx.nn import IF, LI, LIF, Flatten, Recurrent
from sparx.nir import to_nir

import common

VERSIONS = common.versions(sparxml="0.1.1", jax=jax.__version__, flax=flax.__version__)


def refill(params, rng, scale):
    """Dyadic kernels and biases; learned decays stay."""
    def leaf(path, value):
        name = path[-1].key
        if name == "decay":
            return value
        return jnp.asarray(common.dyadic(rng, *value.shape, scale=scale.get(name, 0.1)))
    return jax.tree_util.tree_map_with_path(leaf, params)


def channels_first(values):
    return values if values.ndim < 3 else np.moveaxis(values, -1, 1)


def case(name, layers, inputs, holds, scale, neurons, dt=1e-3, discretization="exact", thresholds=None,
         raw=False, ulps=1, note="XLA fuses decay*v + x into one rounding", **more):
    """`neurons`: {layer index: our name}. One step a call, the state carried over: all membranes are seen."""
    model = nn.Sequential(layers)
    rng = np.random.default_rng(len(name))
    first = jnp.asarray(inputs[:1, None])
    variables = {"params": model.init(jax.random.key(3), first)["params"]}
    if not raw:
        variables = {"params": refill(variables["params"], rng, scale)}
    shape = inputs.shape[1:]
    graph = to_nir(model, variables, dt=dt, discretization=discretization,
                   input_shape=shape if len(shape) > 1 else None)
    step = jax.jit(lambda held, x: model.apply({**variables, **held}, x, mutable=["state"]))
    held, outputs, seen = {}, [], {}
    for x in inputs:
        y, held = step(held, jnp.asarray(x[None, None]))
        held = {"state": held["state"]}
        outputs.append(np.asarray(y)[0, 0])
        for k, ours in neurons.items():
            carry = held["state"][f"layers_{k}"]["carry"]
            leaves = [leaf for path, leaf in jax.tree_util.tree_leaves_with_path(carry)
                      if path[-1] == jax.tree_util.GetAttrKey("v")]
            seen.setdefault(f"{ours}.v", []).append(np.asarray(leaves[0])[0])
    membranes = {k: channels_first(np.stack(v)) for k, v in seen.items()}
    whole = np.asarray(model.apply(variables, jnp.asarray(inputs[:, None])))[:, 0]
    assert np.abs(whole - np.stack(outputs)).max() < 1e-5
    common.write_case(f"sparx_{name}", "sparx", graph, channels_first(inputs), channels_first(np.stack(outputs)),
                      membranes, {}, holds, margin_of(membranes, neurons, thresholds), VERSIONS, ulps=ulps,
                      note=note, **more)


def margin_of(membranes, neurons, thresholds):
    """From the membranes that stayed below: those that fired are 0 when they are seen."""
    margin = common.Margin()
    for k, ours in neurons.items():
        if (thresholds or {}).get(k) is not None:
            margin.see(membranes[f"{ours}.v"] - thresholds[k])
    return margin


def lif():
    rng = np.random.default_rng(1)
    case("lif", [nn.Dense(12), LIF(tau=5.0, threshold=1.0, reset="zero"),
                 nn.Dense(5), LIF(tau=3.0, threshold=0.5, reset="zero")],
         common.spikes(rng, 8), "Dense, LIF twice; exact", {"kernel": 0.75}, {1: "1", 3: "3"},
         thresholds={1: 1.0, 3: 0.5})


def learned():
    rng = np.random.default_rng(2)
    case("learned_tau_euler", [nn.Dense(12), LIF(tau=5.0, threshold=0.5, reset="zero", learn_tau=True),
                               nn.Dense(5), LI(tau=4.0, learn_tau=True)],
         common.eighths(rng, 8), "decays learned a feature, LI readout; exported with euler; weights raw", {},
         {1: "1", 3: "3"}, discretization="euler", thresholds={1: 0.5}, raw=True, ulps=2,
         note="raw weights, XLA adds in another order; the learned decay is a sigmoid in float32")


def recurrent():
    rng = np.random.default_rng(3)
    case("recurrent", [nn.Dense(12), Recurrent(neuron=LIF(tau=5.0, threshold=1.0, reset="zero")), nn.Dense(5),
                       LI(tau=6.0)],
         common.spikes(rng, 8), "a recurrent LIF and an LI readout", {"kernel": 0.75, "recurrent": 0.4},
         {1: "1.lif", 3: "3"}, thresholds={1: 1.0})


def conv():
    rng = np.random.default_rng(4)
    case("conv", [nn.Conv(2, (3, 3), padding="VALID"), LIF(tau=4.0, threshold=1.0, reset="zero"), Flatten(ndim=3),
                  nn.Dense(5), LIF(tau=3.0, threshold=0.5, reset="zero")],
         common.spikes(rng, 6, 6, 2), "Conv, LIF, Flatten, Dense, LIF", {"kernel": 0.4},
         {1: "1", 4: "4"}, thresholds={1: 1.0, 4: 0.5})


def integrate():
    rng = np.random.default_rng(5)
    case("if", [nn.Dense(12), IF(threshold=1.0, reset="zero"), nn.Dense(5), IF(threshold=0.75, reset="zero")],
         common.spikes(rng, 8), "IF, whose thresholds are often just reached", {"kernel": 0.5}, {1: "1", 3: "3"},
         thresholds={1: 1.0, 3: 0.75}, ulps=0, note=None)


for make in [lif, learned, recurrent, conv, integrate]:
    make()
