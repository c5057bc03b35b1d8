"""Writes ../fixtures/recordings: recordings in the files that `ganglion infer` takes, saved by the real
NumPy, and `expected.npz`, what they must be read as: counts by np.add.at.

Run: python make_recordings.py (needs numpy; made with 1.26.4). The same version gives the same bytes, but
for the times in the archives, which are set to 1980.
"""
import io
import zipfile
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent.parent / "fixtures" / "recordings"
HEIGHT, WIDTH, BIN_US, EVENTS = 6, 8, 1000, 400


def archive(name, compression, **arrays):
    """As np.savez and np.savez_compressed, with a fixed date."""
    with zipfile.ZipFile(FOLDER / name, "w", compression) as file:
        for key, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{key}.npy")
            entry.compress_type = compression
            with file.open(entry, "w", force_zip64=True) as member:
                member.write(data.getvalue())


FOLDER.mkdir(exist_ok=True)
random = np.random.default_rng(7)
t = np.sort(random.integers(1_700_000, 1_720_000, EVENTS))
x = random.integers(0, WIDTH, EVENTS)
y = random.integers(0, HEIGHT, EVENTS)
p = random.integers(0, 2, EVENTS)


def records(fields, align=False):
    dtype = np.dtype(fields, align=align)
    array = np.zeros(EVENTS, dtype)
    for name, values in {"t": t, "x": x, "y": y, "p": p}.items():
        if name in dtype.names:
            array[name] = values
    return array


np.save(FOLDER / "events.npy", records([("x", "<i2"), ("y", "<i2"), ("t", "<i8"), ("p", "<i2")]))
np.save(
    FOLDER / "events_aligned.npy",
    records([("x", "<u2"), ("y", "<u2"), ("p", "?"), ("t", "<i8")], align=True),
)
np.save(FOLDER / "events_line.npy", records([("t", "<i8"), ("x", "<i8"), ("p", "<i8")]))
archive(
    "events.npz",
    zipfile.ZIP_DEFLATED,
    t=t,
    x=x.astype("<u2"),
    y=y.astype("|u1"),
    p=p.astype("?"),
)
archive("events_array.npz", zipfile.ZIP_STORED, events=np.load(FOLDER / "events.npy"))
shuffled = random.permutation(EVENTS)
signed = np.where(p == 1, 1, -1)
columns = np.stack([t, x, y, signed], 1)[shuffled]
np.savetxt(FOLDER / "events.csv", columns, "%d", ",", header="t,x,y,p", comments="")
np.savetxt(FOLDER / "events.txt", np.stack([t, x, y, p], 1), "%d", header="t x y p of a made-up sensor")

bins = (t - t.min()) // BIN_US
steps = int(bins.max()) + 1
polar = np.zeros((steps, 2, HEIGHT, WIDTH), "<f4")
np.add.at(polar, (bins, p, y, x), 1)
line = np.zeros((steps, WIDTH), "<f4")
np.add.at(line, (bins, x), 1)

dense = random.random((9, 5)) * (random.random((9, 5)) < 0.4)
np.savetxt(FOLDER / "table.csv", dense, "%.6g", ",")
np.savetxt(FOLDER / "named.csv", dense, "%.6g", ";", header="a;b;c;d;e", comments="")
kept = np.loadtxt(FOLDER / "table.csv", delimiter=",")
archive("one.npz", zipfile.ZIP_DEFLATED, recording=kept)
archive("several.npz", zipfile.ZIP_STORED, target=np.arange(9), spikes=kept.astype("<f4"))

archive("expected.npz", zipfile.ZIP_STORED, polar=polar, both=polar.sum(1), line=line, table=kept)
