"""Keys and prefixes of the lake bucket."""

from __future__ import annotations

import re
from typing import Final

from lakegate.gate.delivery.delivery_row import TERMINAL, Pin, Workload
from lakegate.gate.ledger.blocks import Block

UNROUTED = "_unrouted"
STAGING = "staging/"


def part_name(number: int, suffix: str) -> str:
    """The name of a copy of a delivery's object, by its place among them; the first is 0."""
    return f"part-{number:05}{suffix}"


def staging_key(workload: str, suffix: str, number: int = 0, group: str = "") -> str:
    """The staged copy: what the job reads. Those that may be judged together are in one folder, which their run may read."""
    folder = f"{group}/" if group else ""
    return f"{STAGING}{folder}{workload}/{part_name(number, suffix)}"


def parts_key(workload: str, digest: str) -> str:
    """A list of the objects of a delivery."""
    return f"runs/{workload}/parts-{digest}.json"


def staged_workload(key: str) -> str:
    """The workload of a staged copy."""
    return key.split("/")[-2]


def staged_group(key: str) -> str:
    """The group of a staged copy; empty where it is judged alone."""
    return "".join(key.removeprefix(STAGING).split("/")[:-2]) if key.startswith(STAGING) else ""


def attempt_prefix(workload: str, attempt: int, batch: str = "") -> str:
    """The folder of one attempt: request, result, and the rows of a split."""
    return f"{batch_prefix(batch)}{workload}/attempt={attempt}"


WRITTEN_BY_RUNS: Final = "(?:rows|slices|table)"
"""In the folder of an attempt, the folders of accepted or rejected rows: shares of a split, slices, typed files."""


def answers_key(workload: str, attempt: int) -> str:
    """The result of an attempt with what validators answered; outside of the folders that a job run may write to."""
    return f"runs/{workload}/merged/attempt={attempt}/result.json"


def batch_prefix(batch: str) -> str:
    """The folder of a batch, which its run may write to; without one, that of all runs."""
    return f"runs/{batch}/" if batch else "runs/"


def destination_key(share: str, pin: Pin, workload: str, name: str) -> str:
    """A destination; it carries the workload, so that a repeated copy writes the same bytes to the same key."""
    folder = UNROUTED if pin.dataset.startswith(f"{UNROUTED}/") else pin.dataset
    return f"{share}/{folder}/ingest_date={pin.ingest_date}/workload={workload}/{name}"


ORIGINALS = "_original/"
"""In the folder of an accepted delivery, beside its slices: what arrived. The underscore hides it from readers of folders."""
TABLE = "_table/"
"""In the folder of an accepted delivery, beside what arrived: its rows in typed files, the data of a table. Beside its rejected
rows likewise."""


def typed_folder(block: Block) -> str:
    """The folder of the typed files that a delivery may get after its block; empty where it cannot have any."""
    accepted = [each.key for each in block.objects if each.key.startswith("accepted/")]
    if block.table is not None or block.slices is not None or not accepted:
        return ""
    begin, workload, _ = accepted[0].partition(f"/workload={block.workload}/")
    return f"{begin}{workload}{TABLE}"


STATE = "_state/"
"""In the same folder: what the delivery adds to the merge state of its dataset."""


def state_key(pin: Pin, workload: str) -> str:
    """The file of the merge state that a delivery adds."""
    return destination_key("accepted", pin, workload, f"{STATE}state.bin")


def rebuilt_key(chain: str, digest: str) -> str:
    """A merge state that was rebuilt, by its digest."""
    return f"accepted/{chain}/{STATE}{digest}.bin"


REBUILT: Final = re.compile(rf"{STATE}[0-9a-f]{{64}}\.bin", re.ASCII)


def is_rebuilt(chain: str, key: str) -> bool:
    """Whether a key is that of a merge state that was rebuilt: only one that the dataset's turns name is read."""
    return REBUILT.fullmatch(key.removeprefix(f"accepted/{chain}/")) is not None


def is_published(block: Block, key: str) -> bool:
    """Whether an object of a block is one that consumers of files read: of slices only these, else all that was accepted.

    Typed files are those of the table. The name alone does not tell: a producer may name a part `_original/…`, or `_table/…`.
    """
    if not key.startswith("accepted/"):
        return False
    if block.slices is not None:
        return any(each.key == key for each in block.slices)
    return f"/{TABLE}" not in key or all(each.key != key for each in block.table or ())


DATA: Final = re.compile(r"part-[0-9]{5}[A-Za-z0-9._-]*", re.ASCII)
"""Names of what was delivered, and of accepted rows that Spark wrote; what completes a delivery has another name."""


def is_original(block: Block, chain: str, key: str) -> bool:
    """Whether an object of a block of the dataset is data that arrived, beside its slices."""
    folder, _, name = key.rpartition("/")
    is_beside = key.startswith(f"accepted/{chain}/") and f"{folder}/".endswith(f"/{ORIGINALS}")
    return is_beside and not is_published(block, key) and DATA.fullmatch(name) is not None


def report_key(workload: str) -> str:
    """The HTML report of a finished delivery; outside of the folders that a job run may write to."""
    return f"runs/{workload}/report.html"


def row_key(workload: str) -> str:
    """The archived row of a finished delivery; outside of the folders that a job run may write to."""
    return f"runs/{workload}/row.json"


def manifest_key(chain: str) -> str:
    """The readers' manifest of a dataset; the underscore hides it from readers of folders."""
    return f"accepted/{chain}/_manifest.json"


OVERVIEW: Final = "overview/datasets.json"
OVERVIEW_PAGE: Final = "overview/datasets.html"
"""All datasets of the stack: the document, and the page of it."""
SEGMENTS = "_manifest/"


def segment_folder(erased: int) -> str:
    """The folder of segments beside the manifest, by the height of the last erasure that they show; -1: of none."""
    return SEGMENTS if erased < 0 else f"{SEGMENTS}erased-{erased:012}/"


def erased_of(folder: str) -> int:
    """The height in the name of a folder of segments."""
    return -1 if folder == SEGMENTS else int(folder.rpartition("-")[2].removesuffix("/"))


def segment_key(chain: str, first: int, folder: str = SEGMENTS) -> str:
    """The segment that begins at a height."""
    return f"accepted/{chain}/{folder}{first:012}.json"


def erasure_prefix(workload: str = "") -> str:
    """The folder of what erasures leave of the objects of a delivery, until it has replaced them."""
    return f"erasures/{workload}/" if workload else "erasures/"


def uri_of(lake: str, workload: Workload) -> str | None:
    """The address of a workload's report; None before it is finished."""
    return f"s3://{lake}/{report_key(workload.id)}" if workload.state in TERMINAL else None
