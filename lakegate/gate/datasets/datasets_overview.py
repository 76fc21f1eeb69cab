"""The overview of all datasets: from registry, heads of chains, index, lifecycles and deadlines; kept in the lake."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from lakegate.base.errors import AccessDenied, ConditionFailed, NotFound
from lakegate.base.extension_points import load_extensions
from lakegate.base.json_codec import decode, encode
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.contract_model import full_dataset_name
from lakegate.gate.datasets.current_deliveries import not_current
from lakegate.gate.datasets.dataset_states import DatasetDeadlines, DatasetState, DatasetStatus, strictest
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.lake_layout import OVERVIEW, OVERVIEW_PAGE, report_key
from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot
from lakegate.gate.registry.routes import READERS, leading
from lakegate.report.overview_page import (
    NEWEST,
    SHOWN,
    DatasetsOverview,
    DatasetSummary,
    PlannedStep,
    StandingCause,
    render_overview,
)
from lakegate.verdict.verdict import ACCEPTING, Verdict

if TYPE_CHECKING:
    from lakegate.gate.ledger.ledger_store import FinishedDelivery

    OpenCauses: TypeAlias = Callable[[Dependencies, Iterable[DatasetState]], Mapping[str, tuple[StandingCause, ...]]]
    """Open causes of datasets, by their names: the type of the extension point `open causes`."""

# ---- Summaries of datasets ----
# No whole chain is read. The tops of a hundred chains are one read, and so are their lifecycles, deadlines and notices.
# The index is asked for the newest deliveries of those datasets alone whose chain has grown since the overview was kept, and the
# chain for the blocks from the lowest of these on: which of them are not current.


class _Published(NamedTuple):
    """A dataset of the registry."""

    name: str
    dataset: str
    version: Publication
    """The current one of its major number."""


def summaries(
    dependencies: Dependencies,
    contracts: Iterable[RegistrySnapshot],
    kept: Mapping[str, DatasetSummary],
    owners: Sequence[str] | None = None,
) -> dict[str, DatasetSummary]:
    """The datasets of contracts, by their names. `kept`: what is known of them. `owners`: only those of one of these."""
    published = [
        each for each in chain.from_iterable(map(_published, contracts)) if each.version.has_label("owner", owners)
    ]
    names = [each.name for each in published]
    states, deadlines = dependencies.datasets.written(names), dependencies.deadlines.written(names)
    tops = {name: head.height for name, head in zip(names, dependencies.ledger.heads(names), strict=True)}
    causes = _open_causes(dependencies, states.values())
    known = {name: kept[name] for name in names if name in kept and kept[name].height == tops[name]}
    grown = [name for name in names if name not in known and tops[name] >= 0]
    with ThreadPoolExecutor(READERS) as readers:
        known |= zip(grown, readers.map(partial(_of_index, dependencies, kept, tops), grown), strict=True)

    now = dependencies.moment
    coming = _coming(states.values(), now)

    def one(each: _Published) -> DatasetSummary:
        ended = known.get(each.name) or _without_deliveries(each.name)
        state = states.get(each.name, DatasetState(each.name))
        deadline = deadlines.get(each.name, DatasetDeadlines(each.name))
        labels = dict(reversed(each.version.labels))
        due = min((deadline.end_of(level) for level in deadline.deadlines), default=None)
        return replace(
            ended,
            name=labels.get("name"),
            owner=labels.get("owner"),
            version=each.version.version,
            status=strictest(each.version.status, state.status_at(now)).value,
            last_accepted=max((at for at in (ended.last_accepted, deadline.last) if at), default=None),
            due=due,
            missed=due is not None and due < now,
            causes=causes.get(each.name, ()),
            planned=tuple(sorted((*_planned(state, now), *coming[each.name]), key=lambda step: (step.at, step.what))),
        )

    return {each.name: one(each) for each in published}


def _published(snapshot: RegistrySnapshot) -> Iterator[_Published]:
    """The datasets of a contract, each by the current version of its major number."""
    for contract, number in sorted({(each.contract, each.major) for each in snapshot.standing}):
        version = leading(snapshot, contract, number)
        if version is not None:
            for dataset, _plan in version.plans:
                yield _Published(full_dataset_name(contract, dataset, number), dataset, version)


def _without_deliveries(name: str) -> DatasetSummary:
    """A dataset of which no delivery has ended, before the registry is asked."""
    return DatasetSummary(name, None, None, "", "", None, None, False, (), 0, 0, None, (), (), (), -1)


def _of_index(
    dependencies: Dependencies, kept: Mapping[str, DatasetSummary], tops: Mapping[str, int], name: str
) -> DatasetSummary:
    """The part of a summary that the index of finished deliveries has."""
    entries = dependencies.history.entries(name, limit=NEWEST)
    measured = [each for each in entries if each.rows is not None]
    rows, rejected = sum(each.rows or 0 for each in measured), sum(each.rejected_rows or 0 for each in measured)
    accepted = next((each.at for each in entries if each.verdict in ACCEPTING), None)
    if accepted is None and len(entries) == NEWEST:  # it may be longer ago
        older = (dependencies.history.entries(name, verdict=verdict, limit=1) for verdict in ACCEPTING)
        before = kept[name].last_accepted if name in kept else None
        accepted = before or max((each.at for found in older for each in found), default=None)
    return replace(
        _without_deliveries(name),
        last_accepted=moment(instant_of(accepted)) if accepted else None,
        verdicts=tuple(Verdict(each.verdict) for each in entries),
        rows=rows,
        rejected_rows=rejected,
        rejected_share=rejected / rows if rows else None,
        broken_rules=tuple(rule.rule for rule in entries[0].rules) if entries else (),
        height=tops[name],
        anomalies=entries[0].anomalies[:SHOWN] if entries else (),
        not_current=_not_current(dependencies, name, entries),
        newest=entries[0].workload if entries else "",
    )


def _not_current(dependencies: Dependencies, name: str, entries: tuple[FinishedDelivery, ...]) -> tuple[str, ...]:
    """By what each delivery is not current; empty where all are. One query: of the blocks from the lowest one on."""
    if not any(each.verdict in ACCEPTING for each in entries):
        return ()
    state = not_current(dependencies.ledger.blocks(name, entries[-1].height - 1, strict=False))
    found = tuple(state.why(each.height) or "" for each in entries)
    return found if any(found) else ()


def _open_causes(dependencies: Dependencies, states: Iterable[DatasetState]) -> dict[str, tuple[StandingCause, ...]]:
    found: defaultdict[str, tuple[StandingCause, ...]] = defaultdict(tuple)
    asked: Iterator[OpenCauses] = load_extensions("open causes")
    for causes in asked:
        for name, of_dataset in causes(dependencies, states).items():
            found[name] += of_dataset
    return found


def _planned(state: DatasetState, now: str) -> Iterator[PlannedStep]:
    """The later statuses of a dataset, and the versions of its contract's parent that it will be weaker than."""
    yield from (PlannedStep(change.status.value, change.at) for change in state.planned(now))
    yield from (PlannedStep(f"parent {each.version}", each.inherited_from) for each in state.parents)


def _coming(states: Iterable[DatasetState], now: str) -> defaultdict[str, list[PlannedStep]]:
    """The versions that follow datasets, by these: their subscribers have been given notice."""
    found: defaultdict[str, list[PlannedStep]] = defaultdict(list)
    for state in states:
        begins = state.expected(DatasetStatus.ACTIVE)
        if state.notice is not None and begins > now:
            found[state.notice.follows].append(PlannedStep(state.notice.version, begins))
    return found


# ---- The overview of a stack ----


class _Kept(NamedTuple):
    """The overview in the lake; without datasets where there is none, or one that this release cannot read."""

    etag: str | None
    datasets: Mapping[str, DatasetSummary]


def overview(dependencies: Dependencies, owners: Sequence[str] | None = None) -> DatasetsOverview:
    """All datasets as they are now, by their names; `owners`: only those of one of these."""
    contracts = chain.from_iterable(page.contracts for page in dependencies.registry.pages())
    found = summaries(dependencies, contracts, _kept(dependencies).datasets, owners)
    return DatasetsOverview(dependencies.moment, _sorted(found))


def kept_overview(dependencies: Dependencies) -> DatasetsOverview:
    """The overview as the last sweep has kept it. Raises NotFound."""
    return decode(DatasetsOverview, json.loads(dependencies.read_lake(OVERVIEW)))


SECONDS_OF_PAGE: Final = 60.0
"""Seconds: with less than this left no further page of the registry is begun."""
CURSOR: Final = "overview"
"""The name of the place in the registry where the next turn goes on."""
TAG: Final = "manifest"
"""Of both objects: what a newer one replaced expires."""


def keep_overview(dependencies: Dependencies) -> Steps[None]:
    """Bring the overview in the lake up to date, while there is time; nothing is written where nothing has changed.

    The page is written before the document, so that a turn that ends between them is repeated by the next one.
    """
    kept, agenda = _kept(dependencies), dependencies.agenda
    contracts, place = list[RegistrySnapshot](), agenda.cursor(CURSOR)
    after = place
    while dependencies.remaining() >= SECONDS_OF_PAGE:
        page = dependencies.registry.page(after or "")
        contracts += page.contracts
        after = page.after or None
        if after is None:
            break
    found = {**kept.datasets, **summaries(dependencies, contracts, kept.datasets)}
    if found != kept.datasets:
        document = DatasetsOverview(dependencies.moment, _sorted(found))
        put, page_at, at = dependencies.objects.put, dependencies.in_lake(OVERVIEW_PAGE), dependencies.in_lake(OVERVIEW)
        html = render_overview(document, reports=_report_address).encode(errors="backslashreplace")
        body = json.dumps(encode(document), sort_keys=True).encode()
        yield from perform(Effect.WRITE_OVERVIEW, put, page_at, html, tag=TAG, content_type="text/html; charset=utf-8")
        with suppress(ConditionFailed):  # another sweep came first: the next one goes on
            yield from perform(Effect.WRITE_OVERVIEW, put, at, body, absent=kept.etag is None, etag=kept.etag, tag=TAG)
    if after != place:
        yield from perform(Effect.KEEP_CURSOR, agenda.keep, CURSOR, after)


def _report_address(workload: str) -> str:
    """Of the report of a delivery, for the page in the lake bucket."""
    return f"../{report_key(workload)}"


def _kept(dependencies: Dependencies) -> _Kept:
    try:
        etag = dependencies.objects.head(dependencies.in_lake(OVERVIEW)).etag
    except (NotFound, AccessDenied):
        return _Kept(None, {})
    with suppress(ValueError, RecursionError, NotFound, AccessDenied):
        return _Kept(etag, {each.dataset: each for each in kept_overview(dependencies).datasets})
    return _Kept(etag, {})


def _sorted(found: Mapping[str, DatasetSummary]) -> tuple[DatasetSummary, ...]:
    return tuple(found[name] for name in sorted(found))
