"""`lakegate convert`: a dataset of a contract in a format of another tool."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib import import_module
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.drafts import STANDARD_OUTPUT, writable, write_draft
from lakegate.cli.escape import escaped
from lakegate.cli.options import AsJson  # noqa: TC001 - typer reads the annotation
from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from lakegate.contracts.convert.promises import Converted
    from lakegate.contracts.model.contract import Contract, Dataset


class Target(StrEnum):
    """A format to convert to."""

    JSON_SCHEMA = "json-schema"
    DUCKDB = "duckdb"
    ATHENA = "athena"
    DBT = "dbt"


WRITERS = {
    Target.JSON_SCHEMA: "json_schema:json_schema",
    Target.DUCKDB: "ddl:duckdb",
    Target.ATHENA: "ddl:athena",
    Target.DBT: "dbt:dbt",
}
"""Module of `lakegate.contracts.convert` and function of each format."""
OUTPUT = "The file to write; by default standard output. No file is overwritten."


def convert(
    contract: Annotated[Path, typer.Argument(help="The contract document (ODCS, DCS or DCM).", show_default=False)],
    to: Annotated[Target, typer.Option("--to", help="The format.", show_default=False)],
    dataset: Annotated[str | None, typer.Option(help="Which dataset, where the contract has several.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", help=OUTPUT, show_default=False)] = STANDARD_OUTPUT,
    as_json: AsJson = False,
) -> None:
    """Write a dataset as JSON Schema, as a table of DuckDB or Athena, or as a source of dbt.

    The rules that the format cannot express are listed on standard error.

    Example: lakegate convert contracts/examples/orders.odcs.yaml --to json-schema
    """
    from lakegate.cli.contracts import load  # noqa: PLC0415 - yaml and more, for this command alone

    writable(output)
    document = load(contract)
    chosen = _chosen(document, dataset)
    module, _, name = WRITERS[to].partition(":")
    found: Converted = getattr(import_module(f"lakegate.contracts.convert.{module}"), name)(document, chosen)
    write_draft(output, found.text, as_json=as_json)
    if as_json:
        is_printed = output == STANDARD_OUTPUT
        terminal.print_json(
            {
                "to": to.value,
                "dataset": chosen.name,
                "file": None if is_printed else output,
                "text": found.text if is_printed else None,
                "omitted": list(found.omitted),
            }
        )
    elif found.omitted:
        rules = ", ".join(found.omitted)
        sys.stderr.write(f"lakegate: {to.value} does not express {len(found.omitted)} rules: {escaped(rules)}\n")


def _chosen(contract: Contract, name: str | None) -> Dataset:
    names = ", ".join(each.name for each in contract.datasets)
    found = contract.datasets[0] if name is None and len(contract.datasets) == 1 else contract.dataset(name or "")
    if found is None:
        raise InputError(f"choose a dataset of the contract with --dataset ({names})")
    return found
