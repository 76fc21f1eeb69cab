"""Which dataset line a person means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from contracts.errors import InputError
from contracts.words import did_you_mean, listed
from functions.usecases.deliveries import chains

if TYPE_CHECKING:
    from functions.usecases.gate import Gate

LONGEST_NAME: Final = 1_024
"""Bytes; longer names are no key of the ledger's table."""


def line_named(gate: Gate, name: str) -> str:
    """The chain of a line, by its whole name or a part of it that only one line has.

    `shop/orders_v1`, `orders_v1`, `shop/orders`, `orders`, `shop`: the first of these forms that fits counts.
    Raises InputError where none fits, or several do.
    """
    known = chains(gate)
    found = _called(known, name)
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        raise InputError(f"{name} is more than one line: {listed(found)}; give one of them")
    if _is_key(name) and gate.ledger.head(name).height >= 0:
        return name
    raise InputError(f"{name} is no line; known are {listed(known)}.{did_you_mean(name, _parts(known))}")


def _called(known: tuple[str, ...], name: str) -> list[str]:
    for place in range(len(_forms("a/b_v1"))):
        if found := [chain for chain in known if _forms(chain)[place] == name]:
            return found
    return []


def _forms(chain: str) -> tuple[str, ...]:
    contract, _, line = chain.rpartition("/")
    dataset = line.rpartition("_v")[0] or line
    return chain, line, f"{contract}/{dataset}", dataset, contract


def _parts(known: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(form for chain in known for form in _forms(chain)))


def _is_key(name: str) -> bool:
    return 0 < len(name.encode(errors="replace")) <= LONGEST_NAME and name.isprintable()
