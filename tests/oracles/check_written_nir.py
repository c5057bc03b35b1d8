"""Reads what `ganglion convert` writes with the official nir package, and compares it with what it was made from.

    python tests/oracles/check_written_nir.py [FOLDER_WITH_MORE_NIR_FILES]

For every file of tests/fixtures/nir: the written file must be readable (without type check always, with it wherever the
original is), and hold the same nodes, edges and numbers; one number for a whole population may have become one an element.
Originals that nir itself cannot read are only checked to have become readable.
Exit status 1 if any is not so.
"""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import nir
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
# NIR wants these; a file may leave them out.
FILLED_IN = {"bias", "input_shape", "input_type", "shape", "v_reset", "w_in"}


def tree(group: h5py.Group) -> dict:
    return {key: tree(item) if isinstance(item, h5py.Group) else item[()] for key, item in group.items()}


def same(before: object, after: object) -> bool:
    """Equal, or one number that has become one an element or an axis."""
    if isinstance(after, bytes) or isinstance(before, bytes):
        return before == after
    if np.size(before) == 1:
        return bool(np.all(np.asarray(after) == np.ravel(before)[0]))
    return np.array_equal(before, after)


def differences(before: dict, after: dict, path: str) -> list[str]:
    found = [f"{path}/{key} is gone" for key in before if key not in after]
    for key, value in after.items():
        here = f"{path}/{key}"
        old = before.get(key)
        if old is None:
            found += [] if key in FILLED_IN else [f"{here} is new"]
        elif isinstance(value, dict):
            found += differences(old, value, here)
        elif key == "edges":
            # What is given twice counts once.
            if list(dict.fromkeys(map(tuple, old))) != list(map(tuple, value)):
                found.append(f"{here}: {old} became {value}")
        elif not same(next(iter(old.values())) if isinstance(old, dict) else old, value):
            found.append(f"{here}: {old} became {value}")
    return found


def reads(path: Path, type_check: bool) -> str | None:
    try:
        nir.read(path, type_check=type_check)
    except Exception as error:  # noqa: BLE001 - any refusal is an answer
        return f"{type(error).__name__}: {error}"
    return None


def check(source: Path, folder: Path) -> list[str]:
    original = folder / "original.nir"
    original.write_bytes(gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes())
    written = folder / "written.nir"
    command = ["node", str(ROOT / "bin/ganglion.mjs"), "convert", str(original), str(written), "--discretization", "exact"]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        return [ran.stderr.strip()]
    found = []
    plain, strict = reads(written, False), reads(written, True)
    if plain is not None:
        found.append(f"nir cannot read it: {plain}")
    if strict is not None and reads(original, True) is None:
        found.append(f"nir's type check refuses it, not the original: {strict}")
    if reads(original, False) is not None:
        return found  # What was mended is not compared.
    with h5py.File(original) as before, h5py.File(written) as after:
        found += differences(tree(before["node"]), tree(after["node"]), "")
    return found


def main() -> int:
    sources = sorted((ROOT / "tests/fixtures/nir").glob("*.nir.gz"))
    for folder in sys.argv[1:]:
        sources += sorted(Path(folder).glob("*.nir"))
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            found = check(source, Path(folder))
            bad += bool(found)
            for line in found:
                print(f"{source.name}: {line}")
    print(f"{len(sources) - bad} of {len(sources)} files written and read by nir {nir.__version__} with the same content")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
