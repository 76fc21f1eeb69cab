"""`python -m tests.unit.features.odf.format.digest.vectors` writes `vectors.json`: the digests of the crate `arrow-digest`.

It needs cargo. Each table has two digests: `batches`, with its own batches, and `rows`, with each row as a batch of its own.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa

from tests.unit.features.odf.format.digest.tables import tables

HERE = Path(__file__).parent
CRATE = HERE / "vectors"
VECTORS = HERE / "vectors.json"
TARGET = Path(__file__).parents[6] / "build/arrow-digest"


def by_the_crate() -> dict[str, dict[str, str]]:
    """The digests of every table, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        found = tables()
        files = {str(Path(folder, str(place))): name for place, name in enumerate(found)}
        for file, name in files.items():
            with pa.ipc.new_stream(file, found[name][0].schema) as stream:
                for each in found[name]:
                    stream.write_batch(each)
        manifest = str(CRATE / "Cargo.toml")
        program = ["cargo", "run", "--quiet", "--locked", "--target-dir", str(TARGET), "--manifest-path", manifest]
        answer = subprocess.run([*program, "--", *files], check=True, capture_output=True, text=True)  # noqa: S603
    lines = (each.split(" ") for each in answer.stdout.splitlines())
    return {files[file]: {"batches": batches, "rows": rows} for file, batches, rows in lines}


if __name__ == "__main__":
    VECTORS.write_text(json.dumps(by_the_crate(), indent=1, ensure_ascii=False) + "\n")
