"""Puts the official JSON Schemas of contract formats where the readers find them: `lakegate/schemas/official`.

They lie in the published packages of their time. 1. pip downloads each package, its hash pinned. 2. The schema is taken out
of it and its SHA-256 compared with its pin. 3. It is moved to its place whole. A schema that is there, as pinned, is left.
The official examples that packages hold come the same way, into `.tools/examples`, where a test judges them.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from lakegate.base.errors import SetUpError

PINS = Path(__file__).with_name("schemas.json")
OFFICIAL = Path(__file__).parents[2] / "lakegate/schemas/official"
EXAMPLE_PINS = Path(__file__).with_name("examples.json")
EXAMPLES = Path(__file__).parents[2] / ".tools/examples"
PATIENCE_SECONDS = 600
PIP = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
EXACTLY = ("--no-deps", "--require-hashes")
WHEEL = ("--only-binary", ":all:")
SOURCE = ("--no-binary", ":all:", "--build-constraint", str(Path(__file__).with_name("examples-build.txt")))
"""pip asks a source package for its name by the package's own build tool, whose version is pinned too."""


@dataclass(frozen=True, slots=True)
class Schema:
    """One official schema, or one official example: what it is called here, and where it comes from."""

    name: str
    """Format and version, e.g. `odcs-3.1.0`."""
    package: str
    wheel: str
    """SHA-256 of the package's file."""
    member: str
    """Path inside the package."""
    sha256: str
    source: bool = False
    """Whether it lies in the source package alone."""

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}{Path(self.member).suffix}"


def pinned_schemas(pins: Path = PINS) -> tuple[Schema, ...]:
    """Every schema that the readers need."""
    return tuple(Schema(**pin) for pin in json.loads(pins.read_text()))


def install_schemas(folder: Path, schemas: tuple[Schema, ...]) -> tuple[Schema, ...]:
    """Fetch what `folder` lacks; those that were fetched. SetUpError if one cannot be had as pinned."""
    missing = tuple(schema for schema in schemas if not _as_pinned(folder / schema.file, schema))
    with tempfile.TemporaryDirectory() as downloads:
        for schema in missing:
            folder.mkdir(parents=True, exist_ok=True)
            _put(_member(_package(schema, Path(downloads, schema.wheel)), schema), folder / schema.file)
    return missing


def main(folder: Path = OFFICIAL, pins: Path = PINS) -> int:
    """Supply what is missing; the exit code: 0, or 2 after one sentence on standard error."""
    schemas = pinned_schemas(pins)
    try:
        install_schemas(folder, schemas)
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{pins.stem}: {len(schemas)} in {folder}, every checksum as pinned", file=sys.stderr)
    return 0


def _as_pinned(path: Path, schema: Schema) -> bool:
    return path.is_file() and _digest(path.read_bytes()) == schema.sha256


def _package(schema: Schema, folder: Path) -> Path:
    """The file of a schema's package, downloaded once for all that it holds."""
    if not folder.exists():
        lock = folder.with_suffix(".txt")
        lock.write_text(f"{schema.package} --hash=sha256:{schema.wheel}\n")
        kind = SOURCE if schema.source else WHEEL
        command = [*PIP, *EXACTLY, *kind, "--dest", str(folder), "--requirement", str(lock)]
        try:
            subprocess.run(  # noqa: S603 -- every argument is written in this file or beside it
                command, check=True, timeout=PATIENCE_SECONDS, capture_output=True
            )
        except subprocess.SubprocessError as error:
            advice = "fix the network and run `make setup` again"
            raise SetUpError(f"The package {schema.package} could not be fetched as pinned: {advice}.") from error
    return next(folder.iterdir())


def _member(package: Path, schema: Schema) -> bytes:
    if schema.source:
        with tarfile.open(package) as source:
            file = source.extractfile(schema.member)
            content = file.read() if file is not None else b""
    else:
        with zipfile.ZipFile(package) as archive:
            content = archive.read(schema.member)
    if _digest(content) != schema.sha256:
        raise SetUpError(f"{schema.file} in {schema.package} is not the one this project was tested with.")
    return content


def _put(content: bytes, path: Path) -> None:
    aside = path.with_suffix(".aside")
    aside.write_bytes(content)
    aside.rename(path)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    sys.exit(main() or main(EXAMPLES, EXAMPLE_PINS))
