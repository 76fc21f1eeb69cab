"""`lakegate dataset verify`: a dataset in a folder, without a stack: its chain, its ledger and every file of its data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.cli import terminal
from lakegate.cli.damages import MAX_SHOWN
from lakegate.cli.escape import escaped
from lakegate.cli.odf_copy import DatasetCopy, as_document, check_names, in_words
from lakegate.cli.odf_dataset import check_file, followed, head_of, walked
from lakegate.cli.odf_ledger import ledger_of
from lakegate.cli.odf_places import FolderPlace
from lakegate.contracts.errors import InputError
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lakegate.cli.odf_ledger import Proof

AS_STATED, BROKEN = 0, 1


def verify_dataset(folder: Path, proof: Proof, *, as_json: bool) -> int:
    """Print what a dataset is, or what is wrong with it; the exit code. InputError where there is none."""
    head = head_of(FolderPlace(folder))
    if head is None:
        raise InputError(
            f"{folder} has no dataset: refs/head is missing; `lakegate dataset import SOURCE {folder}` brings one"
        )
    found, faults = _verified(FolderPlace(folder), head, proof)
    if as_json:
        terminal.print_json({"faults": faults, **(as_document(found, folder, proof) if found else {})})
    else:
        for text in in_words(found, "", proof) if found and not faults else _faults_in_words(folder, faults):
            terminal.answers().print(escaped(text), markup=False, soft_wrap=True)
    return BROKEN if faults else AS_STATED


def _verified(folder: FolderPlace, head: str, proof: Proof) -> tuple[DatasetCopy | None, list[str]]:
    """The dataset, if its chain is intact, and what is wrong."""
    try:
        links, _ = walked(folder, head)
        state, added = followed(links)
        ledger = ledger_of(links, proof)
        check_names(state, ledger, proof)
    except InputError as error:
        return None, [str(error)]
    times = ledger.event_times if ledger else {}
    faults = []
    if ledger is not None and ledger.unproven:
        words = f"signatures cover {ledger.proven:,} of its {counted(len(links), 'block')}"
        faults.append(f"{words}: anybody may have written the others; --unsigned accepts them")
    with terminal.working("comparing slices") as progress:
        for number, each in enumerate(added, 1):
            progress(f"comparing slices: {number:,} of {len(added):,}")
            name = f"data/{each.data.physical}"
            try:
                if folder.size(name) is None:
                    raise InputError("it is missing")  # noqa: TRY301 - one of the ways in which a file differs
                check_file(folder.path / name, each.data, each.fields, times.get(each.data.start))
            except InputError as error:
                faults.append(f"block {each.sequence}: {name} is not as stated: {error}")
    return DatasetCopy(state, len(links), tuple(added), ledger), faults


def _faults_in_words(folder: Path, faults: list[str]) -> Iterator[str]:
    yield f"{folder} is not as stated:"
    yield from faults[:MAX_SHOWN]
    yield from terminal.more(len(faults), MAX_SHOWN)
