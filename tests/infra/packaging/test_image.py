"""The container image: its form, and, on Debian as root, its root file system, which runs without a container engine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.packaging.image import USER, layer, make_image, unpack_debian, write_image
from infra.packaging.release import version_of
from infra.samples.__main__ import main as samples
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT, TOOLS
from tests.sam.engine import NoEngineError, engine

LARGEST = 160_000_000
CONTRACT = "weather.dcm.yaml"


def opened(archive: Path) -> tuple[dict[str, Any], list[bytes]]:
    """The configuration of an image and its layers, found as an engine does: index, manifest, blobs by their digests."""
    with tarfile.open(archive) as tar:
        files = {each.name: tar.extractfile(each).read() for each in tar}  # type: ignore[union-attr]  # they are files

    def blob(descriptor: dict[str, Any]) -> bytes:
        content = files[descriptor["digest"].replace("sha256:", "blobs/sha256/")]
        assert len(content) == descriptor["size"]
        return content

    (named,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(named))
    (of_docker,) = json.loads(files["manifest.json"])
    assert of_docker["Config"].endswith(manifest["config"]["digest"].removeprefix("sha256:"))
    return json.loads(blob(manifest["config"])), [blob(each) for each in manifest["layers"]]


def test_an_image_is_the_same_bytes_again(tmp_path: Path) -> None:
    """Whatever times files have; the layers, below the work folder of the user, are root's."""
    folder = tmp_path / "layer"
    (folder / "work").mkdir(parents=True)
    (folder / "bin").symlink_to("usr/bin")
    (folder / "program").write_text("#!/bin/sh\n")
    (folder / "program").chmod(0o755)
    images = []
    for number in range(2):
        os.utime(folder / "program", (number, number))
        write_image([folder], tmp_path / "image.tar", "1.2.3")
        images.append((tmp_path / "image.tar").read_bytes())
    config, (packed,) = opened(tmp_path / "image.tar")
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        entries = {each.name: (each.uid, each.mode, each.linkname) for each in tar}

    assert images[0] == images[1]
    assert entries == {"bin": (0, 0o777, "usr/bin"), "program": (0, 0o755, ""), "work": (USER, 0o755, "")}
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer(folder)).hexdigest()]
    assert config["config"]["User"] == f"{USER}:{USER}"
    assert config["config"]["Labels"]["org.opencontainers.image.version"] == "1.2.3"


def test_a_package_of_debian_is_unpacked_with_its_licence(tmp_path: Path) -> None:
    """What is below /lib goes to /usr/lib; no manual, but the licence and the entry that scanners of images read."""

    def packed(files: dict[str, str]) -> bytes:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:xz") as tar:
            for name, text in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text.encode()))
        return made.getvalue()

    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": packed({"./control": "Package: a\n"}),
        "data.tar.xz": packed(
            {
                "./lib/x.so": "x",
                "./usr/share/doc/a/copyright": "c",
                "./usr/share/doc/a/b": "-",
                "./usr/share/man/m": "-",
            }
        ),
    }
    package = tmp_path / "a_1_amd64.deb"
    package.write_bytes(
        b"!<arch>\n"
        + b"".join(
            f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
            + content
            + b"\n" * (len(content) % 2)
            for name, content in members.items()
        )
    )
    unpack_debian(package, tmp_path / "root")
    found = {
        each.relative_to(tmp_path / "root").as_posix() for each in (tmp_path / "root").rglob("*") if each.is_file()
    }

    assert found == {"usr/lib/x.so", "usr/share/doc/a/copyright", "var/lib/dpkg/status.d/a"}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image that `make image` makes."""
    try:
        return make_image(ROOT, TOOLS, tmp_path_factory.mktemp("image"))
    except SetUpError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def root(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its root file system with a contract and files in the work folder; it is run by chroot, as nobody's root."""
    if os.geteuid() or shutil.which("chroot") is None:
        pytest.skip("a root file system is run by chroot, as root")
    folder = tmp_path_factory.mktemp("root")
    folder.chmod(0o755)
    for packed in opened(image)[1]:
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            tar.extractall(folder, filter="fully_trusted")  # noqa: S202 - as an engine does
    shutil.copyfile(ROOT / f"contracts/examples/{CONTRACT}", folder / "work" / CONTRACT)
    samples([str(folder / "work")])
    yield folder
    shutil.rmtree(folder)


def run(root: Path, *words: str, image: Path) -> subprocess.CompletedProcess[str]:
    """The command as an engine runs it: user, entry point, environment and work folder of the configuration."""
    return subprocess.run(in_root(root, *words, image=image), capture_output=True, text=True, check=False)  # noqa: S603 - our own


def in_root(root: Path, *words: str, image: Path) -> list[str]:
    config = opened(image)[0]["config"]
    program = shutil.which("chroot") or ""
    return [
        "env",
        "-i",
        *config["Env"],
        program,
        f"--userspec={config['User']}",
        str(root),
        *config["Entrypoint"],
        *words,
    ]


@pytest.mark.full
def test_the_command_runs_with_the_exit_codes_of_a_job(image: Path, root: Path) -> None:
    """0 accepted, 1 rejected, 2 unusable; results are written where a volume would be, and nothing else can be written."""
    contract = ("check", "--contract", f"/work/{CONTRACT}", "--json")
    clean = run(root, *contract, "/work/weather-clean.csv", image=image)
    dirty = run(root, *contract, "/work/weather-dirty.csv", "--report", "/work/report.html", image=image)
    missing = run(root, *contract, "/work/nothing.csv", image=image)
    version = run(root, "--version", image=image)

    assert (clean.returncode, dirty.returncode, missing.returncode) == (0, 1, 2), clean.stderr + dirty.stderr
    assert json.loads(clean.stdout)["verdict"] == "accepted"
    assert (root / "work/report.html").stat().st_uid == USER
    assert version.stdout == f"lakegate {version_of(ROOT)}\n"
    assert run(root, *contract, "/work/weather-clean.csv", "--report", "/usr/x.html", image=image).returncode == 2
    assert run(root, "contracts", image=image).returncode == 2, "it has the extra `aws`, and no credentials"


@pytest.mark.full
def test_a_container_ends_when_it_is_asked_to(image: Path, root: Path) -> None:
    """Its first process ends on SIGTERM: a pod that is deleted does not wait for its grace period."""
    if subprocess.run(["unshare", "--pid", "--fork", "true"], check=False, capture_output=True).returncode:  # noqa: S607 - util-linux
        pytest.skip("no name space of processes can be made here")
    os.mkfifo(root / "work/pipe.yaml")  # reading it waits
    words = ("lint", "/work/pipe.yaml")
    command = ["unshare", "--pid", "--fork", "--kill-child", *in_root(root, *words, image=image)]
    process = subprocess.Popen(command)  # noqa: S603 - our own
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while (
        not (running := children.read_text().split())
        or b"lakegate" not in Path(f"/proc/{running[0]}/cmdline").read_bytes()
    ):
        time.sleep(0.1)
    time.sleep(1)
    os.kill(int(running[0]), signal.SIGTERM)

    assert process.wait(20) == 143


@pytest.mark.full
def test_the_image_is_small_and_has_no_shell(image: Path) -> None:
    """Fewer bytes than a function's limit; no shell, no package manager, no program that changes its user."""
    names: dict[str, int] = {}
    for packed in opened(image)[1]:
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            names |= {each.name: each.mode for each in tar if each.isfile()}

    assert image.stat().st_size < LARGEST
    assert [
        each for each in names if Path(each).name in {"sh", "bash", "dash", "apt", "apt-get", "dpkg", "pip", "pip3"}
    ] == []
    assert [name for name, mode in names.items() if mode & 0o6000] == []


@pytest.mark.skipif("LAKEGATE_DOCKER" not in os.environ, reason="containers: make test-docker runs this")
def test_an_engine_runs_it(image: Path, tmp_path: Path) -> None:
    """`docker load`, `docker run`."""
    try:
        with engine(tmp_path) as reached:
            environment = {**os.environ, **reached}
            subprocess.run(["docker", "load", "-i", image], env=environment, check=True)  # noqa: S603, S607 - this machine's own
            ran = subprocess.run(  # noqa: S603 - likewise
                ["docker", "run", "--rm", "--read-only", f"lakegate:{version_of(ROOT)}", "--version"],  # noqa: S607 - likewise
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
    except NoEngineError as error:
        pytest.skip(str(error))

    assert (ran.returncode, ran.stdout) == (0, f"lakegate {version_of(ROOT)}\n")
