"""The policy of a dataset: what becomes of a delivery that breaks rules."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated

from lakegate.base.json_codec import Bounds, Name, Pattern, Permitted, Share, omit_default
from lakegate.contract.logical_types import PRECISION, SCALE, LogicalType

MAX_BATCH_FILES = 250
"""Members of a batch: its item in DynamoDB stays below 30 KB, and is written with each of them."""
MAX_BATCH_BYTES = 1 << 30
"""One process judges them, one after the other."""
MAX_BATCH_SECONDS = 3_600
MAX_WATERMARK_MINUTES = 366 * 24 * 60
MAX_TIME_TRAVEL_DAYS = 3_660
MAX_INPUTS = 6
"""Of a derived dataset: as many tables as one SELECT reads."""
MAX_INPUT_COLUMNS = 2_000
MAX_FULL_NAME = 512
"""Characters of the whole name of a dataset."""
MAX_QUERY = 10_000
"""Characters of the query of a derived dataset."""
QUARANTINE_DAYS = (7, 30, 90, 365)
"""Days for which quarantined data may be kept: a lifecycle rule of the lake bucket for each."""
WORKFLOW = r"push|(?!push@)[a-z][a-z0-9-]{0,62}@(0|[1-9][0-9]{0,8})"
"""The name of a workflow in a contract: that of every delivery, or name and major number of a published one."""


class FieldTreatment(Enum):
    """The treatment of a file whose fields are not those of its contract: of further ones, or of absent ones."""

    ALLOW = "allow"
    WARN = "warn"
    FORBID = "forbid"


class Mode(Enum):
    """Whether a bad delivery is rejected or only reported."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class OnReject(Enum):
    """The unit of rejection: the whole file, or the rows that break a rule."""

    FILE = "file"
    ROWS = "rows"


class Duplicates(Enum):
    """The treatment of a delivery whose content was accepted before."""

    REFUSE = "refuse"
    ACCEPT = "accept"


class PublishAs(Enum):
    """The form in which accepted rows are published."""

    ORIGINAL = "original"
    """Files as they arrived."""
    PARQUET = "parquet"
    """Slices of Open Data Fabric."""
    ICEBERG = "iceberg"
    """Files as they arrived, and beside them their rows in typed files, which a table of Iceberg consists of."""


class MergeStrategy(Enum):
    """The choice of accepted rows that become slices."""

    APPEND = "append"
    """All."""
    LEDGER = "ledger"
    """Those whose primary key is new to the dataset."""
    SNAPSHOT = "snapshot"
    """The difference to the delivery before: each delivery has all current rows."""
    UPSERT = "upsert"
    """Those that are new or have other values: each delivery has new and changed rows alone."""

    @property
    def corrects(self) -> bool:
        """Whether slices take rows of earlier ones back."""
        return self in {MergeStrategy.SNAPSHOT, MergeStrategy.UPSERT}


class Treatment(Enum):
    """The outcome of a delivery with rows that are late, changed or missing."""

    ACCEPT = "accept"
    WARN = "warn"
    REJECT = "reject"


class Replaces(Enum):
    """The accepted deliveries in whose place a later one comes when it is accepted."""

    NOTHING = "nothing"
    DELIVERY = "delivery"
    """The one of the same name: of one object its key, of several their folder."""
    PERIOD = "period"
    """The one whose rows have the same value in a column."""


class Anomalies(Enum):
    """The numbers of an accepted delivery that are warned of, because the last deliveries had others."""

    BOTH = "both"
    """Smaller and larger ones."""
    DECREASE = "decrease"
    """Smaller ones; of shares of bad rows, and of delays, larger ones, as always."""
    IGNORE = "ignore"


class DeliveryUnit(Enum):
    """The objects of one delivery, and the object that completes it."""

    OBJECT = "object"
    """One object."""
    SUCCESS = "success"
    """The objects of a folder, when its `_SUCCESS` is written, as Spark and Hadoop do."""
    MANIFEST = "manifest"
    """The objects that a `_delivery.json` in their folder lists."""
    QUIET = "quiet"
    """The objects of a folder, when no further one has arrived for a while."""


ADDED = "added"
PulledRows = Annotated[str, Pattern(f"({ADDED})?")]
"""The rows of a snapshot that are judged before it becomes `main`: `added`, those that `main` does not have; empty: all."""


@dataclass(frozen=True, slots=True)
class Pull:
    """Source and schedule by which the data of a dataset is fetched."""

    source: Annotated[str, Pattern("(https?|s?ftp|s3|iceberg)://[!-~]+"), Bounds(most=2300)]
    """`https://…`, `sftp://…` or `s3://…`; if it may be unencrypted, `http://…` or `ftp://…`; a branch of a table `iceberg://…`."""
    schedule: Annotated[str, Pattern(r"((rate|cron)\([ -~]+\))?"), Bounds(most=206)] = ""
    """`rate(…)` or `cron(…)`, in UTC; empty: as often as the contract's service level `frequency`."""
    secret: Annotated[str, Pattern("[A-Za-z0-9_-]*"), Bounds(most=64)] = ""
    """Name of the secret with the credentials, without the stack's prefix; empty: none."""
    unencrypted: bool = omit_default(False)
    """Whether a person has allowed that anybody on the way can read and change what is fetched."""
    member: Annotated[str, Pattern("[ -~]*"), Bounds(most=200)] = omit_default("")
    """Of a fetched archive the pattern of the name of the one file that is delivered; empty: the source is no archive."""
    rows: PulledRows = omit_default("")
    """Of a table."""

    @property
    def is_folder(self) -> bool:
        """Whether the source is a folder of S3, whose objects are delivered when their producer names them."""
        return self.source.startswith("s3:") and self.source.endswith("/")

    @property
    def is_table(self) -> bool:
        """Whether the source is a branch of a table of Iceberg, or what is staged, which is judged before it becomes `main`."""
        return self.source.startswith("iceberg:")


@dataclass(frozen=True, slots=True)
class InputColumn:
    """A column of an input that a query may read."""

    name: Name
    type: LogicalType
    scale: Annotated[int, Bounds(0, PRECISION)] = omit_default(SCALE)
    """The digits after the point of a decimal's values."""


@dataclass(frozen=True, slots=True)
class DerivationInput:
    """A dataset that another one is derived from."""

    name: Name
    """In the query."""
    dataset: Annotated[str, Pattern("[^/]+/.+_v(0|[1-9][0-9]{0,8})"), Bounds(most=MAX_FULL_NAME)]
    """`CONTRACT/DATASET_vN`."""
    columns: Annotated[tuple[InputColumn, ...], Bounds(1, MAX_INPUT_COLUMNS)]
    key: Annotated[tuple[Name, ...], Bounds(most=MAX_INPUT_COLUMNS)] = omit_default(())
    """Columns that no two of its current rows have alike: a join with them keeps the number of rows."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The query over accepted data of other datasets whose rows a dataset has."""

    inputs: Annotated[tuple[DerivationInput, ...], Bounds(1, MAX_INPUTS)]
    query: Annotated[str, Bounds(1, MAX_QUERY)]
    dialect: Annotated[str, Bounds(1, 206)] = "duckdb"
    schedule: Annotated[str, Pattern(r"(rate|cron)\([ -~]+\)"), Bounds(most=206)] = "rate(5 minutes)"
    """When inputs are looked at, in UTC: the query runs again where one of them has a new block."""


@dataclass(frozen=True, slots=True)
class FileNames:
    """A pattern of file names."""

    written: Annotated[str, Bounds(1, 1024)]
    """As the contract has it."""
    pattern: Annotated[str, Bounds(1, 1 << 16)]
    """In the dialect of plans, for the whole name; a search has a bound of steps (`lakegate.patterns.name_patterns`)."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy for deliveries of a dataset: the `lakegate` extension of a document."""

    mode: Mode = Mode.ENFORCE
    on_reject: OnReject = OnReject.FILE
    max_rejected_share: Share = Decimal(1)
    additional_fields: FieldTreatment = FieldTreatment.ALLOW
    missing_fields: FieldTreatment | None = omit_default(None)
    """Of files with a header or a schema that lack a declared field; of JSON, an absent key is a null. None: the stack's setting,
    which is pinned when a contract is published; without a stack `warn`."""
    allow_empty: bool = False
    duplicates: Duplicates = Duplicates.REFUSE
    samples: bool = True
    max_bytes: Annotated[int, Bounds(1, 5 << 40)] | None = None
    """A larger delivery is refused at the door, in every mode."""
    delivery: DeliveryUnit = DeliveryUnit.OBJECT
    quiet_minutes: Annotated[int, Bounds(1, 24 * 60)] = 10
    """With `delivery: quiet`: how long no part may arrive before the delivery is complete."""
    parts_within_minutes: Annotated[int, Bounds(1, 7 * 24 * 60)] = 1440
    """The time that parts wait for what completes their delivery, and a manifest for the parts that it lists."""
    batch_files: Annotated[int, Bounds(1, MAX_BATCH_FILES)] | None = None
    """Deliveries that one job run judges, at most; 1: each alone. None, here and below: the stack's setting."""
    batch_bytes: Annotated[int, Bounds(1, MAX_BATCH_BYTES)] | None = None
    """A batch of so many bytes is closed; a delivery of so many is judged alone."""
    batch_seconds: Annotated[int, Bounds(1, MAX_BATCH_SECONDS)] | None = None
    """A batch is closed so long after its first delivery."""
    quarantine_days: Annotated[int, Permitted(QUARANTINE_DAYS)] | None = None
    """One of `QUARANTINE_DAYS`; then quarantined data is deleted. None: it is kept."""
    notify_producers: bool = False
    """Whether subscribers of the audience `producer` are notified of deliveries, not of the dataset's lifecycle alone."""
    publish_as: PublishAs = PublishAs.ORIGINAL
    event_time: Name | None = None
    """With `publishAs: parquet`, the column with the time of each event; None: the judging time."""
    watermark_minutes: Annotated[int, Bounds(0, MAX_WATERMARK_MINUTES)] | None = None
    """The distance of the watermark from the latest event time; None: deliveries do not move the watermark of their dataset."""
    late_events: Treatment = Treatment.ACCEPT
    """Of rows whose event time is before the watermark of the dataset."""
    merge_strategy: MergeStrategy = MergeStrategy.APPEND
    merge_key: Annotated[tuple[Name, ...], Bounds(most=100)] = ()
    """The columns of the primary key, if the strategy needs it."""
    changed_rows: Treatment = Treatment.WARN
    """Of rows whose key is known with another content."""
    vanished_rows: Treatment = Treatment.ACCEPT
    """Of known keys that a delivery does not have; unless it is accepted, every delivery is to have all keys."""
    snapshot_time: Annotated[str, Bounds(1, 200)] | None = None
    """With the strategy `snapshot`, where a name has the time (`lakegate.contract.name_times`); None: not there."""
    workflow: Annotated[str, Bounds(most=80)] = "push"
    """The workflow of its deliveries: `push`, or name and major number of a published one, e.g. `strict@1`."""
    pull: Pull | None = None
    """None: deliveries are brought."""
    derive: Derivation | None = omit_default(None)
    """None: its rows are delivered."""
    anomalies: Anomalies = omit_default(Anomalies.BOTH)
    """Whether a delivery is compared with those before it: a warning, whatever the mode, and never a refusal."""
    file_names: FileNames | None = omit_default(None)
    """The pattern of the name of each file; None: any."""
    replaces: Replaces = omit_default(Replaces.NOTHING)
    period: Name | None = omit_default(None)
    """With `replaces: period`, the column that has one value in all rows of a delivery."""
    time_travel_days: Annotated[int, Bounds(1, MAX_TIME_TRAVEL_DAYS)] | None = omit_default(None)
    """With `publishAs: iceberg`, the days for which earlier states of the table are kept. None: as long as it keeps any."""
    compact_table: bool = omit_default(False)
    """With `publishAs: iceberg`, whether small files of the table are put together, by schedule."""
