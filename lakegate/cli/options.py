"""Options and arguments that several commands have, each declared once: which stack, which delivery or dataset, what form."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

StackName: TypeAlias = Annotated[
    str, typer.Option("--stack", envvar="LAKEGATE_STACK", help="The CloudFormation stack of Lakegate.")
]
Local: TypeAlias = Annotated[
    bool, typer.Option("--local", envvar="LAKEGATE_LOCAL", help="The stack that `lakegate local up` started.")
]
ApiUrl: TypeAlias = Annotated[
    str | None,
    typer.Option("--api", envvar="LAKEGATE_API", help="Through the HTTP API at this address.", show_default=False),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Confirm the effects beforehand, for scripts.")]

LINE: Final = "<contract>/<dataset>_v<major>, or a part that only one line has: orders_v1, orders."
Line: TypeAlias = Annotated[str, typer.Argument(help=LINE, show_default=False)]
OptionalLine: TypeAlias = Annotated[str | None, typer.Argument(help=LINE, show_default=False)]
OfLines: TypeAlias = Annotated[
    str | None, typer.Option(help="Only those of a contract, a dataset or a line: shop, orders, shop/orders_v1.")
]
Days: TypeAlias = Annotated[int, typer.Option(min=1, max=3_650, help="Deliveries finished in so many days.")]

_DELIVERY: Final = "A workload's id, the beginning of one, or a landing key."
Delivery: TypeAlias = Annotated[str, typer.Argument(help=_DELIVERY, show_default=False)]
OptionalDelivery: TypeAlias = Annotated[str | None, typer.Argument(help=_DELIVERY, show_default=False)]
ApiContract: TypeAlias = Annotated[
    str | None, typer.Option(help="With --api: its contract, for callers with rights to that.", show_default=False)
]

Wait: TypeAlias = Annotated[bool, typer.Option("--wait", help="Wait until every delivery is finished.")]
Timeout: TypeAlias = Annotated[int, typer.Option("--timeout", min=1, help="Seconds to wait at most.")]
TIMES: Final = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
"""Forms of a time."""
