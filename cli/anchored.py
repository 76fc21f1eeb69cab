"""`lakegate verify --anchors`: the daily anchors themselves, and the chains that they name."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lakegate.cli import terminal
from lakegate.cli.anchors import OUTPUT, documents_in, documents_of
from lakegate.cli.aws import entered, opened, readable_errors
from lakegate.cli.chain_file import Passed, stored_faults, verified
from lakegate.cli.escape import escaped
from lakegate.cli.signing import FETCHED, KMS, signatures_by, signatures_of
from lakegate.contracts.errors import InputError, SetUpError
from lakegate.contracts.lake.anchor_check import AnchorFault, AnchorFlaw, Anchors, contradictions
from lakegate.contracts.lake.signatures import SHORT
from lakegate.contracts.words import counted
from lakegate.functions.adapters.clock import SystemClock
from lakegate.functions.usecases.lines import line_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.cli.anchors import StoredAnchors
    from lakegate.cli.aws import DeployedStack
    from lakegate.contracts.lake.ledger import ChainFault
    from lakegate.functions.usecases.dependencies import Dependencies

STACK = "stack"
"""In the place of an address: the bucket of the stack."""
LATE = timedelta(days=2)
"""Without an anchor of the stack: one is due each day, within an hour."""
MAX_SHOWN = 50
BY_ITSELF = "The anchors themselves name these keys: only --key proves whose they are."


class AnchorOptions(NamedTuple):
    """Options of the command."""

    key: str | None
    file: Path | None
    stack: str
    local: bool
    as_json: bool


class Fault(NamedTuple):
    """What is wrong with an anchor or a chain."""

    what: str
    where: str
    height: int | None
    why: str


class _Checked(NamedTuple):
    anchors: Anchors
    chains: int
    faults: tuple[Fault, ...]
    fetched: bool


def verify_anchors(place: str, line: str | None, options: AnchorOptions) -> int:
    """Print what anchors at a place prove of a line, or of every chain that they name; 0 if nothing is wrong, else 1."""
    if options.file is not None and line is None:
        raise InputError("--yaml has one chain: name its line")
    with ExitStack() as context:
        there: DeployedStack | None = None
        if options.file is None or place == STACK or options.key == KMS:
            there = context.enter_context(opened(options.stack, local=options.local))
        else:
            entered(options.stack, local=options.local)
            context.enter_context(readable_errors())
        checked = _checked(place, line, options, there)
    if options.as_json:
        terminal.print_json(_as_document(checked))
    else:
        for text in _in_words(checked):
            terminal.answers().print(escaped(text), markup=False, soft_wrap=True)
    return 1 if checked.faults else 0


def _checked(place: str, line: str | None, options: AnchorOptions, there: DeployedStack | None) -> _Checked:
    fetched = options.key == KMS and there is not None
    signatures = (
        signatures_of(there) if fetched and there else signatures_by(Path(options.key) if options.key else None)
    )
    dependencies = there.dependencies() if there is not None and options.file is None else None
    chain = line_named(dependencies, line) if dependencies and line else line
    anchors = Anchors(signatures.verifies, signatures.given, chain)
    stored = _stored(place, there)
    anchors.read(stored.documents)
    if not anchors.documents:
        raise InputError(f"there is no anchor at {place}; the stack keeps one a day with AnchorDays (docs/ledger.md)")
    found = [*map(_of_anchor, (*stored.faults, *anchors.faults)), *(_late(anchors) if place == STACK else ())]
    chains = sorted(anchors.heads)
    if options.file is not None:
        assert chain is not None
        kept = anchors.heads.get(chain, [])
        passed = Passed({each.height for each in kept})
        faults = verified(options.file, chain, signatures_by(None), {}, passed)
        found += _of_chain(chain, anchors, passed, faults)
    elif dependencies is not None:
        with terminal.working("comparing chains") as progress:
            for number, each in enumerate(chains):
                progress(f"comparing chains: {number:,} of {len(chains):,}")
                found += _compared(dependencies, each, anchors)
    return _Checked(anchors, len(chains), tuple(found), fetched)


def _stored(place: str, there: DeployedStack | None) -> StoredAnchors:
    if place == STACK:
        assert there is not None
        if OUTPUT not in there.outputs:
            raise SetUpError(f"the stack {there.name} keeps no anchors: set AnchorDays (docs/deploy.md)")
        return documents_of(there.outputs[OUTPUT])
    if place.startswith("s3://"):
        bucket, _, prefix = place.removeprefix("s3://").partition("/")
        return documents_of(bucket, f"{prefix.rstrip('/')}/" if prefix else "")
    return documents_in(Path(place))


def _compared(dependencies: Dependencies, chain: str, anchors: Anchors) -> Iterator[Fault]:
    passed = Passed({each.height for each in anchors.heads[chain]})
    head = dependencies.ledger.head(chain)
    faults = stored_faults(dependencies, chain, head, signatures_by(None), {}, passed=passed)
    yield from _of_chain(chain, anchors, passed, faults)


def _of_chain(chain: str, anchors: Anchors, passed: Passed, faults: Iterable[ChainFault]) -> Iterator[Fault]:
    if kept := anchors.heads.get(chain):
        yield from map(_of_anchor, contradictions(chain, kept, passed.height, passed.digests))
    yield from (Fault(each.what.value, chain, each.height, each.why) for each in faults)


def _of_anchor(fault: AnchorFault) -> Fault:
    return Fault(fault.what.value, fault.where, None, fault.why)


def _late(anchors: Anchors) -> Iterator[Fault]:
    last = anchors.days[-1] if anchors.days else ""
    if not last or SystemClock().now().date() - date.fromisoformat(last) > LATE:
        why = f"no anchor was written since {last or 'ever'}; the alarm AnchorMissing has a runbook"
        yield Fault(AnchorFlaw.MISSING_ANCHOR.value, "", None, why)


def _without(anchors: Anchors) -> list[str]:
    """Days between the first and the last one that have no anchor: the function did not run."""
    days = [date.fromisoformat(each) for each in anchors.days]
    span = range((days[-1] - days[0]).days + 1) if days else ()
    return sorted({(days[0] + timedelta(each)).isoformat() for each in span} - set(anchors.days))


def _as_document(checked: _Checked) -> dict[str, object]:
    anchors = checked.anchors
    proof = (KMS if checked.fetched else "key") if anchors.is_by_given else None
    return {
        "anchors": {
            "documents": anchors.documents,
            "first": anchors.days[0] if anchors.days else None,
            "last": anchors.days[-1] if anchors.days else None,
            "finished": anchors.is_finished,
            "without": _without(anchors),
            "keys": [{"key": key, "signed": count} for key, count in anchors.keys.items()],
            "proven_by": proof,
        },
        "chains": checked.chains,
        "intact": not checked.faults,
        "faults": [{**each._asdict(), "where": each.where or None, "why": each.why or None} for each in checked.faults],
    }


def _in_words(checked: _Checked) -> Iterator[str]:
    anchors, number = checked.anchors, len(checked.faults)
    if anchors.days:
        yield f"{counted(anchors.documents, 'document')} of anchors, {anchors.days[0]} to {anchors.days[-1]}."
    if not anchors.is_finished:
        yield f"The anchor of {anchors.days[-1]} is not finished: the next run of its function does that."
    if missing := _without(anchors):
        yield f"No anchor was written on {', '.join(missing[:MAX_SHOWN])}{' …' if missing[MAX_SHOWN:] else ''}."
    for key, count in anchors.keys.items():
        yield f"{count:,} of them signed by the key {key}."
    if anchors.is_by_given:
        yield f"The given key {(anchors.given or '')[:SHORT]} is one of them."
        if checked.fetched:
            yield FETCHED
    else:
        yield BY_ITSELF if anchors.keys else "They are not signed."
    if not number:
        yield f"{counted(checked.chains, 'chain')} compared: each is intact, and has every block that the anchors name."
    for each in checked.faults[:MAX_SHOWN]:
        at = each.where if each.height is None else f"{each.where}, block {each.height}"
        yield f"{each.what}{f': {at}' if at else ''}{f': {each.why}' if each.why else ''}"
    yield from terminal.more(number, MAX_SHOWN)
