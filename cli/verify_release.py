"""`lakegate verify-release`: whether a release is what was built."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.escape import escaped
from lakegate.cli.options import AsJson  # noqa: TC001 - likewise
from lakegate.contracts.words import counted
from lakegate.infra.packaging.materials import sha256
from lakegate.infra.packaging.verification import SUMS, digests, verify

DIFFERS = 1


def verify_release(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.", show_default=False)],
    *,
    as_json: AsJson = False,
) -> None:
    """Compare a release with its digests and its bills of materials (SBOM), and name what differs.

    Example: lakegate verify-release dist/lakegate-0.1.0

    The digest of SHA256SUMS is printed: compare it with the one that was announced with the release. Without that, a
    release is only shown to be consistent with itself.

    Exit code: 0 nothing differs, 1 something differs, 2 the folder is not a release.
    """
    recorded, differences = digests(folder), verify(folder)
    digest = sha256(folder / SUMS)
    if as_json:
        document = {"release": str(folder), "files": len(recorded), "digest": digest}
        terminal.print_json(document | {"differences": [asdict(each) for each in differences]})
    else:
        for each in differences:
            typer.echo(escaped(f"{each.path} {each.problem}"))
        typer.echo(
            f"{counted(len(recorded), 'file')} recorded, {counted(len(differences), 'difference')}; SHA-256 of {SUMS}: {digest}"
        )
    if differences:
        raise typer.Exit(DIFFERS)
