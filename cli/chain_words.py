"""What `lakegate verify` prints of a chain, and of the data that was compared with it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from lakegate.cli import terminal
from lakegate.cli.escape import escaped
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.damages import Compared
    from lakegate.contracts.lake.ledger import ChainFault
    from lakegate.functions.ports.ledger import Head


def chain_document(
    chain: str,
    head: Head,
    faults: tuple[ChainFault, ...],
    signatures: dict[str, object],
    compared: Compared | None,
) -> dict[str, object]:
    """The document of `--json`."""
    damaged = [asdict(each) for each in compared.damaged] if compared else []
    return {
        "chain": chain,
        "height": head.height,
        "head": head.digest,
        "intact": not faults and not damaged,
        "faults": [{"height": each.height, "what": each.what.value, "why": each.why or None} for each in faults],
        "signatures": signatures,
        "objects": {"compared": compared.count, "expired": compared.expired, "damaged": damaged} if compared else None,
    }


def print_chain(chain: str, head: Head, faults: tuple[ChainFault, ...], signatures: Iterator[str]) -> None:
    """Whether the chain is intact, and by whom it is signed."""
    console = terminal.answers()
    if faults:
        broken = f"{chain}: broken. Nothing from block {faults[0].height} on can be trusted."
        console.print(escaped(broken), style="bold red", markup=False, soft_wrap=True)
        for each in faults:
            named = f"  block {each.height}: {each.what.value}" + (f": {each.why}" if each.why else "")
            console.print(escaped(named), markup=False, soft_wrap=True)
    else:
        console.print(escaped(f"{chain}: {counted(head.height + 1, 'block')}, intact."), markup=False, soft_wrap=True)
    for line in signatures:
        console.print(escaped(line), markup=False, soft_wrap=True)


def print_data(words: Iterator[str], head: Head, faults: tuple[ChainFault, ...], compared: Compared | None) -> None:
    """What was compared with the chain, and its head as an anchor."""
    console = terminal.answers()
    if compared is None:
        console.print("Chain only; data not checked: --objects compares every object with the ledger.", soft_wrap=True)
    else:
        for line in words:
            console.print(escaped(line), markup=False, soft_wrap=True)
    if not faults and head.height >= 0 and not (compared and compared.damaged):
        console.print(f"Anchor of today, to be kept elsewhere: {head.height}={head.digest}", soft_wrap=True)
