"""`lakegate log` and `verify`: what came to rest in a dataset line, and the proof that nobody changed it since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli import terminal
from cli.aws import opened
from cli.options import DEFAULT_STACK, AsJson, Local, StackName
from cli.seen import seen
from contracts.errors import InputError
from contracts.words import listed
from functions.usecases.deliveries import chains

if TYPE_CHECKING:
    from rich.table import Table

    from contracts.ledger import Block, Fault
    from functions.usecases.gate import Gate

Line = Annotated[
    str, typer.Argument(help="<contract>/<dataset>_v<major>, or the end of it: orders_v1.", show_default=False)
]
INTACT, BROKEN = 0, 1


def log(
    dataset: Line,
    limit: Annotated[int, typer.Option(min=1, help="How many blocks, from the top.")] = 20,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """List what came to rest in a dataset line, the newest first.

    Example: lakegate log weather_record_v1
    """
    from contracts.ledger import digest  # noqa: PLC0415 - start-up is paid by every command

    with opened(stack, local=local) as there:
        gate = there.gate()
        chain = _chain(gate, dataset)
        top = gate.ledger.head(chain).height
        blocks = gate.ledger.blocks(chain, max(top - limit, -1))[::-1]
    if as_json:
        terminal.print_json({"chain": chain, "blocks": [_as_document(each, digest(each)) for each in blocks]})
    elif blocks:
        terminal.answers().print(_table(blocks))
    else:
        terminal.answers().print("Nothing came to rest there yet.")


def verify(
    dataset: Line,
    anchor: Annotated[
        list[str] | None, typer.Option(help="HEIGHT=DIGEST, published elsewhere; may be given several times.")
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Recompute the chain of a dataset line from its first block. Exit code 0: intact; 1: from where it is broken.

    Example: lakegate verify weather_record_v1
    """
    from contracts.ledger import verify_stored  # noqa: PLC0415 - start-up is paid by every command

    anchors = dict(map(_anchor, anchor or ()))
    with opened(stack, local=local) as there:
        gate = there.gate()
        chain = _chain(gate, dataset)
        head = gate.ledger.head(chain)
        texts = gate.ledger.texts(chain)[
            : head.height + 1
        ]  # blocks committed since the head was read are not its matter
        faults = verify_stored(texts, head.digest, anchors)
    if as_json:
        said = [{"height": each.height, "what": each.what.value} for each in faults]
        terminal.print_json(
            {"chain": chain, "height": head.height, "head": head.digest, "intact": not faults, "faults": said}
        )
    else:
        _tell(chain, head.height, head.digest, faults)
    raise typer.Exit(BROKEN if faults else INTACT)


def _chain(gate: Gate, name: str) -> str:
    """The chain a person means: whole, or by its end where only one ends so."""
    known = chains(gate)
    found = [name] if name in known else [each for each in known if each.endswith(f"/{name}")]
    if len(found) == 1:
        return found[0]
    if gate.ledger.head(name).height >= 0:
        return name
    raise InputError(f"{name} is {'more than one line' if found else 'no line'}; known are {listed(known)}")


def _anchor(text: str) -> tuple[int, str]:
    height, _, digest = text.partition("=")
    if not (height.isascii() and height.isdigit() and digest):
        raise InputError(f"an anchor is HEIGHT=DIGEST, e.g. 41=9f2c…; not {text!r}")
    return int(height), digest


def _as_document(block: Block, digest: str) -> dict[str, object]:
    return {
        "height": block.height,
        "digest": digest,
        "at": block.system_time,
        "kind": block.kind.value,
        "verdict": block.verdict,
        "workload": block.workload,
        "contract_version": block.contract_version or None,
        "rows": block.rows,
        "rejected_rows": block.rejected_rows,
        "objects": [{"key": each.key, "size": each.size, "checksum": each.checksum} for each in block.objects],
    }


def _table(blocks: tuple[Block, ...]) -> Table:
    from rich.table import Table  # noqa: PLC0415 - start-up is paid by every command
    from rich.text import Text  # noqa: PLC0415 - likewise

    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("height", "at", "verdict", "version", "rows", "workload", "objects"):
        grid.add_column(name, justify="right" if name in {"height", "rows"} else "left", overflow="fold")
    for each in blocks:
        rows = "" if each.rows is None else f"{each.rows:,}"
        cells = (f"{each.height}", each.system_time[:19], each.verdict, each.contract_version, rows, each.workload[:12])
        grid.add_row(*(Text(seen(cell)) for cell in (*cells, f"{len(each.objects)}")))
    return grid


def _tell(chain: str, height: int, head: str, faults: tuple[Fault, ...]) -> None:
    console = terminal.answers()
    if not faults:
        console.print(seen(f"{chain}: {height + 1} blocks, intact."), markup=False, soft_wrap=True)
        console.print(f"Anchor of today, to be kept elsewhere: {height}={head}", soft_wrap=True)
        return
    first = faults[0].height
    console.print(
        seen(f"{chain}: broken. Nothing from block {first} on can be trusted."), style="bold red", markup=False
    )
    for each in faults:
        console.print(f"  block {each.height}: {each.what.value}", soft_wrap=True)
