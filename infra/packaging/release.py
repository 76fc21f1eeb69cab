"""`python -m infra.packaging.release [FOLDER]`: everything of one version, below `dist/lakegate-<version>/`.

::

    lakegate-<version>-py3-none-any.whl     the package for `pip install`
    build/lambda/functions.zip              built again as by `make package`: a release is deployed like a clone
    build/judge/judge.zip, build/pull/pull.zip, build/table/table.zip
    build/code/<release>/, build/release
    template.yaml, tenant.yaml, samconfig.toml
    sbom/functions.cdx.json, judge.cdx.json, pull.cdx.json, table.cdx.json, job.cdx.json, wheel.cdx.json
    NOTES.md                                the section of CHANGELOG.md
    SHA256SUMS                              the digests of all of it; `sha256sum -c SHA256SUMS` reads it

The same sources give the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from infra.packaging.bundles import (
    EXECUTABLE,
    PROGRAM,
    READABLE,
    bundle_functions,
    bundle_job,
    bundle_judge,
    bundle_pull,
    bundle_table,
)
from infra.packaging.wrappers import copy_wrappers
from infra.setup.atomic_dir import atomic_dir
from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT, TOOLS
from lakegate.features.release_check.verify_release_command import (
    FUNCTIONS,
    JUDGE,
    METADATA,
    PULL,
    SUMS,
    TABLE,
    files,
    requirements_of,
    sha256,
)
from lakegate.spark.local_spark import pinned_jars

# ---- Bills of materials (CycloneDX 1.6) ----
# An artifact's packages are those whose metadata it contains. The jars are added from their pins (`lakegate/spark/jars.json`).


FORM = ("--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON")
BILL_PATIENCE_SECONDS = 300


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
        has_python = f"python/{PROGRAM}" in archive.getnames()
    bill["components"] += [_jar(path) for path in sorted(release.glob("*.jar"))]
    bill["components"] += [
        {"bom-ref": "cpython", "type": "application", "name": "cpython", "version": "3.11"}
    ] * has_python
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
            words, input=given, check=True, capture_output=True, text=True, timeout=BILL_PATIENCE_SECONDS
        )
    except subprocess.CalledProcessError as error:
        raise SetUpError(f"cyclonedx-py could not write a bill of materials: {error.stderr}") from error
    bill: dict[str, Any] = json.loads(ended.stdout)
    bill.setdefault("components", [])
    return bill


def _jar(path: Path) -> dict[str, Any]:
    """A jar of the release, by its bytes. SetUpError where they are no pinned jar."""
    found = sha256(path)
    pin = next((jar for jar in pinned_jars() if jar.sha256 == found), None)
    if pin is None:
        raise SetUpError(f"{path.name} is none of the pinned jars: run `make spark-tools`.")
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


FOLDERS: Final = ("lakegate", "infra")
NAMED: Final = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
"""Sources of the wheel."""
DEPLOYED: Final = ("template.yaml", "tenant.yaml", "samconfig.toml")
DATED: Final = {"SOURCE_DATE_EPOCH": "315532800"}
"""1980, the earliest time of a zip: files of the wheel have no time of their own (reproducible-builds.org)."""
PATIENCE_SECONDS = 300


def make_release(root: Path, tools: Path, build: Path, target: Path) -> Path:
    """Make the release of the version in pyproject.toml; its folder below `target`.

    `build`: the folder with all bundles (`bundles.py`). SetUpError where a tool is missing.
    """
    version = version_of(root)
    with atomic_dir(target) as aside:
        made = aside / f"lakegate-{version}"
        made.mkdir()
        job = (build / "release").read_text()
        for path in ("lambda", "judge", "pull", "table", f"code/{job}"):
            shutil.copytree(build / path, made / "build" / path)
        shutil.copyfile(build / "release", made / "build/release")
        wheel = build_wheel(root, made)
        for name in DEPLOYED:
            shutil.copyfile(root / name, made / name)
        copy_wrappers(root, made)
        (made / "sbom").mkdir()
        for name, bill in (
            ("functions", bill_of_functions(made / FUNCTIONS, root, tools)),
            ("judge", bill_of_functions(made / JUDGE, root, tools)),
            ("pull", bill_of_functions(made / PULL, root, tools)),
            ("table", bill_of_functions(made / TABLE, root, tools)),
            ("job", bill_of_job(made / "build/code" / job, root, tools)),
            ("wheel", bill_of_wheel(wheel, root, tools)),
        ):
            (made / f"sbom/{name}.cdx.json").write_text(_document(bill))
        (made / "NOTES.md").write_text(notes((root / "CHANGELOG.md").read_text(), version))
        lines = [f"{sha256(made / path)}  {path}\n" for path in files(made)]
        (made / SUMS).write_text("".join(lines))
        for path in files(made):
            (made / path).chmod(READABLE)
        place = target / made.name
        shutil.rmtree(place, ignore_errors=True)
        return made.rename(place)


def build_wheel(root: Path, target: Path) -> Path:
    """Build the wheel of the repository at `root` into a folder. The official schemas are fetched where they are missing.

    It is built from a copy with fixed permissions, in which no earlier build left files.
    """
    with atomic_dir(target) as aside:
        sources(root, aside / "sources")
        command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target)]
        try:
            subprocess.run(  # noqa: S603 - this interpreter
                [sys.executable, *command, str(aside / "sources")],
                check=True,
                capture_output=True,
                timeout=PATIENCE_SECONDS,
                env=os.environ | DATED,
            )
        except subprocess.SubprocessError as error:
            raise SetUpError("The wheel could not be built: run `make setup`.") from error
    (wheel,) = target.glob("*.whl")
    return wheel


def sources(root: Path, target: Path, *, ignored: tuple[str, ...] = ()) -> None:
    """Copy what the wheel is built from, but for ignored names, with fixed permissions."""
    for folder in FOLDERS:
        shutil.copytree(root / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__", *ignored))
    for name in NAMED:
        shutil.copyfile(root / name, target / name)
    for path in target.rglob("*"):
        path.chmod(EXECUTABLE if path.is_dir() else READABLE)


def version_of(root: Path) -> str:
    """The version in pyproject.toml."""
    return str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])


def notes(changelog: str, version: str) -> str:
    """The section of a version; that of unreleased changes where it has none. SetUpError where both are missing or empty."""
    for title in (version, "Unreleased"):
        found = re.search(rf"^## \[{re.escape(title)}\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
        if found and found[1].strip():
            unreleased = "" if title == version else ", unreleased"
            return f"# Lakegate {version}{unreleased}\n\n{found[1].strip()}\n"
    raise SetUpError(f"CHANGELOG.md has no section for {version}, and none for unreleased changes.")


def _document(bill: dict[str, Any]) -> str:
    return json.dumps(bill, indent=1, sort_keys=True) + "\n"


def main(arguments: list[str]) -> int:
    """Make the release; the exit code: 0, or 2 after one sentence on standard error."""
    try:
        for make in (bundle_functions, bundle_judge, bundle_pull, bundle_table, bundle_job):
            make(ROOT, TOOLS, ROOT / "build")
        made = make_release(ROOT, TOOLS, ROOT / "build", Path(arguments[0]) if arguments else ROOT / "dist")
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{made}\n{sha256(made / SUMS)}  {SUMS}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
