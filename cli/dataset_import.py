"""`lakegate dataset import`: a dataset of Open Data Fabric from a folder, S3 or a web server, verified before it is visible.

1. Blocks that are new come from the head downwards; each has the hash by which the one above names it. They have to continue the
   chain in the folder: a fork, and an older chain, are refused.
2. The chain is checked, and the chain of the ledger in its attachments, if Lakegate wrote it.
3. Data comes next: each file is compared with its block, and read whole, before it gets its name.
4. The head is replaced last. Until then the folder has the dataset that it had before; a repeated command goes on.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from lakegate.cli import terminal
from lakegate.cli.aws import entered, readable_errors
from lakegate.cli.escape import escaped
from lakegate.cli.odf_copy import DatasetCopy, as_document, check_names, in_words
from lakegate.cli.odf_dataset import check_file, followed, head_of, names, walked
from lakegate.cli.odf_ledger import ledger_of
from lakegate.cli.odf_places import FOLDERS, FolderPlace, SourceError
from lakegate.cli.odf_repositories import source_of
from lakegate.contracts.errors import InputError
from lakegate.contracts.words import counted
from lakegate.functions.ports.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lakegate.cli.odf_dataset import Added, Link
    from lakegate.cli.odf_ledger import CheckedLedger, Proof
    from lakegate.cli.odf_places import OdfSource


def import_dataset(source: str, folder: Path, proof: Proof, stack: str | None, *, as_json: bool) -> None:
    """Bring what is new of a dataset into a folder, and print what it is. `stack`: the local one, whose S3 is asked."""
    if stack is not None:
        entered(stack, local=True)
    with readable_errors():
        found = imported(source_of(source), FolderPlace(folder), proof)
    if as_json:
        terminal.print_json(as_document(found, folder, proof))
        return
    for text in (*in_words(found, "new ", proof), f"Read its rows: lakegate dataset read {folder}"):
        terminal.answers().print(escaped(text), markup=False, soft_wrap=True)


def imported(source: OdfSource, folder: FolderPlace, proof: Proof) -> DatasetCopy:
    """Bring what is new into a folder. InputError, and nothing visible, where anything is not as it has to be."""
    _check_folder(folder.path)
    head = head_of(source)
    if head is None:
        raise InputError(
            "the source has no dataset: refs/head is missing; `lakegate dataset export LINE DEST` writes one"
        )
    with folder.locked():
        return _imported(source, head, folder, proof)


def _imported(source: OdfSource, head: str, folder: FolderPlace, proof: Proof) -> DatasetCopy:
    before, own = folder.head(), head_of(folder)
    there = walked(folder, own)[0] if own else []
    brought: list[str] = []
    try:
        new, joint = walked(folder, head, names(there), source, brought.append)
        _check_continues(own, head, joint)
        links = [*there, *new]
        state, slices = followed(links)
        ledger = ledger_of(links, proof)
        check_names(state, ledger, proof)
        if ledger is not None and ledger.unproven:
            links, left = links[: ledger.proven], links[ledger.proven :]
            _check_proven(links, there)
            folder.remove(f"blocks/{each.name}" for each in left)
            state, slices = followed(links)
    except SourceError:
        raise  # what came is used when the command is repeated
    except InputError:
        folder.remove(brought)
        raise
    added = [each for each in slices if each.sequence >= len(there)]
    _bring(source, folder, added, ledger)
    if len(links) > len(there):
        folder.set_head(links[-1].name, before)
    return DatasetCopy(state, len(links) - len(there), tuple(added), ledger)


def _check_proven(links: Sequence[Link], there: Sequence[Link]) -> None:
    """Whether the folder has nothing above what is proven."""
    if len(links) < len(there):
        words = f"the folder has {counted(len(there), 'block')}, and signatures cover {len(links):,} of them"
        raise InputError(f"{words}: --unsigned takes the others, too, which anybody may have written")


def _check_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is not a folder")
    if path.is_dir() and (extra := sorted({each.name for each in path.iterdir()} - set(FOLDERS))):
        raise InputError(f"{path} has {extra[0]}, which is no part of a dataset: give another folder")


def _check_continues(own: str | None, head: str, joint: str | None) -> None:
    """Whether the new blocks begin where the chain of the folder ends. `joint`: the block before them."""
    if own is None or joint == own:
        return
    if joint == head:
        raise InputError("the dataset is older than the one in the folder: nothing was changed")
    where = "is another one from its first block on" if joint is None else f"is another one above the block {joint}"
    raise InputError(f"the dataset {where}: it is no continuation of the one in the folder, nothing was changed")


def _bring(source: OdfSource, folder: FolderPlace, added: Sequence[Added], ledger: CheckedLedger | None) -> None:
    """Files of data that are new, each whole and verified."""
    size = sum(each.data.size for each in added)
    free = shutil.disk_usage(_existing(folder.path)).free
    if size > free:
        raise InputError(f"the data has {counted(size, 'byte')}, and {free:,} are free")
    times = ledger.event_times if ledger else {}
    with terminal.bytes_arriving("data", size) as arrived:
        for each in added:
            _bring_slice(source, folder, each, times.get(each.data.start), arrived)


def _existing(path: Path) -> Path:
    return next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())


def _bring_slice(
    source: OdfSource, folder: FolderPlace, each: Added, times: tuple[str, str] | None, arrived: Callable[[int], object]
) -> None:
    name = f"data/{each.data.physical}"
    if folder.size(name) == each.data.size:  # of an interrupted run; fetched again if it was damaged since
        with suppress(InputError):
            check_file(folder.path / name, each.data, each.fields, times)
            arrived(each.data.size)
            return
    try:
        with folder.new(name) as part:
            _fetch(source, name, each.data.size, part, arrived)
            check_file(part, each.data, each.fields, times)
    except NotFound:
        raise InputError(f"block {each.sequence}: {name} is missing") from None
    except InputError as error:
        raise InputError(f"block {each.sequence}: {name} is not as stated: {error}") from None


def _fetch(source: OdfSource, name: str, size: int, target: Path, arrived: Callable[[int], object]) -> None:
    with target.open("wb") as file:
        for piece in source.pieces(name):
            file.write(piece)
            arrived(len(piece))
            if file.tell() > size:
                raise InputError(f"it has more than {counted(size, 'byte')}")
