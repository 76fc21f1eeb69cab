"""Options and arguments that several commands have, each declared once: which stack, which delivery or dataset, what form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias

from lakegate.cli.click_commands import Argument, Option

StackName: TypeAlias = Annotated[str, Option(envvar="LAKEGATE_STACK", help="The CloudFormation stack of Lakegate.")]
Local: TypeAlias = Annotated[bool, Option(envvar="LAKEGATE_LOCAL", help="The stack that `lakegate local up` started.")]
ApiUrl: TypeAlias = Annotated[
    str | None,
    Option(envvar="LAKEGATE_API", help="Through the HTTP API at this address."),
]
AsJson: TypeAlias = Annotated[bool, Option("--json", help="One JSON document on standard output.")]
Yes: TypeAlias = Annotated[bool, Option("--yes", "-y", help="Confirm the effects beforehand, for scripts.")]

DATASET_NAME: Final = "<contract>/<dataset>_v<major>, or a part that only one dataset has: orders_v1, orders."
_dataset = Argument(help=DATASET_NAME)
DatasetName: TypeAlias = Annotated[str, _dataset]
OptionalDatasetName: TypeAlias = Annotated[str | None, _dataset]
DatasetFilter: TypeAlias = Annotated[
    str | None, Option(help="Only those of a contract or a dataset: shop, orders, shop/orders_v1.")
]
Days: TypeAlias = Annotated[int, Option(min=1, max=3_650, help="Deliveries finished in so many days.")]

_delivery = Argument(help="A workload's id, the beginning of one, or a landing key.")
Delivery: TypeAlias = Annotated[str, _delivery]
OptionalDelivery: TypeAlias = Annotated[str | None, _delivery]
ApiContract: TypeAlias = Annotated[
    str | None, Option(help="With --api: its contract, for callers with rights to that.")
]

EveryCheck: TypeAlias = Annotated[bool, Option("--all", help="Show every check, not only failures.")]
Wait: TypeAlias = Annotated[bool, Option(help="Wait until every delivery is finished.")]
Timeout: TypeAlias = Annotated[int, Option(min=1, help="Seconds to wait at most.")]
TIMES: Final = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
"""Forms of a time."""

OfDataset: TypeAlias = Annotated[str | None, Option(help="Which dataset, where the contract has several.")]
ContractFile: TypeAlias = Annotated[Path, Option(help="The contract document (ODCS, DCS or DCM).")]
DATA: Final = "The files of one delivery: files, folders and patterns such as 'part-*.csv', also as s3://BUCKET/KEY."
TARGET_FOLDER: Final = "The target folder; created if missing."
TargetFolder: TypeAlias = Annotated[Path, Argument(help=TARGET_FOLDER)]
CONTRACT_NAME: Final = "The contract's id, the beginning of it, or DCM's id of a version."
NamedContract: TypeAlias = Annotated[str, Argument(help=CONTRACT_NAME)]
DefinitionRoot: TypeAlias = Annotated[
    Path | None,
    Option(
        "--root",
        envvar="LAKEGATE_ROOT",
        help="The folder that `$ref` may read files from; by default that of the document, or the folder that is given.",
    ),
]
ParentPaths: TypeAlias = Annotated[
    list[Path] | None,
    Option(
        "--parents",
        help="A file or folder with contracts to inherit from; by default the folder of the document, then the registry.",
    ),
]
Filter: TypeAlias = Annotated[list[str] | None, Option(help="Only contracts with this label.", metavar="NAME")]
