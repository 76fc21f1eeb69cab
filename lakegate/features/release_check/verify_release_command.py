"""lakegate verify-release: digests, bills of materials."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from pathlib import (
    Path,
    PurePosixPath,
)
from typing import Annotated, Any, Final

from lakegate.base.errors import InputError
from lakegate.base.text import plural
from lakegate.cli.click_commands import Argument
from lakegate.cli.command_runner import CommandResult, command

# ---- Contents of an artifact ----
# An artifact may come from anybody: only files of bounded size are read, and nothing is written or executed.


METADATA: Final = re.compile(r"(?:lib/python3\.\d+/site-packages/)?[^/]+\.dist-info/METADATA")
"""A package's metadata in a bundle, a wheel or a virtual environment (Core metadata specifications, packaging.python.org)."""
MAX_BYTES: Final = 2**20
"""Of one file that is read; the longest metadata of a locked package has a tenth of it."""
Packages = frozenset[tuple[str, str]]
"""Names, normalised as PEP 503 describes, and versions."""


def sha256(path: Path) -> str:
    """The digest of a file's bytes, in lower-case hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def packages_of(archive: Path) -> Packages:
    """The packages in a zip (`.zip`, `.whl`) or a gzipped tar. InputError where it cannot be read."""
    return frozenset((normalise_name(str(message["Name"])), str(message["Version"])) for message in _metadata(archive))


def requirements_of(wheel: Path) -> list[str]:
    """The requirements of a wheel, extras included, as its metadata has them. InputError where it cannot be read."""
    return [str(line) for message in _metadata(wheel) for line in message.get_all("Requires-Dist", [])]


def normalise_name(name: str) -> str:
    """The name of a package as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _metadata(archive: Path) -> Iterator[Message]:
    try:
        texts = list(_in_zip(archive) if zipfile.is_zipfile(archive) else _in_tar(archive))
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise InputError(f"{archive.name} cannot be read as an archive") from error
    for text in texts:
        message = HeaderParser().parsestr(text.decode("utf-8", "replace"))
        if message["Name"] is None:
            raise InputError(f"{archive.name} has a package without a name")
        yield message


def _in_zip(archive: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            if METADATA.fullmatch(entry.filename):
                with opened.open(entry) as file:
                    yield file.read(MAX_BYTES)


def _in_tar(archive: Path) -> Iterator[bytes]:
    with tarfile.open(archive, "r:gz") as opened:
        for entry in opened:
            if METADATA.fullmatch(entry.name) and (file := opened.extractfile(entry)) is not None:
                yield file.read(MAX_BYTES)


# ---- Whether a release is what was built ----


SUMS: Final = "SHA256SUMS"
"""The digests of all other files, in the form of `sha256sum`."""
_LINE: Final = re.compile(r"([0-9a-f]{64})  ([^\\\r\n]+)")
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?\s*(?:==\s*([^;,*\s]+)\s*(?:;|$))?")
"""A name, and a version where a single one is allowed (PEP 508)."""
FUNCTIONS: Final = "build/lambda/functions.zip"
JUDGE: Final = "build/judge/judge.zip"
PULL: Final = "build/pull/pull.zip"
TABLE: Final = "build/table/table.zip"
JAR: Final = "jar"
Materials = set[tuple[str, str]]
"""The content of an artifact or of its bill: packages by name and version, jars by name and digest."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that is not as it was released."""

    path: str
    """Relative to the release, with slashes."""
    problem: str


def verify(release: Path) -> tuple[Difference, ...]:
    """Every difference between a release and its records, in the order of paths; none where it is unchanged.

    InputError where the folder has no readable list of digests. Symbolic links are differences and are not followed.
    """
    recorded, present = digests(release), set(files(release)) - {SUMS}
    differences = [Difference(path, "is missing") for path in recorded.keys() - present]
    differences += [Difference(path, f"is not recorded in {SUMS}") for path in present - recorded.keys()]
    for path in recorded.keys() & present:
        if not _is_regular(release / path):
            differences.append(Difference(path, "is not a regular file"))
        elif sha256(release / path) != recorded[path]:
            differences.append(Difference(path, "has another digest than recorded"))
    for bill, materials in BILLS.items():
        differences += [Difference(bill, problem) for problem in _differences(release, bill, materials)]
    return tuple(sorted(set(differences), key=lambda difference: (difference.path, difference.problem)))


def files(release: Path) -> list[str]:
    """The paths below a folder, relative to it: files, symbolic links and whatever else is not a folder."""
    return sorted(
        path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_symlink() or not path.is_dir()
    )


def digests(release: Path) -> dict[str, str]:
    """The recorded digests by path. InputError where they are missing, or name a path outside the release."""
    try:
        lines = (release / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{release} is not a release: it has no readable {SUMS}") from None
    recorded = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None or PurePosixPath(match[2]).is_absolute() or ".." in PurePosixPath(match[2]).parts:
            raise InputError(f"line {number} of {SUMS} is not a digest, two spaces and a path inside the release")
        recorded[match[2]] = match[1]
    return recorded


def _differences(release: Path, bill: str, materials: Callable[[Path], Materials]) -> Iterator[str]:
    """Differences of a bill to its artifact; one that is missing is a difference of the digests."""
    if not _is_regular(release / bill):
        return
    try:
        listed = _listed(json.loads((release / bill).read_bytes()))
    except (ValueError, TypeError, KeyError, AttributeError):
        yield "is not a CycloneDX document"
        return
    try:
        present = materials(release)
    except InputError as error:
        yield f"cannot be compared: {error}"
        return
    yield from (f"lists {' '.join(each).strip()}, which the artifact lacks" for each in sorted(listed - present))
    yield from (f"lacks {' '.join(each).strip()} of the artifact" for each in sorted(present - listed))


def _listed(bill: Any) -> Materials:  # noqa: ANN401 - a document of somebody else
    """The components of a bill: jars by their digest, packages by their version (CycloneDX 1.6, `components`)."""
    if bill["bomFormat"] != "CycloneDX":
        raise ValueError(bill["bomFormat"])
    jars = {(JAR, one["content"]) for each in bill["components"] for one in each.get("hashes", ())}
    packages = {
        (normalise_name(each["name"]), each.get("version", "")) for each in bill["components"] if "hashes" not in each
    }
    return jars | packages


def _is_regular(place: Path) -> bool:
    return place.is_file() and not place.is_symlink()


def _bundle(path: str) -> Callable[[Path], Materials]:
    return lambda release: set(packages_of(release / path))


def _job(release: Path) -> Materials:
    jars = {(JAR, sha256(path)) for path in release.glob("build/code/*/*.jar")}
    return jars.union(*map(packages_of, release.glob("build/code/*/environment.tar.gz")))


def _wheel(release: Path) -> Materials:
    required = [requirement for wheel in release.glob("*.whl") for requirement in requirements_of(wheel)]
    matches = [match for each in required if (match := _REQUIREMENT.match(each))]
    return {(normalise_name(each[1]), each[2] or "") for each in matches}


BILLS: Final[dict[str, Callable[[Path], Materials]]] = {
    "sbom/functions.cdx.json": _bundle(FUNCTIONS),
    "sbom/judge.cdx.json": _bundle(JUDGE),
    "sbom/pull.cdx.json": _bundle(PULL),
    "sbom/table.cdx.json": _bundle(TABLE),
    "sbom/job.cdx.json": _job,
    "sbom/wheel.cdx.json": _wheel,
}
"""By the path of the bill: what the artifact that it describes consists of."""


# ---- `lakegate verify-release` ----


DIFFERS = 1


@dataclass(frozen=True, slots=True)
class VerifiedRelease:
    """A release, compared with its digests and its bills of materials."""

    release: str
    files: int
    digest: str
    differences: tuple[Difference, ...]


@command
def verify_release(
    folder: Annotated[Path, Argument(metavar="DIR", help="The folder of a release.")],
) -> CommandResult[VerifiedRelease]:
    """Compare a release with its digests and its bills of materials (SBOM), and name what differs.

    Example: lakegate verify-release dist/lakegate-0.1.0

    The digest of SHA256SUMS is printed: compare it with the one that was announced with the release. Without that, a
    release is only shown to be consistent with itself.

    Exit code: 0 nothing differs, 1 something differs, 2 the folder is not a release.
    """
    recorded, differences = digests(folder), verify(folder)
    digest = sha256(folder / SUMS)
    result = VerifiedRelease(str(folder), len(recorded), digest, tuple(differences))
    words = [f"{difference.path} {difference.problem}" for difference in differences]
    counts = f"{plural(len(recorded), 'file')} recorded, {plural(len(differences), 'difference')}"
    return CommandResult(result, [*words, f"{counts}; SHA-256 of {SUMS}: {digest}"], DIFFERS if differences else 0)
