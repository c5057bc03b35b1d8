"""Writes npy_fixtures.json: arrays saved by the real NumPy, with what they must be read as.

Run: python npy_fixtures.py > npy_fixtures.json, then `deno fmt` (needs numpy; made with 2.4).
"""
import base64
import io
import json
import warnings

import numpy as np

warnings.simplefilter("ignore")


def save(array, version=None):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version, allow_pickle=False)
    return buffer.getvalue()


def fixture(name, array, version=None, refused=False):
    data = save(array, version)
    entry = {"name": name, "base64": base64.b64encode(data).decode()}
    if refused:
        return {**entry, "refused": True}
    values = array.astype("<f4").ravel().tolist()
    return {**entry, "dtype": array.dtype.str, "shape": list(array.shape), "values": values}


grid = np.array([[0, 1, 0.5], [-2, 3.25, 100]])
fixtures = [fixture(f"grid {d}", grid.astype(d)) for d in ("<f4", "<f8", "<i2", "<i4", "<i8", "|i1")]
fixtures += [
    fixture("bytes", np.arange(250, 256, dtype="u1").reshape(2, 3, 1)),
    fixture("booleans", np.array([True, False, True])),
    fixture("scalar", np.array(2.5, dtype="<f4")),
    fixture("empty", np.zeros((0, 4), dtype="<f4")),
    fixture("one long axis", np.arange(1234567 % 97, dtype="<f4")),
    fixture("version 2", grid.astype("<f4"), (2, 0)),
    fixture("version 3", grid.astype("<f4"), (3, 0)),
    fixture("big integers", np.array([2**40, -(2**53)], dtype="<i8")),
    fixture("big-endian", grid.astype(">f4"), refused=True),
    fixture("half", grid.astype("<f2"), refused=True),
    fixture("unsigned 16", np.array([1, 2], dtype="<u2"), refused=True),
    fixture("complex", grid.astype("<c8"), refused=True),
    fixture("text", np.array(["a", "b"]), refused=True),
    fixture("times", np.array([1, 2], dtype="<m8[s]"), refused=True),
    fixture("structured", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]), refused=True),
    fixture("structured, version 3", np.zeros(2, dtype=[("µ", "<f4")]), refused=True),
    fixture("fortran order", np.asfortranarray(grid.astype("<f4")), refused=True),
]
print(json.dumps(fixtures))
