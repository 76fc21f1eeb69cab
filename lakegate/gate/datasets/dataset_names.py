"""The dataset that a person means."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Final

from lakegate.base.errors import AccessDenied, InputError
from lakegate.base.text import MAX_COMPARED, did_you_mean, join_words
from lakegate.contract.contract_model import parts_of
from lakegate.gate import lake_layout
from lakegate.gate.datasets.dataset_states import DatasetStatus, strictest
from lakegate.gate.registry.named_contract import numbered_version
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.registry.routes import leading

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies

DAYS: Final = 7
"""Chains of unrouted deliveries, one a day, that are searched."""
SHORTEST: Final = 6
"""Characters of an abbreviated id, as of workloads."""
NEAR: Final = 5
"""Names that are listed as similar to one that is unknown."""
LONGEST_NAME: Final = 1_024
"""Bytes; longer names are no key of the ledger's table."""


def chains(dependencies: Dependencies) -> tuple[str, ...]:
    """The chain of every dataset that was ever published, then those of the latest days without a route.

    Chains of contracts, which hold no deliveries, are not among them; they are found by their whole name.
    """
    today = dependencies.now.date()
    days = ((today - timedelta(days=ago)).isoformat() for ago in range(DAYS))
    return (*published_datasets(dependencies), *(f"{lake_layout.UNROUTED}/{day}" for day in days))


def published_datasets(dependencies: Dependencies) -> tuple[str, ...]:
    """Every dataset that has a published version, or a route, sorted."""
    snapshot = dependencies.registry.snapshot()
    return tuple(sorted(datasets_of_versions(snapshot.versions) | {route.full_name for route in snapshot.routes}))


def datasets_of_versions(versions: Iterable[Publication]) -> set[str]:
    """The datasets of contract versions."""
    return {
        f"{version.contract}/{dataset}_v{version.major}" for version in versions for dataset, _plan in version.plans
    }


def dataset_named(dependencies: Dependencies, name: str, *, in_force: bool = False) -> str:
    """The chain of a dataset, by its whole name or a part of it that only one dataset has.

    `in_force`, for who reads: of several major versions of one dataset it is the only one that is no draft. So a short name never
    comes to mean another dataset: once the draft is in force, too, it is refused.

    `shop/orders_v1`, `orders_v1`, `shop/orders`, `orders`, `shop`: the first of these forms that fits counts; after them those
    with the beginning of a contract's id, of six characters at least, that only one dataset has. The contract may also be named
    by DCM's id of a version. Raises InputError where none fits, or several do.
    """
    known, name = _meant(dependencies, name)
    for forms in zip(*map(names_of, known), strict=True):
        found = [chain for chain, form in zip(known, forms, strict=True) if form == name]
        if found:
            return _only(dependencies, found, f"{name} is", in_force=in_force)
    begun = [chain for chain in known if _begins(chain, name)]
    if begun:
        return _only(dependencies, begun, f"{name} is the beginning of", in_force=in_force)
    return _older(dependencies, known, name)


def _only(dependencies: Dependencies, found: list[str], words: str, *, in_force: bool) -> str:
    if len(found) == 1:
        return found[0]
    left = _without_drafts(dependencies, found) if in_force else found
    if len(left) == 1:
        return left[0]
    raise InputError(f"{words} more than one dataset: {join_words(found)}; give one of them")


def _without_drafts(dependencies: Dependencies, found: list[str]) -> list[str]:
    """The datasets that are no drafts; all of them where they are not one dataset, or the caller may not read what they are."""
    if len({names_of(chain)[2] for chain in found}) > 1:
        return found
    try:
        return [chain for chain in found if _status(dependencies, chain) is not DatasetStatus.DRAFT]
    except AccessDenied:
        return found


def _status(dependencies: Dependencies, chain: str) -> DatasetStatus:
    contract, _, number = parts_of(chain)
    version = leading(dependencies.registry.contract(contract), contract, number)
    status = dependencies.datasets.get(chain).status_at(dependencies.moment)
    return strictest(version.status, status) if version else status


def datasets_fitting(dependencies: Dependencies, name: str) -> frozenset[str]:
    """The chains of all datasets that a name fits in any of these forms. Raises InputError where there is none."""
    known, name = _meant(dependencies, name)
    found = frozenset(chain for chain in known if name in names_of(chain))
    found = found or frozenset(chain for chain in known if _begins(chain, name))
    return found or frozenset({_older(dependencies, known, name)})


def _meant(dependencies: Dependencies, name: str) -> tuple[tuple[str, ...], str]:
    """The chains that a name may mean, and the name; DCM's id of a version means its contract's, of the same major number."""
    known, (begin, slash, rest) = chains(dependencies), name.partition("/")
    version = numbered_version(dependencies.registry, begin)
    if version is None:
        return known, name
    own = {version.full_name(dataset) for dataset in version.datasets}
    return tuple(each for each in known if each in own), f"{version.contract}{slash}{rest}"


def _begins(chain: str, name: str) -> bool:
    """Whether a name is a dataset, a schema object, or a contract, whose id is abbreviated."""
    whole, _, in_contract, _, contract = names_of(chain)
    begin, slash, rest = name.partition("/")
    is_short = len(begin) >= SHORTEST and contract.startswith(begin) and not contract.startswith("_")
    return is_short and (not slash or rest in {whole.rpartition("/")[2], in_contract.rpartition("/")[2]})


def _older(dependencies: Dependencies, known: tuple[str, ...], name: str) -> str:
    """A chain that is on no list any more, by its whole name."""
    if _is_key(name) and dependencies.ledger.head(name).height >= 0:
        return name
    datasets = [each for each in known if not each.startswith(f"{lake_layout.UNROUTED}/")]
    if not datasets:
        raise InputError(f"{name} is not a dataset: no contract is published yet (lakegate publish)")
    forms = _parts(datasets)
    near = get_close_matches(name, islice(forms, MAX_COMPARED), n=NEAR, cutoff=0.6)
    similar = [each for each in datasets if not set(near).isdisjoint(names_of(each))]
    listed = f"similar are {join_words(similar)}" if similar else f"known are {join_words(datasets)}"
    raise InputError(f"{name} is not a dataset; {listed}.{did_you_mean(name, forms)}")


def names_of(chain: str) -> tuple[str, ...]:
    """The names that a person may use for a dataset, the whole one first."""
    contract, _, name = chain.rpartition("/")
    dataset = name.rpartition("_v")[0] or name
    return chain, name, f"{contract}/{dataset}", dataset, contract


def _parts(known: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(form for chain in known for form in names_of(chain)))


def _is_key(name: str) -> bool:
    return 0 < len(name.encode(errors="replace")) <= LONGEST_NAME and name.isprintable()
