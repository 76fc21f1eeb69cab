"""`make release`: one folder that is complete, checked by its own command, and the same bytes every time."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.packaging.release import build_wheel, make_release, sources
from infra.setup.environments import install
from lakegate.base.extension_points import ROOT, TOOLS
from lakegate.features.release_check.verify_release_command import (
    FUNCTIONS,
    JUDGE,
    PULL,
    SUMS,
    TABLE,
    files,
    packages_of,
    verify,
)
from lakegate.spark.local_spark import pinned_jars


@pytest.fixture(scope="module")
def release(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of this repository."""
    install("sbom")
    return make_release(ROOT, TOOLS, build, tmp_path_factory.mktemp("dist"))


def bill(release: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((release / f"sbom/{name}.cdx.json").read_bytes())
    return found


def test_a_release_is_complete(release: Path) -> None:
    """It has the wheel, what is deployed, a bill of materials of each, the notes and all digests."""
    found = files(release)
    job = (release / "build/release").read_text()

    assert found == sorted(
        [
            "NOTES.md",
            SUMS,
            *(f"build/code/{job}/{name}" for name in ("avro.jar", "deequ.jar", "environment.tar.gz", "validate.py")),
            FUNCTIONS,
            JUDGE,
            PULL,
            TABLE,
            "build/release",
            *(f"cdk/lakegate_cdk/{name}.py" for name in ("__init__", "construct", "parameters")),
            "lakegate-0.1.0-py3-none-any.whl",
            "samconfig.toml",
            *(f"sbom/{name}.cdx.json" for name in ("functions", "job", "judge", "pull", "table", "wheel")),
            "template.yaml",
            "tenant.yaml",
            *(f"terraform/{name}.tf" for name in ("main", "outputs", "variables")),
        ]
    )


def test_a_release_passes_its_own_check(release: Path) -> None:
    """Nothing of a fresh release differs, for our command and for `sha256sum`."""
    program = shutil.which("sha256sum")
    assert program is not None

    assert verify(release) == ()
    subprocess.run([program, "--check", "--strict", "--quiet", SUMS], check=True, cwd=release)  # noqa: S603 - coreutils


def test_a_bill_names_packages_with_licences_and_relations(release: Path) -> None:
    """CycloneDX 1.6: every package of the bundle by its purl, its licence, and what it depends on."""
    found = bill(release, "functions")
    components = {each["name"]: each for each in found["components"]}
    depends = {each["ref"]: each.get("dependsOn", []) for each in found["dependencies"]}

    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["name"] == "lakegate"
    assert {(each["name"].lower().replace("_", "-"), each["version"]) for each in components.values()} == packages_of(
        release / FUNCTIONS
    )
    assert [name for name, each in components.items() if not each["purl"].startswith("pkg:pypi/")] == []
    assert [name for name, each in components.items() if not each.get("licenses")] == []
    assert components["jmespath"]["bom-ref"] in depends[components["botocore"]["bom-ref"]]


def test_the_jars_of_the_job_are_in_its_bill(release: Path) -> None:
    """Each with its Maven coordinate and the digest of its bytes."""
    jars = {each["purl"]: each["hashes"] for each in bill(release, "job")["components"] if "hashes" in each}
    deequ, avro = pinned_jars()[:2]

    assert jars == {
        f"pkg:maven/{group}/{artifact}@{version}": [{"alg": "SHA-256", "content": pin.sha256}]
        for pin in (deequ, avro)
        for group, artifact, version in [pin.coordinate.split(":")]
    }


@pytest.mark.full  # of its parts, the wheel is below and the bundles are in test_bundles.py
def test_a_release_is_the_same_bytes_every_time(release: Path, build: Path, tmp_path: Path) -> None:
    """Two releases of the same bundles cannot be distinguished; that bundles are the same each time, test_bundles.py shows."""
    again = make_release(ROOT, TOOLS, build, tmp_path)

    assert (again / SUMS).read_text() == (release / SUMS).read_text()


def test_a_wheel_is_the_same_bytes_every_time(release: Path, tmp_path: Path) -> None:
    """Neither times nor permissions of the clone are in it."""
    clone = tmp_path / "clone"
    sources(ROOT, clone)
    for path in clone.rglob("*.py"):
        path.chmod(0o600)

    again = build_wheel(clone, tmp_path / "wheels")

    assert again.read_bytes() == (release / again.name).read_bytes()
