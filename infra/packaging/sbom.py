"""Bills of materials (CycloneDX 1.6, JSON) of what is deployed, made from the artifacts themselves by `cyclonedx-py`.

An artifact's packages are those whose metadata it contains. The jars are added from their pins (`lakegate/spark/jars.json`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

from infra.setup.atomic_dir import atomic_dir
from infra.setup.environments import program
from lakegate.errors import SetUpError
from lakegate.features.release_check.verify_release_command import METADATA, requirements_of, sha256
from lakegate.spark.local_spark import pinned_jars

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FORM = ("--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON")


PATIENCE_SECONDS = 300


def bill_of_functions(bundle: Path, root: Path, tools: Path) -> dict[str, Any]:
    """The bill of the functions' bundle, a zip; `root`: where pyproject.toml is."""
    with atomic_dir(tools) as folder, zipfile.ZipFile(bundle) as archive:
        for name in archive.namelist():
            if METADATA.fullmatch(name):
                archive.extract(name, folder / "packages")
        return _of_packages(folder / "packages", folder, root, tools)


def bill_of_job(release: Path, root: Path, tools: Path) -> dict[str, Any]:
    """The bill of the job's release, a folder with a virtual environment in an archive and jars."""
    with atomic_dir(tools) as folder, tarfile.open(release / "environment.tar.gz") as archive:
        packages = folder / "packages"
        archive.extractall(packages, [each for each in archive if METADATA.fullmatch(each.name)], filter="data")
        (site,) = packages.glob("lib/python*/site-packages")
        bill = _of_packages(site, folder, root, tools)
    bill["components"] += [_jar(path) for path in sorted(release.glob("*.jar"))]
    return bill


def bill_of_wheel(wheel: Path, root: Path, tools: Path) -> dict[str, Any]:
    """The bill of the wheel: what it requires, in the ranges of its metadata, since it contains no package of others."""
    required = "\n".join(requirements_of(wheel))
    return _cyclonedx(tools, root, ("requirements", "-"), required)


def _of_packages(site: Path, folder: Path, root: Path, tools: Path) -> dict[str, Any]:
    """The bill of a folder of packages, which is made the only one of a virtual environment."""
    home = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)  # noqa: S603 - this interpreter
    (empty,) = home.glob("lib/python*/site-packages")
    empty.rmdir()
    empty.symlink_to(site.resolve(), target_is_directory=True)
    return _cyclonedx(tools, root, ("environment", str(home)))


def _cyclonedx(tools: Path, root: Path, command: Iterable[str], given: str | None = None) -> dict[str, Any]:
    words: list[str | Path] = [
        program("sbom/cyclonedx-py", tools),
        *command,
        *FORM,
        "--pyproject",
        root / "pyproject.toml",
    ]
    try:
        ended = subprocess.run(  # noqa: S603 - a pinned tool
            words, input=given, check=True, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
    except subprocess.CalledProcessError as error:
        raise SetUpError(f"cyclonedx-py could not write a bill of materials: {error.stderr}") from error
    bill: dict[str, Any] = json.loads(ended.stdout)
    bill.setdefault("components", [])
    return bill


def _jar(path: Path) -> dict[str, Any]:
    """A jar of the release, by its bytes. SetUpError where they are no pinned jar."""
    found = sha256(path)
    pin = next((each for each in pinned_jars() if each.sha256 == found), None)
    if pin is None:
        raise SetUpError(f"{path.name} is none of the pinned jars: run `make setup`.")
    group, artifact, version = pin.coordinate.split(":")
    return {
        "bom-ref": pin.coordinate,
        "type": "library",
        "group": group,
        "name": artifact,
        "version": version,
        "purl": f"pkg:maven/{group}/{artifact}@{version}",
        "hashes": [{"alg": "SHA-256", "content": pin.sha256}],
    }
