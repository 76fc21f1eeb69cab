"""lakegate verify: the chain of a dataset, and registered comparisons with data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final

from lakegate.aws.open_stack import DEFAULT_STACK, open_deployed
from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extension, load_extensions, names
from lakegate.base.text import plural, printable
from lakegate.cli import terminal
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.datasets.chain_proofs import (
    KMS,
    MAX_SHOWN,
    AnchorOptions,
    ChainComparison,
    KeptAnchors,
    VerifiedChain,
    anchors_in,
    as_document,
    compared_in_words,
    in_words,
    signatures_by,
    signatures_of,
)
from lakegate.cli.options import Local, OptionalDatasetName, StackName
from lakegate.cli.terminal import Word
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.ledger.blocks import Head
from lakegate.gate.ledger.compare_objects import Compared, DamagedObject, compared_objects
from lakegate.gate.ledger.ledger_yaml import Passed, stored_faults, verify_file
from lakegate.gate.ledger.signatures import Signatures
from lakegate.gate.ledger.verification import ChainFault
from lakegate.transfer.download_files import compared_files

# ---- Comparisons of the core ----


REMEDIES = {
    "replaced": "Another version lies on top: find out who wrote it, delete it, and the judged one is current again:\n"
    "  aws s3api delete-object --bucket {bucket} --key {key} --version-id {current}",
    "hidden": "A delete marker lies on top: find its version id, delete that, and the object is back:\n"
    "  aws s3api list-object-versions --bucket {bucket} --prefix {key} --query DeleteMarkers",
    "lost": "The judged version was deleted; {readers}. Take its bytes from a replica or a backup, or ask the\n"
    "  producer for the file. If size and checksum are those of the block, this puts it back and records it:\n"
    "  lakegate restore {key} FILE",
    "altered": "Size or checksum of the judged version are not as recorded: the store does not keep what it was given.\n"
    "  Treat it as lost, and ask who runs the store.",
    "extra": "Readers of the folder read it, though it was never judged: find out who wrote it, then delete it:\n"
    "  aws s3api delete-object --bucket {bucket} --key {key} --version-id {current}",
    "unerased": "An erasure of its rows is recorded and not finished. `lakegate log` lists it: repeat that\n"
    "  `lakegate erase`.",
    "overdue": "Its contract keeps it for fewer days, so its bucket lacks a lifecycle rule, or the object its tag. A\n"
    "  bucket of your own needs the rules that docs/deploy.md lists.",
    "untrue": "It is derived from the ledger: once the head is gone, the next sweep writes it again:\n"
    "  aws s3api delete-object --bucket {bucket} --key {head}",
    "unlisted": "It was set back or deleted, so readers do not see all that is there: find out who did that. Once the head\n"
    "  is gone, the next sweep writes all of it again from the ledger:\n"
    "  aws s3api delete-object --bucket {bucket} --key {head}",
    "restored": "An erasure left nothing of it: find out who wrote it, then delete it:\n"
    "  aws s3api delete-object --bucket {bucket} --key {key} --version-id {current}",
}
"""Remedies, by the damage."""


def _compared_objects(chain: VerifiedChain) -> Compared:
    assert chain.dependencies is not None
    with terminal.working("comparing objects") as progress:
        return compared_objects(
            chain.dependencies, chain.name, chain.top.height, lambda count: progress(f"comparing objects: {count:,}")
        )


def _damages_in_words(chain: VerifiedChain, compared: Compared) -> Iterator[str]:
    assert chain.dependencies is not None
    begin = f"{plural(compared.count, 'object')} compared with the store: "
    number = len(compared.damaged)
    if not number:
        yield f"{begin}version, size and checksum of each are as recorded; no object is extra."
    if compared.expired:
        yield f"Of these, {compared.expired:,} expired in quarantine, as their contract says."
    if not number:
        return
    yield f"{begin}{plural(number, 'is', 'are')} not as recorded."
    for each in compared.damaged[:MAX_SHOWN]:
        yield from _described(chain.dependencies.places.lake, each)
    yield from terminal.more(number, MAX_SHOWN)


def _described(lake: str, each: DamagedObject) -> Iterator[str]:
    named = [each.file] if each.file else []
    named += [f"block {each.height}"] if each.height is not None else []
    named += [f"workload {each.workload}"] if each.workload else []
    yield f"{each.damage}: {', '.join(named) or 'no delivery of this dataset'}"
    yield f"  s3://{lake}/{each.key}, version {each.version or each.current}"
    readers = f"readers get version {each.current}" if each.current else "readers get nothing"
    head = quote(each.key.partition("/_manifest")[0] + "/_manifest.json")
    words = {"head": head, "bucket": lake, "key": quote(each.key), "current": quote(each.current), "readers": readers}
    yield from (f"  {line.strip()}" for line in REMEDIES[each.damage].format_map(words).split("\n"))


def _files_in_words(_: VerifiedChain, compared: Compared) -> Iterator[str]:
    kept = "size and checksum of each are as recorded; no file is extra"
    return compared_in_words(compared, "file", "compared with the chain", kept)


COMPARISONS: Final[Mapping[str, ChainComparison]] = {
    "objects": ChainComparison(
        "Compare version, size and checksum of every object with the store.",
        "compares the store with the chain",
        _compared_objects,
        _damages_in_words,
        needs_blocks=False,
    ),
    **{name: load_extension("comparisons", name) for name in names("comparisons")},
    "data": ChainComparison(
        "Compare the files of a folder that `lakegate get` filled with the chain.",
        "a folder",
        lambda chain: compared_files(chain.given, chain.name, chain.blocks, chain.dependencies),
        _files_in_words,
        takes=Path,
        needs_stack=False,
    ),
}
"""By the names of their options."""
ANCHORS: Final[KeptAnchors | None] = next(load_extensions("anchors"), None)


# ---- `lakegate verify` ----


BROKEN = 1
FILE_ONLY = "Only an anchor (--anchor) proves that no block was cut off above, or all of them rewritten."


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying a chain."""

    chain: VerifiedChain
    head: Head
    """As the ledger has it; of a file its highest block."""
    faults: tuple[ChainFault, ...]
    signatures: Signatures
    anchors: Mapping[int, str]
    fetched: bool
    """Whether the key was fetched from KMS."""
    compared: Compared | None

    @property
    def is_as_recorded(self) -> bool:
        """Whether neither chain nor data differ."""
        return not self.faults and not (self.compared and self.compared.damaged)

    def to_json(self) -> dict[str, object]:
        """The document of `--json`."""
        comparison = self.compared
        objects = comparison and {
            "compared": comparison.count,
            "expired": comparison.expired,
            "damaged": [asdict(each) for each in comparison.damaged],
            **({"notes": list(comparison.notes)} if comparison.notes else {}),
        }
        return {
            "chain": self.chain.name,
            "height": self.head.height,
            "head": self.head.digest,
            "intact": self.is_as_recorded,
            "faults": [
                {"height": fault.height, "what": fault.what.value, "why": fault.why or None} for fault in self.faults
            ],
            "signatures": as_document(self.signatures, self.anchors, fetched=self.fetched),
            "objects": objects,
        }

    def words(self, comparison: ChainComparison | None) -> Iterator[Word]:
        """The result, for people."""
        name, head = self.chain.name, self.head
        if self.faults:
            yield ((f"{name}: broken. Nothing from block {self.faults[0].height} on can be trusted.", "bold red"),)
            for fault in self.faults:
                yield f"  block {fault.height}: {fault.what.value}" + (f": {fault.why}" if fault.why else "")
        else:
            yield f"{name}: {plural(head.height + 1, 'block')}, intact."
        yield from in_words(self.signatures, self.chain.top.height, self.anchors, fetched=self.fetched)
        if self.compared is not None and comparison is not None:
            yield from comparison.words(self.chain, self.compared)
            yield from map(printable, self.compared.notes)
        if self.chain.dependencies is None:
            yield f"Head of the file: {head.height}={head.digest}"
            yield FILE_ONLY
            return
        if self.compared is None:
            yield "Chain only; data not checked: --objects compares every object with the ledger."
        if self.is_as_recorded and head.height >= 0:
            yield f"Anchor of today, to be kept elsewhere: {head.height}={head.digest}"


def _with_registered_options(function: Callable[..., CommandResult[Any]]) -> Callable[..., CommandResult[Any]]:
    """The command with the options of comparisons, with those of anchors only where their feature is there, and its help."""
    own = dict(inspect.signature(function).parameters)
    del own["compare"]
    if ANCHORS is None:
        del own["anchors"], own["keep_anchor"]
    last = [own.pop(name) for name in ("file", "stack", "local")]
    compare = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if comparison.takes is bool else None,
            annotation=Annotated[
                bool if comparison.takes is bool else comparison.takes | None,
                Option(f"--{name}", help=comparison.help),
            ],
        )
        for name, comparison in COMPARISONS.items()
    ]
    function.__signature__ = inspect.Signature([*own.values(), *compare, *last])  # type: ignore[attr-defined]  # where `inspect` looks
    about = [*(comparison.about for comparison in COMPARISONS.values()), ANCHORS.about if ANCHORS is not None else ""]
    first, *rest = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    function.__doc__ = "\n\n".join(filter(None, (first, *about, *rest)))
    return function


@command
@_with_registered_options
def verify(  # noqa: PLR0913 - a command has these options
    dataset: OptionalDatasetName = None,
    anchor: Annotated[
        list[str] | None, Option(help="HEIGHT=DIGEST, published elsewhere; may be given several times.")
    ] = None,
    key: Annotated[
        str | None,
        Option(
            help="The public key that must have signed: a file in PEM, known from elsewhere; `kms`: the stack's, from KMS.",
        ),
    ] = None,
    *,
    anchors: Annotated[
        str | None,
        Option(
            help="Compare the dataset, or every chain, with daily anchors: `stack`, s3://BUCKET or a folder.",
        ),
    ] = None,
    keep_anchor: Annotated[
        bool, Option(help="Keep the verified head in the stack's bucket of locked anchors.")
    ] = False,
    file: Annotated[
        Path | None,
        Option("--yaml", help="Verify the chain in a file of `log --yaml`, without a stack."),
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    **compare: Any,  # noqa: ANN401 - the values of the options of comparisons
) -> CommandResult[Any]:
    """Recompute the chain of a dataset from its first block; with --objects also compare its data with the chain.

    Example: lakegate verify weather_record_v1 --objects

    Exit code: 0 everything that was checked is as recorded, 1 the chain is broken or an object differs, 2 not checked.
    """
    chosen = [name for name, value in compare.items() if value]
    if anchors is not None and ANCHORS is not None:
        if chosen or keep_anchor or anchor:
            options = _options("--anchor", "--keep-anchor", *(f"--{name}" for name in COMPARISONS))
            raise InputError(f"--anchors verifies daily anchors: leave out {options}")
        return ANCHORS.verify(anchors, dataset, AnchorOptions(key, file, stack, local))
    if dataset is None:
        raise InputError("name a dataset; without one, --anchors verifies every chain that is anchored")
    if len(chosen) > 1:
        phrases = (f"--{name} {each.phrase}" for name, each in COMPARISONS.items())
        raise InputError(f"{_options(*phrases)}: give one of them")
    comparison = COMPARISONS[chosen[0]] if chosen else None
    value = compare[chosen[0]] if chosen else None
    passed = Passed(blocks=[] if comparison is not None and comparison.needs_blocks else None)
    known, signatures = anchors_in(anchor or ()), signatures_by(None if key in {None, KMS} else Path(str(key)))
    if file is not None:
        if key == KMS or keep_anchor or (comparison is not None and comparison.needs_stack):
            of_stack = (f"--{name}" for name, each in COMPARISONS.items() if each.needs_stack)
            raise InputError(f"--yaml asks no stack: leave out {_options('--key kms', '--keep-anchor', *of_stack)}")
        faults = verify_file(file, dataset, signatures, known, passed)
        top = Head(passed.height, passed.digest)
        chain = VerifiedChain(dataset, top, passed.blocks or (), None, value)
        compared = comparison.compare(chain) if comparison else None
        verification = Verification(chain, top, faults, signatures, known, fetched=False, compared=compared)
        return CommandResult(verification, verification.words(comparison), 0 if verification.is_as_recorded else BROKEN)
    with open_deployed(stack, local=local) as there:
        dependencies = there.dependencies()
        signatures = signatures_of(there) if key == KMS else signatures
        name = dataset_named(dependencies, dataset)
        head = dependencies.ledger.head(name)
        kept = ANCHORS.kept(there, name) if ANCHORS is not None else []
        known = anchors_in([*(f"{height}={digest}" for height, digest in known.items()), *kept])
        faults = stored_faults(dependencies, name, head, signatures, known, passed=passed)
        chain = VerifiedChain(name, Head(passed.height, passed.digest), passed.blocks or (), dependencies, value)
        compared = comparison.compare(chain) if comparison else None
        if keep_anchor and not faults and ANCHORS is not None:
            ANCHORS.keep(there, name, head)
    verification = Verification(chain, head, faults, signatures, known, fetched=key == KMS, compared=compared)
    return CommandResult(verification, verification.words(comparison), 0 if verification.is_as_recorded else BROKEN)


def _options(*options: str) -> str:
    *first, last = options
    return f"{', '.join(first)} and {last}"
