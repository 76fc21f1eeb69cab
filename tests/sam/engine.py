"""A container engine and an image like Lambda's, for the real `sam local`: those of this machine, or made here.

1. The engine that `docker` already uses; else, for root, a Docker of our own with its data in a temporary folder.
2. AWS's own image where it lies here already; else one made of Debian 12 with the Python of this
   machine, for which the tests build the bundles, and the runtime client.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path

from infra.setup.environments import program
from lakegate.base.extension_points import ROOT
from tests.sam.emulator import RUNTIME, SITE

TAG = "python:3.13-x86_64"
"""Of the runtime in template.yaml."""
SUITE = "bookworm"
CACHE = ROOT / ".cache/lambda-image.tar"
DAEMON = ("dockerd", "containerd", "runc", "iptables")
PATIENCE_SECONDS = 30
BOOTSTRAP = """#!/bin/sh
export PYTHONPATH=/var/task:/opt/python:/var/runtime AWS_EXECUTION_ENV=AWS_Lambda_python3.11
cd "${LAMBDA_TASK_ROOT:-/var/task}"
exec /usr/bin/python3 -m awslambdaric "${_HANDLER:-$1}"
"""
SETTINGS = ("ENV LANG=C.UTF-8 TZ=:UTC LAMBDA_TASK_ROOT=/var/task LAMBDA_RUNTIME_DIR=/var/runtime", "WORKDIR /var/task")


class NoEngineError(Exception):
    """Why no container can run here."""


@contextmanager
def engine(folder: Path) -> Iterator[dict[str, str]]:
    """What the environment of `docker` and `sam` needs to reach an engine that has the image. Raises NoEngineError."""
    if shutil.which("docker") is None:
        raise NoEngineError("there is no docker here")
    if _answers(os.environ):
        reached = {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}
        _image(reached, folder)
        yield reached
        return
    with _daemon(folder) as reached:
        _image(reached, folder)
        yield reached


def gateway(reached: dict[str, str]) -> str:
    """The address under which containers find this machine: where an engine does not say, the first of their network."""
    config = json.loads(_docker("network", "inspect", "bridge", "--format", "{{json .IPAM.Config}}", **reached))[0]
    return config.get("Gateway") or str(ip_network(config["Subnet"])[1])


@contextmanager
def _daemon(folder: Path) -> Iterator[dict[str, str]]:
    missing = [name for name in DAEMON if shutil.which(name) is None]
    if missing:
        raise NoEngineError(f"no engine answers, and there is no {missing[0]} to start one")
    if os.geteuid():
        raise NoEngineError("no engine answers, and only root can start one")
    reached = {"DOCKER_HOST": f"unix://{folder}/docker.sock"}
    places = ["--data-root", folder / "data", "--exec-root", folder / "exec", "--pidfile", folder / "docker.pid"]
    with (folder / "docker.log").open("wb") as log:
        daemon = subprocess.Popen(  # noqa: S603 - this machine's own
            ["dockerd", *places, "-H", reached["DOCKER_HOST"]],  # noqa: S607 - likewise
            stdout=log,
            stderr=log,
        )
    try:
        began = time.monotonic()
        while not _answers(reached):
            if daemon.poll() is not None or time.monotonic() - began > PATIENCE_SECONDS:
                raise NoEngineError(f"dockerd does not start: {(folder / 'docker.log').read_text()[-300:]}")
            time.sleep(0.2)
        yield reached
    finally:
        daemon.terminate()
        daemon.wait()
        shutil.rmtree(folder / "data", ignore_errors=True)  # pytest keeps folders of several runs


def _answers(environment: object) -> bool:
    known = {**os.environ, **dict(environment)}  # type: ignore[call-overload] # any mapping
    asked = ["docker", "info", "--format", "{{.ServerVersion}}"]
    answer = subprocess.run(asked, env=known, capture_output=True, check=False)  # noqa: S603 - this machine's own
    return answer.returncode == 0 and bool(answer.stdout.strip())


def _image(reached: dict[str, str], folder: Path) -> None:
    image = f"{_house()}/{TAG}"
    if not _docker("images", "-q", image, **reached).strip():
        if not CACHE.is_file():
            _make_root(folder)
        changes = [word for setting in SETTINGS for word in ("-c", setting)]
        for name in (image, image.removesuffix("-x86_64")):
            _docker("import", *changes, str(CACHE), name, **reached)


def _house() -> str:
    """Where SAM looks for AWS's images."""
    asked = "from samcli.local.docker.lambda_image import LambdaImage; print(LambdaImage._INVOKE_REPO_PREFIX)"
    command = [str(program("sam/python")), "-W", "ignore", "-c", asked]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - SAM's own


def _make_root(folder: Path) -> None:
    if shutil.which("debootstrap") is None or os.geteuid():
        raise NoEngineError(f"AWS's image {TAG} is not here, and debootstrap (as root) is needed to make one like it")
    root = folder / "rootfs"
    _run(["debootstrap", "--variant=minbase", "--include=python3,ca-certificates", SUITE, str(root), _mirror()])
    for name in ("var/task", "var/runtime", "var/rapid", "opt"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for path in [*(SITE / name for name in RUNTIME), *SITE.glob("runtime_client*.so")]:
        copy = shutil.copytree if path.is_dir() else shutil.copyfile
        copy(path, root / "var/runtime" / path.name)
    (root / "var/runtime/bootstrap").write_text(BOOTSTRAP)
    (root / "var/runtime/bootstrap").chmod(0o755)
    CACHE.parent.mkdir(exist_ok=True)
    aside = CACHE.with_suffix(".aside")
    _run(["tar", "-C", str(root), "--exclude=./var/cache/apt", "--exclude=./var/lib/apt", "-cf", str(aside), "."])
    aside.rename(CACHE)
    shutil.rmtree(root)


def _mirror() -> str:
    """Where this machine's own packages come from."""
    listed = [path.read_text() for path in Path("/etc/apt").rglob("*") if path.suffix in {".list", ".sources"}]
    found = re.search(r"https?://\S+/debian/?(?=\s)", "\n".join(listed))
    if found is None:
        raise NoEngineError("this machine does not say where Debian's packages are")
    return found[0]


def _docker(*words: str, **reached: str) -> str:
    return _run(["docker", *words], **reached)


def _run(command: list[str], **environment: str) -> str:
    ended = subprocess.run(  # noqa: S603 - this machine's own tools
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise NoEngineError(f"{command[0]} failed: {ended.stderr[-300:]}")
    return ended.stdout
