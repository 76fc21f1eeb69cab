"""What rules refer to, on this machine: `--reference DATASET=FILE` stands for what was accepted of a dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cli.contracts import plan_of
from contracts.errors import InputError
from contracts.routes import line_of
from contracts.versions import major

if TYPE_CHECKING:
    from contracts.model import Contract
    from contracts.plan import Plan
    from contracts.request import Reference

    References = dict[str, tuple[Plan, list[Path]]]


def accepted(contract: Contract, said: list[str]) -> References:
    """Files by the line they stand for, with the plan they are read by; InputError for what names no dataset or no file."""
    found: References = {}
    for each in said:
        name, _, path = each.partition("=")
        if not path or contract.dataset(name) is None:
            raise InputError(f"--reference {each}: write DATASET=FILE, with a dataset of the contract")
        line = line_of(contract.id, name, major(contract.version))
        found.setdefault(line, (plan_of(contract, name), []))[1].append(Path(path))
    return found


def referred(references: References, folder: Path) -> tuple[Reference, ...]:
    """The same in the words of the job; plans and links to the files are put into a folder."""
    return tuple(
        _reference(line, *found, folder / f"accepted-{at}") for at, (line, found) in enumerate(references.items())
    )


def _reference(line: str, plan: Plan, files: list[Path], folder: Path) -> Reference:
    from contracts.request import AcceptedPart, Reference  # noqa: PLC0415 - start-up is paid by every command

    parts = [linked(path, folder, number) for number, path in enumerate(files)]
    address = folder / "plan.json"
    address.write_text(json.dumps(plan.to_json()))
    uri, digest = address.as_uri(), plan.digest
    return Reference(line, 0, tuple(AcceptedPart(each.as_uri(), each.stat().st_size, uri, digest) for each in parts))


def linked(path: Path, folder: Path, number: int) -> Path:
    """A link with a name that means nothing to Spark: a file's own name must not choose a codec, or another file."""
    if not path.is_file():
        raise InputError(f"{path} is not a file: name files one by one")
    link = folder / f"part-{number:05d}"
    folder.mkdir(parents=True, exist_ok=True)
    link.symlink_to(path.resolve())
    return link
