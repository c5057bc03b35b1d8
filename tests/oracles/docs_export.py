"""Runs the Python blocks of docs/export.md and keeps what they wrote in ../fixtures/docs_export.

A block runs in an empty folder and leaves model.nir, input.npy and theirs.npy. The manifest holds
each block's text, so that a test sees when the page has changed since.

    python tests/oracles/docs_export.py     # snntorch, norse, sparxml installed as the page says
"""

import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "export.md"
OUT = HERE.parent / "fixtures" / "docs_export"

OUT.mkdir(parents=True, exist_ok=True)
cases = []
for heading, block in re.findall(r"^## (\S+)\n(?:(?!^## ).)*?```python\n(.*?)```", PAGE.read_text(), re.M | re.S):
    name = heading.lower()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", block], cwd=folder, check=True)
        for file in ["model.nir", "input.npy", "theirs.npy"]:
            data = (pathlib.Path(folder) / file).read_bytes()
            (OUT / f"{name}.{file}.gz").write_bytes(gzip.compress(data, mtime=0))
    cases.append({"name": name, "block": block})
(OUT / "manifest.json").write_text(json.dumps(cases, indent=1) + "\n")
print(", ".join(case["name"] for case in cases))
