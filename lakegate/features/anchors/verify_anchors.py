"""`lakegate verify --anchors`: anchors in the stack's bucket or in a folder, and the chains that they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import date, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from lakegate.aws.open_stack import DeployedStack, ask_service, enter_stack, open_deployed, readable_errors
from lakegate.aws.wiring import SystemClock
from lakegate.base.errors import InputError, SetUpError
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.command_runner import CommandResult
from lakegate.cli.datasets.chain_proofs import FETCHED, KMS, AnchorOptions, KeptAnchors, signatures_by, signatures_of
from lakegate.features.anchors.anchors import FOLDER, AnchorFault, AnchorFlaw, Anchors, contradictions
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import Head
from lakegate.gate.ledger.ledger_yaml import Passed, stored_faults, verify_file
from lakegate.gate.ledger.signatures import SHORT
from lakegate.gate.ledger.verification import ChainFault

# ---- Anchors in the stack's own bucket ----
# The key of an anchor that a person keeps is the anchor: `<chain>/<height>=<digest>`, and the object is empty. Daily anchors
# are documents (`lakegate/features/anchors/anchors.py`).


OUTPUT = "AnchorBucket"
HIDDEN = "a delete marker hides it; the locked version is there and was read"
OVER = "another version was put over it; the first one, which is locked, was read"


def kept_anchors(there: DeployedStack, chain: str) -> list[str]:
    """The anchors of a chain that were kept, as HEIGHT=DIGEST; none where the stack has no bucket for them."""
    bucket = there.outputs.get(OUTPUT)
    if bucket is None:
        return []
    found: list[str] = []
    after = {"StartAfter": f"{chain}/"}
    while page := ask_service("s3", "list_objects_v2", Bucket=bucket, Prefix=f"{chain}/", **after).get("Contents"):
        found += [entry["Key"].removeprefix(f"{chain}/") for entry in page]
        after = {"StartAfter": page[-1]["Key"]}
    return found


def keep_anchor(there: DeployedStack, chain: str, head: Head) -> None:
    """Keep the head of a chain. It is idempotent: the key is the same. SetUpError where the stack has no bucket for anchors."""
    bucket = there.outputs.get(OUTPUT)
    if bucket is None:
        raise SetUpError(f"the stack {there.name} keeps no anchors: set AnchorDays (docs/deploy.md)")
    if head.height >= 0:
        ask_service(
            "s3", "put_object", Bucket=bucket, Key=f"{chain}/{head.height}={head.digest}", ChecksumAlgorithm="SHA256"
        )


class StoredAnchors(NamedTuple):
    """Documents of daily anchors, and what is wrong with how they are stored."""

    documents: Iterator[tuple[str, bytes]]
    """Key and text, sorted by key; read while they are iterated over."""
    faults: tuple[AnchorFault, ...] = ()


def documents_in(folder: Path) -> StoredAnchors:
    """Those of a folder that a bucket of anchors was copied to. InputError where it is none."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give a copy of the bucket of anchors, s3://BUCKET, or `stack`")
    keys = sorted(entry.relative_to(folder).as_posix() for entry in folder.glob(f"{FOLDER}**/*") if entry.is_file())
    return StoredAnchors((key, (folder / key).read_bytes()) for key in keys)


def documents_of(bucket: str, prefix: str = "") -> StoredAnchors:
    """Those of a bucket: the first version of each, which is locked; what was put over it is a fault."""
    versions: dict[str, list[str]] = {}
    hidden: set[str] = set()
    more: dict[str, str] = {}
    while True:
        page = ask_service("s3", "list_object_versions", Bucket=bucket, Prefix=f"{prefix}{FOLDER}", **more)
        for version in page.get("Versions", ()):  # the newest one of a key comes first
            versions.setdefault(version["Key"], []).append(version["VersionId"])
        hidden |= {marker["Key"] for marker in page.get("DeleteMarkers", ())}
        if not page["IsTruncated"]:
            break
        more = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}
    over = [key for key, entry in versions.items() if len(entry) > 1]
    faults = [
        *(AnchorFault(AnchorFlaw.MISSING_ANCHOR, key.removeprefix(prefix), HIDDEN) for key in sorted(hidden)),
        *(AnchorFault(AnchorFlaw.ALTERED_ANCHOR, key.removeprefix(prefix), OVER) for key in sorted(over)),
    ]

    def read() -> Iterator[tuple[str, bytes]]:
        for key in sorted(versions):
            answer = ask_service("s3", "get_object", Bucket=bucket, Key=key, VersionId=versions[key][-1])
            yield key.removeprefix(prefix), answer["Body"].read()

    return StoredAnchors(read(), tuple(faults))


# ---- `lakegate verify --anchors` ----


STACK = "stack"
"""In the place of an address: the bucket of the stack."""
LATE = timedelta(days=2)
"""Without an anchor of the stack: one is due each day, within an hour."""
MAX_SHOWN = 50
BY_ITSELF = "The anchors themselves name these keys: only --key proves whose they are."


class Fault(NamedTuple):
    """A fault of an anchor or a chain."""

    what: str
    where: str
    height: int | None
    why: str


class _Checked(NamedTuple):
    anchors: Anchors
    chains: int
    faults: tuple[Fault, ...]
    fetched: bool

    def to_json(self) -> dict[str, object]:
        """The document of `--json`."""
        anchors = self.anchors
        proof = (KMS if self.fetched else "key") if anchors.is_by_given else None
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
            "chains": self.chains,
            "intact": not self.faults,
            "faults": [
                {**fault._asdict(), "where": fault.where or None, "why": fault.why or None} for fault in self.faults
            ],
        }


def verify_anchors(place: str, dataset: str | None, options: AnchorOptions) -> CommandResult[_Checked]:
    """The proof of anchors at a place for a dataset, or for every chain that they name."""
    if options.file is not None and dataset is None:
        raise InputError("--yaml has one chain: name its dataset")
    with ExitStack() as context:
        there: DeployedStack | None = None
        if options.file is None or place == STACK or options.key == KMS:
            there = context.enter_context(open_deployed(options.stack, local=options.local))
        else:
            enter_stack(options.stack, local=options.local)
            context.enter_context(readable_errors())
        checked = _check_anchors(place, dataset, options, there)
    return CommandResult(checked, _in_words(checked), 1 if checked.faults else 0)


ANCHORS: Final = KeptAnchors(
    kept_anchors,
    keep_anchor,
    verify_anchors,
    "Anchors that the stack keeps (parameter AnchorDays) are verified without being named, and so are signatures.\n\n"
    "With --anchors also the daily anchors themselves are verified, and without a dataset every chain that they name.",
)


def _check_anchors(place: str, dataset: str | None, options: AnchorOptions, there: DeployedStack | None) -> _Checked:
    fetched = options.key == KMS and there is not None
    signatures = (
        signatures_of(there) if fetched and there else signatures_by(Path(options.key) if options.key else None)
    )
    dependencies = there.dependencies() if there is not None and options.file is None else None
    chain = dataset_named(dependencies, dataset) if dependencies and dataset else dataset
    anchors = Anchors(signatures.verifies, signatures.given, chain)
    stored = _read_stored(place, there)
    anchors.read(stored.documents)
    if not anchors.documents:
        raise InputError(
            f"there is no anchor at {place}; with AnchorDays the stack keeps one a day, from its first block on (docs/ledger.md)"
        )
    found = [*map(_of_anchor, (*stored.faults, *anchors.faults)), *(_late(anchors) if place == STACK else ())]
    chains = sorted(anchors.heads)
    if options.file is not None:
        assert chain is not None
        kept = anchors.heads.get(chain, [])
        passed = Passed({entry.height for entry in kept})
        faults = verify_file(options.file, chain, signatures_by(None), {}, passed)
        found += _of_chain(chain, anchors, passed, faults)
    elif dependencies is not None:
        with terminal.working("comparing chains") as progress:
            for number, item in enumerate(chains):
                progress(f"comparing chains: {number:,} of {len(chains):,}")
                found += _compare_chain(dependencies, item, anchors)
    return _Checked(anchors, len(chains), tuple(found), fetched)


def _read_stored(place: str, there: DeployedStack | None) -> StoredAnchors:
    if place == STACK:
        assert there is not None
        if OUTPUT not in there.outputs:
            raise SetUpError(f"the stack {there.name} keeps no anchors: set AnchorDays (docs/deploy.md)")
        return documents_of(there.outputs[OUTPUT])
    if place.startswith("s3://"):
        bucket, _, prefix = place.removeprefix("s3://").partition("/")
        return documents_of(bucket, f"{prefix.rstrip('/')}/" if prefix else "")
    return documents_in(Path(place))


def _compare_chain(dependencies: Dependencies, chain: str, anchors: Anchors) -> Iterator[Fault]:
    passed = Passed({entry.height for entry in anchors.heads[chain]})
    head = dependencies.ledger.head(chain)
    faults = stored_faults(dependencies, chain, head, signatures_by(None), {}, passed=passed)
    yield from _of_chain(chain, anchors, passed, faults)


def _of_chain(chain: str, anchors: Anchors, passed: Passed, faults: Iterable[ChainFault]) -> Iterator[Fault]:
    if kept := anchors.heads.get(chain):
        yield from map(_of_anchor, contradictions(chain, kept, passed.height, passed.digests))
    yield from (Fault(fault.what.value, chain, fault.height, fault.why) for fault in faults)


def _of_anchor(fault: AnchorFault) -> Fault:
    return Fault(fault.what.value, fault.where, None, fault.why)


def _late(anchors: Anchors) -> Iterator[Fault]:
    last = anchors.days[-1] if anchors.days else ""
    if not last or SystemClock().now().date() - date.fromisoformat(last) > LATE:
        why = f"no anchor was written since {last or 'ever'}; the alarm AnchorMissing has a runbook"
        yield Fault(AnchorFlaw.MISSING_ANCHOR.value, "", None, why)


def _without(anchors: Anchors) -> list[str]:
    """Days between the first and the last one that have no anchor: the function did not run."""
    days = [date.fromisoformat(day) for day in anchors.days]
    span = range((days[-1] - days[0]).days + 1) if days else ()
    return sorted({(days[0] + timedelta(entry)).isoformat() for entry in span} - set(anchors.days))


def _in_words(checked: _Checked) -> Iterator[str]:
    anchors, number = checked.anchors, len(checked.faults)
    if anchors.days:
        yield f"{plural(anchors.documents, 'document')} of anchors, {anchors.days[0]} to {anchors.days[-1]}."
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
        yield f"{plural(checked.chains, 'chain')} compared: each is intact, and has every block that the anchors name."
    for fault in checked.faults[:MAX_SHOWN]:
        at = fault.where if fault.height is None else f"{fault.where}, block {fault.height}"
        yield f"{fault.what}{f': {at}' if at else ''}{f': {fault.why}' if fault.why else ''}"
    yield from terminal.more(number, MAX_SHOWN)
