"""`python -m infra.packaging.image`: a container image of the command, `build/lakegate-image.tar`.

No container engine, no root rights and no image of a registry are needed: an image is folders in archives and two JSON documents
(OCI Image Format 1.1). It has three layers, so that a new version of Lakegate sends few megabytes: Python and its C libraries
from packages of Debian 12, whose digests `apt-get` checks against signed lists; the libraries of `infra/setup/image.lock`; the
modules of this repository. There is no shell and no package manager in it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import shutil
import subprocess
import sys
import tarfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from infra.packaging.bundles import UNUSED, UNUSED_BY_THE_ENGINE, compile_all, unpack, wheels
from infra.packaging.release import build_wheel, version_of
from infra.setup.atomic_dir import atomic_dir
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT, TOOLS

PYTHON: Final = "3.11"
"""Debian 12's; `make setup` asks for the same, whose compiler writes the bytecode."""
PACKAGES: Final = (
    *("base-files", "ca-certificates", "media-types", "netbase", "tzdata"),
    *("libc6", "libgcc-s1", "libstdc++6", "zlib1g"),
    *("libbz2-1.0", "libcrypt1", "libexpat1", "libffi8", "liblzma5", "libsqlite3-0", "libssl3", "libuuid1"),
    *("libpython3.11-minimal", "libpython3.11-stdlib", "python3.11-minimal"),
)
MERGED: Final = ("bin", "lib", "lib64", "sbin")
"""Folders that are links into /usr."""
LEFT_OUT: Final = (
    *(
        "usr/share/doc/",
        "usr/share/man/",
        "usr/share/info/",
        "usr/share/locale/",
        "usr/share/lintian/",
        "usr/share/bug/",
    ),
    *("usr/lib/python3.11/ensurepip/", "usr/lib/python3.11/idlelib/", "usr/lib/python3.11/lib2to3/tests/"),
    *(
        "usr/sbin/",
        "usr/games/",
        "usr/include/",
        "usr/src/",
        "usr/share/base-files/",
        "usr/share/zoneinfo/right/",
        "usr/share/pixmaps/",
        "usr/share/apps/",
    ),
)
LICENCES: Final = "usr/share/doc/"
SITE: Final = "usr/local/lib/python3.11/dist-packages"
USER: Final = 10001
WORK: Final = "work"
ENTRY: Final = "usr/local/bin/lakegate"
ENTRY_TEXT: Final = """#!/usr/bin/python3.11 -P
import os, signal, sys
# the first process of a container ignores signals that it does not handle
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
from lakegate.cli.main import main
sys.exit(main())
"""
MARK: Final = "names"


def main() -> int:
    """Make the image; the exit code: 0, or 2 after one sentence on standard error."""
    try:
        made = make_image(ROOT, TOOLS, ROOT / "build")
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 2
    print(
        f"image: {made.relative_to(ROOT)} ({made.stat().st_size / 1e6:.1f} MB); docker load -i {made.relative_to(ROOT)}"
    )
    return 0


def make_image(root: Path, tools: Path, build: Path) -> Path:
    """The archive of the image. Raises SetUpError where Debian's packages, or the locked libraries, cannot be had."""
    with atomic_dir(build) as folder:
        layers = []
        for name, fill in (("python", _python), ("libraries", _libraries), ("lakegate", _lakegate)):
            place = folder / name
            place.mkdir()
            fill(place, root, tools)
            layers.append(place)
        made = folder / "image.tar"
        write_image(layers, made, version_of(root))
        target = build / "lakegate-image.tar"
        made.rename(target)
    return target


# ---- The root file system ----


def _python(folder: Path, _root: Path, tools: Path) -> None:
    """Python with its C libraries, certificates and a user."""
    for name in MERGED:
        (folder / "usr" / name).mkdir(parents=True)
        (folder / name).symlink_to(f"usr/{name}")
    for package in debian_packages(tools):
        unpack_debian(package, folder)
    authorities = sorted((folder / "usr/share/ca-certificates").rglob("*.crt"))
    (folder / "etc/ssl/certs").mkdir(parents=True, exist_ok=True)
    (folder / "etc/ssl/certs/ca-certificates.crt").write_text(
        "".join(authority.read_text() for authority in authorities)
    )
    (folder / "etc/passwd").write_text(f"root:x:0:0::/:/nologin\nlakegate:x:{USER}:{USER}::/{WORK}:/nologin\n")
    (folder / "etc/group").write_text(f"root:x:0:\nlakegate:x:{USER}:\n")
    for name in ("tmp", WORK):
        (folder / name).mkdir(exist_ok=True)
        (folder / name).chmod(0o1777)
    compile_all(folder / "usr/lib/python3.11", sys.executable)


def _libraries(folder: Path, _root: Path, tools: Path) -> None:
    site = folder / SITE
    site.mkdir(parents=True)
    for wheel in wheels("image", tools, python=PYTHON):
        unpack(wheel, site, lambda name: not any(fnmatchcase(name, each) for each in (*UNUSED, *UNUSED_BY_THE_ENGINE)))
    compile_all(site, sys.executable)


def _lakegate(folder: Path, root: Path, _tools: Path) -> None:
    site = folder / SITE
    site.mkdir(parents=True)
    with atomic_dir(folder.parent) as aside:
        unpack(build_wheel(root, aside), site, lambda _: True)
    compile_all(site, sys.executable)
    entry = folder / ENTRY
    entry.parent.mkdir(parents=True)
    entry.write_text(ENTRY_TEXT)
    entry.chmod(0o755)


def debian_packages(tools: Path) -> list[Path]:
    """Packages of Debian 12, fetched by this machine's apt-get with lists and cache of its own. Raises SetUpError."""
    store = tools / "debian"
    mark, names = store / MARK, "\n".join(PACKAGES)
    if not mark.is_file() or mark.read_text() != names:
        sources = [path for path in Path("/etc/apt").rglob("*") if path.suffix in {".list", ".sources"}]
        listed = [path for path in sources if "/debian" in path.read_text() and "bookworm" in path.read_text()]
        if shutil.which("apt-get") is None or not listed or platform.machine() != "x86_64":
            raise SetUpError("make image needs Debian 12 on x86_64: Python for the image comes from its packages.")
        with atomic_dir(store.parent) as folder:
            for each in ("lists/partial", "cache/archives/partial", "sources", "packages"):
                (folder / each).mkdir(parents=True)
            for number, source in enumerate(listed):
                shutil.copyfile(source, folder / "sources" / f"{number}{source.suffix}")
            settings = {
                "Dir::State::Lists": folder / "lists",
                "Dir::Cache": folder / "cache",
                "Dir::Etc::SourceList": "/dev/null",
                "Dir::Etc::SourceParts": folder / "sources",
                "APT::Sandbox::User": "",
                "Acquire::Languages": "none",
            }
            apt = [
                "apt-get",
                "--quiet",
                *(word for name, each in settings.items() for word in ("-o", f"{name}={each}")),
            ]
            for words in (["update"], ["download", *PACKAGES]):
                ended = subprocess.run(  # noqa: S603 - this machine's own
                    [*apt, *words], cwd=folder / "packages", capture_output=True, text=True, check=False
                )
                if ended.returncode:
                    why = ended.stderr.strip().splitlines()[-1:]
                    raise SetUpError(f"Debian's packages could not be fetched: fix the network. {''.join(why)}")
            shutil.rmtree(store, ignore_errors=True)
            (folder / "packages" / MARK).write_text(names)
            (folder / "packages").rename(store)
    return sorted(store.glob("*.deb"))


def unpack_debian(package: Path, folder: Path) -> None:
    """Unpack the files of a package, with its licence, and note it where scanners look (`var/lib/dpkg/status.d`)."""
    for name, content in _members(package.read_bytes()).items():
        if not name.startswith(("control.tar", "data.tar")):
            continue
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            if name.startswith("control"):
                control = archive.extractfile("./control")
                assert control is not None
                status = folder / "var/lib/dpkg/status.d" / package.name.partition("_")[0]
                status.parent.mkdir(parents=True, exist_ok=True)
                status.write_bytes(control.read())
                continue
            for member in archive:
                path = _merged(member.name.removeprefix("./"))
                is_licence = path.startswith(LICENCES) and path.endswith("/copyright")
                if path and (is_licence or not f"{path}/".startswith(LEFT_OUT)) and not (folder / path).is_dir():
                    archive.extract(_as(member, path), folder, filter="tar")


def _as(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
    member.name = path
    if member.islnk():
        member.linkname = _merged(member.linkname.removeprefix("./"))
    return member


def _merged(path: str) -> str:
    """The place of a file: what Debian's packages have below /lib is below /usr/lib."""
    return f"usr/{path}" if path.partition("/")[0] in MERGED else path


def _members(content: bytes) -> dict[str, bytes]:
    """The members of an `ar` archive, the form of Debian's packages."""
    members, at = {}, len(b"!<arch>\n")
    while at + 60 <= len(content):
        name, size = content[at : at + 16].decode().strip().rstrip("/"), int(content[at + 48 : at + 58])
        members[name] = content[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    return members


# ---- The image ----


def write_image(layers: list[Path], archive: Path, version: str) -> None:
    """Write folders as layers of an image: an OCI layout that `docker load` reads, too. The same folders give the same bytes."""
    blobs: dict[str, bytes] = {}
    described, digests = [], []
    for folder in layers:
        plain = layer(folder)
        digests.append(_digest(plain))
        described.append(_blob(blobs, gzip.compress(plain, 6, mtime=0), "application/vnd.oci.image.layer.v1.tar+gzip"))
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "WorkingDir": f"/{WORK}",
            "Entrypoint": [f"/{ENTRY}"],
            "Env": [
                "PATH=/usr/local/bin:/usr/bin",
                "LANG=C.UTF-8",
                "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
                "HOME=/tmp",
            ],
            "Labels": {
                "org.opencontainers.image.title": "lakegate",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": digests},
        "history": [{"created_by": f"infra.packaging.image: {folder.name}"} for folder in layers],
    }
    configured = _blob(blobs, _json(config), "application/vnd.oci.image.config.v1+json")
    kind = "application/vnd.oci.image.manifest.v1+json"
    manifest = _blob(
        blobs, _json({"schemaVersion": 2, "mediaType": kind, "config": configured, "layers": described}), kind
    )
    tag = f"lakegate:{version}"
    names = {"io.containerd.image.name": f"docker.io/library/{tag}", "org.opencontainers.image.ref.name": version}
    path = "blobs/sha256/{}"
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(
            {"schemaVersion": 2, "manifests": [{**manifest, "annotations": names}]},
        ),
        "manifest.json": _json(
            [
                {
                    "Config": path.format(_hex(configured)),
                    "RepoTags": [tag],
                    "Layers": [path.format(_hex(each)) for each in described],
                }
            ]
        ),
        **{path.format(name): content for name, content in blobs.items()},
    }
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as target:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            target.addfile(entry, io.BytesIO(content))


def layer(folder: Path) -> bytes:
    """A folder as an archive that depends on names, modes and contents alone. Files are root's, the work folder the user's."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as target:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            entry = target.gettarinfo(path, name)
            if entry.islnk():  # a file is stored each time
                entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
            entry.mtime, entry.uname, entry.gname = 0, "", ""
            entry.uid = entry.gid = USER if name == WORK else 0
            if name == WORK:
                entry.mode = 0o755
            with path.open("rb") if entry.isreg() else io.BytesIO() as content:
                target.addfile(entry, content if entry.isreg() else None)
    return made.getvalue()


def _blob(blobs: dict[str, bytes], content: bytes, kind: str) -> dict[str, Any]:
    """Keep a blob; the descriptor that refers to it."""
    name = hashlib.sha256(content).hexdigest()
    blobs[name] = content
    return {"mediaType": kind, "digest": f"sha256:{name}", "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _hex(descriptor: dict[str, Any]) -> str:
    return str(descriptor["digest"]).removeprefix("sha256:")


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


if __name__ == "__main__":
    sys.exit(main())
