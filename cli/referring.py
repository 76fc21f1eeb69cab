"""What rules refer to, on this machine: `--reference NAME=FILE` replaces the accepted data of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.cli.contracts import plan_of
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.routes import line_of
from lakegate.contracts.lake.versions import major
from lakegate.contracts.plan.request import AcceptedPart, Reference
from lakegate.contracts.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contracts.model.contract import Contract
    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan

    References = dict[str, tuple[Plan, list[Path]]]


def accepted(contract: Contract, plan: Plan, named: list[str], others: Iterable[Contract]) -> References:
    """Files by the line they stand for, with the plan they are read by.

    `named`: `NAME=FILE`, the name a dataset of the contract, or of another one as the plan's rules name it.
    `others`: those other contracts. InputError for a name that no dataset has, or whose contract is not given.
    """
    contracts = (contract, *others)
    found: References = {}
    for each in named:
        name, _, path = each.partition("=")
        if not path:
            raise InputError(f"--reference {each}: write NAME=FILE, with a dataset of the contract or CONTRACT/DATASET")
        line = _line(contract, plan, name)
        if line not in found:
            found[line] = (_plan(line, contracts), [])
        found[line][1].append(Path(path))
    return found


def referred_lines(checks: Iterable[Check]) -> tuple[str, ...]:
    """The lines that checks refer to: `CONTRACT/DATASET_vN`."""
    queries = (check.query for check in checks if check.query is not None)
    return tuple(sorted({each.line for query in queries for each in query.relations if each.line}))


def _line(contract: Contract, plan: Plan, name: str) -> str:
    if contract.dataset(name) is not None:
        return line_of(contract.id, name, major(contract.version))
    lines = referred_lines(plan.checks)
    found = [line for line in lines if name in _names(line)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"--reference {name}: several datasets have this name: write one of {', '.join(found)}")
    known = f"rules refer to {', '.join(lines)}" if lines else "no rule refers to another dataset"
    raise InputError(f"--reference {name}: neither a dataset of the contract nor one that a rule refers to; {known}")


def _names(line: str) -> set[str]:
    """What a line may be called: with and without its contract, with and without its major version."""
    dataset = line.rpartition("/")[2]
    return {line, line.rpartition("_v")[0], dataset, dataset.rpartition("_v")[0]}


def _plan(line: str, contracts: Iterable[Contract]) -> Plan:
    for each in contracts:
        for dataset in each.datasets:
            if line_of(each.id, dataset.name, major(each.version)) == line:
                return plan_of(each, dataset.name)
    raise InputError(
        f"--reference: {line} is a dataset of another contract: give its document with --reference-contract FILE"
    )


def referred(references: References, folder: Path) -> tuple[Reference, ...]:
    """The same in the words of the job; plans and links to the files are put into a folder."""
    return tuple(
        _reference(line, *found, folder / f"accepted-{at}") for at, (line, found) in enumerate(references.items())
    )


def _reference(line: str, plan: Plan, files: list[Path], folder: Path) -> Reference:
    parts = [linked(path, folder, number) for number, path in enumerate(files)]
    address = folder / "plan.json"
    address.write_bytes(plan.to_bytes())
    uri, digest = address.as_uri(), plan.digest
    return Reference(line, 0, tuple(AcceptedPart(each.as_uri(), each.stat().st_size, uri, digest) for each in parts))


def linked(path: Path, folder: Path, number: int) -> Path:
    """A link with a name that means nothing to Spark: a file's own name must not choose a codec, or another file."""
    if not path.exists():
        beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"{path} does not exist.{did_you_mean(path.name, beside)}")
    if not path.is_file():
        raise InputError(f"{path} is not a file: name files one by one")
    link = folder / f"part-{number:05d}"
    folder.mkdir(parents=True, exist_ok=True)
    link.symlink_to(path.resolve())
    return link
