"""Options of several commands: which stack, and the form of the answer."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

DEFAULT_STACK = "lakegate"

StackName: TypeAlias = Annotated[
    str, typer.Option("--stack", envvar="LAKEGATE_STACK", help="The CloudFormation stack of Lakegate.")
]
Local: TypeAlias = Annotated[
    bool, typer.Option("--local", envvar="LAKEGATE_LOCAL", help="The stack that `lakegate local up` started.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
LINE = "<contract>/<dataset>_v<major>, or a part that only one line has: orders_v1, orders."
ApiUrl: TypeAlias = Annotated[
    str | None,
    typer.Option("--api", envvar="LAKEGATE_API", help="Through the HTTP API at this address.", show_default=False),
]
_DELIVERY = "A workload's id, the beginning of one, or a landing key."
Delivery: TypeAlias = Annotated[str, typer.Argument(help=_DELIVERY, show_default=False)]
OptionalDelivery: TypeAlias = Annotated[str | None, typer.Argument(help=_DELIVERY, show_default=False)]
ApiContract: TypeAlias = Annotated[
    str | None, typer.Option(help="With --api: its contract, for callers with rights to that.", show_default=False)
]
Line: TypeAlias = Annotated[str, typer.Argument(help=LINE, show_default=False)]
OptionalLine: TypeAlias = Annotated[str | None, typer.Argument(help=LINE, show_default=False)]
