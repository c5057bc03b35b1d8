"""Reads a snapshot of ours with the official `safetensors` and writes it again with it.

The file is tests/fixtures/safetensors/ours.safetensors, as GET …/state gives it; the result,
snapshot.json beside it, says what was read and holds what was written.
"""

import base64
import json
from pathlib import Path

import numpy
import safetensors
from safetensors.numpy import save

FOLDER = Path(__file__).parent.parent / "fixtures" / "safetensors"


def main() -> None:
    with safetensors.safe_open(FOLDER / "ours.safetensors", framework="numpy") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    assert metadata["format"] == "ganglion-state-1", metadata
    assert all(values.dtype == numpy.float32 for values in tensors.values())
    result = {
        "made_with": f"safetensors {safetensors.__version__}, numpy {numpy.__version__}",
        "metadata": metadata,
        "shapes": {name: list(values.shape) for name, values in tensors.items()},
        "ours_read": {name: values.flatten().tolist() for name, values in tensors.items()},
        "file": base64.b64encode(save(tensors, metadata)).decode(),
    }
    (FOLDER / "snapshot.json").write_text(json.dumps(result, indent=1) + "\n")


main()
