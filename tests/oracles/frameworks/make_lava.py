"""Lava's LIF and Dense against a file of the `nir` package: lava-nc has neither importer nor exporter."""

import nir
import numpy as np
from lava.magma.core.run_conditions import RunSteps
from lava.magma.core.run_configs import Loihi2SimCfg
from lava.proc.dense.process import Dense
from lava.proc.io.source import RingBuffer
from lava.proc.lif.process import LIF
from lava.proc.monitor.process import Monitor

import common

VERSIONS = common.versions(**{"lava-nc": "0.10.0"})
DT = 1e-4


def main():
    rng = np.random.default_rng(1)
    sizes = [8, 12, 5]
    weights = [common.dyadic(rng, 12, 8, scale=8), common.dyadic(rng, 5, 12, scale=6)]
    taus, thresholds = [DT * 16, DT * 8], [0.5, 0.25]
    nodes = {"input": nir.Input({"input": np.array([8])}), "output": nir.Output({"output": np.array([5])})}
    for k, weight in enumerate(weights):
        ones = np.ones(len(weight), np.float32)
        nodes[f"fc{k}"] = nir.Linear(weight)
        nodes[f"lif{k}"] = nir.LIF(tau=taus[k] * ones, r=ones, v_leak=0 * ones, v_threshold=thresholds[k] * ones,
                                   v_reset=0 * ones)
    graph = nir.NIRGraph(nodes, [("input", "fc0"), ("fc0", "lif0"), ("lif0", "fc1"), ("fc1", "lif1"),
                                 ("lif1", "output")])
    inputs = common.spikes(rng, 8)

    source = RingBuffer(data=inputs.T)
    last, lifs = source, []
    for k, weight in enumerate(weights):
        # As in the NIR paper: r*dt/tau goes into the weights.
        dense = Dense(weights=weight * np.float64(DT / taus[k]))
        lif = LIF(shape=(sizes[k + 1],), vth=thresholds[k], dv=DT / taus[k], du=1.0, bias_mant=0.0)
        last.s_out.connect(dense.s_in)
        dense.a_out.connect(lif.a_in)
        lifs.append(lif)
        last = lif
    spikes, seen = Monitor(), [Monitor() for _ in lifs]
    spikes.probe(lifs[-1].s_out, common.STEPS)
    for monitor, lif in zip(seen, lifs, strict=True):
        monitor.probe(lif.v, common.STEPS)
    lifs[-1].run(condition=RunSteps(num_steps=common.STEPS), run_cfg=Loihi2SimCfg(select_tag="floating_pt"))
    output = next(iter(next(iter(spikes.get_data().values())).values()))
    membranes = {f"lif{k}.v": next(iter(next(iter(monitor.get_data().values())).values()))
                 for k, monitor in enumerate(seen)}
    lifs[-1].stop()
    margin = common.Margin()
    for k, threshold in enumerate(thresholds):
        margin.see(membranes[f"lif{k}.v"] - threshold)
    common.write_case("lava_lif", "lava", graph, inputs, output, membranes, {},
                      "Dense, LIF twice, floating point", margin, VERSIONS, made_by="nir", ulps=2,
                      note="it computes in float64")


if __name__ == "__main__":
    main()
