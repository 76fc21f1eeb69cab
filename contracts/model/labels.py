"""The labels of a contract, by which people and schedulers find it: owner, domain, tags, actors, what is done by schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.model.contract import Contract

PULL = "pull"
"""The label with the name of a dataset that is pulled: the scheduler reads no plan to find it."""
REVALIDATED = "revalidated"
"""The label with the name of a dataset that has rules with a schedule of their own."""
NAMES = ("owner", "domain", "tag", "producer", "consumer")
"""The names of labels; a contract has several tags."""


def labels_of(contract: Contract) -> tuple[tuple[str, str], ...]:
    """The labels that a document declares, by name: the domain of ODCS, producer and consumer of DCM."""
    return tuple(dict.fromkeys((name, value) for name, value in _labels(contract) if value))


def _labels(contract: Contract) -> Iterator[tuple[str, str]]:
    about = contract.about
    yield "owner", about.owner or ""
    yield "domain", _text(about.sections.get("domain"))
    yield from (("tag", each) for each in about.tags)
    for name in ("producer", "consumer"):
        section = about.sections.get(name)
        yield name, _text(section.get("name") if isinstance(section, Mapping) else section)
    yield from ((PULL, each.name) for each in contract.datasets if each.policy.pull)
    scheduled = (each for each in contract.datasets if any(rule.schedule for rule in each.rules))
    yield from ((REVALIDATED, each.name) for each in scheduled)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
