"""The peer sparx: its StreamServer, one slot a session, on JAX's CPU device. See peer.py."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import importlib.metadata

import jax
from sparx.nir import from_nir
from sparx.serve import StreamServer

import peer


def make(graph, dt, sessions, frame):
    model, variables = from_nir(graph, dt=dt, discretization="euler")
    inputs = graph.nodes["input"].input_type["input"]
    server = StreamServer(model, variables, slots=sessions, frame=frame, sample_shape=tuple(int(n) for n in inputs))
    opened = [server.open() for _ in range(sessions)]

    def step(frames):
        futures = [server.submit(session, each) for session, each in zip(opened, frames)]
        server.run()
        return [future.result() for future in futures]

    return step


versions = {name: importlib.metadata.version(name) for name in ["sparxml", "jax", "jaxlib", "numpy"]}
# XLA's pool has a thread a core; JAX offers no switch for it.
peer.serve(versions, len(os.sched_getaffinity(0)), make)
