"""`lakegate validator`: services that measure rules of technologies that the gate does not measure itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Local, StackName
from lakegate.features.external_validators.registered_validators import (
    add_validator,
    remove_validator,
    service_of,
    validators,
)
from lakegate.gate.effects import run
from lakegate.json_codec import encode
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.features.external_validators.registered_validators import ValidatorService

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Let other services measure rules of their technologies, by DCM's Validator API.",
)

Name = Annotated[str, typer.Argument(help="The name of the validator.", show_default=False)]


@app.command("add")
def add(  # noqa: PLR0913 - a validator has these parts
    name: Name,
    url: Annotated[str, typer.Argument(help="Its base address, before /v1/validation/start.", show_default=False)],
    *,
    technology: Annotated[
        list[str], typer.Option("--technology", "-t", help="Whose rules it measures; may be given several times.")
    ],
    secret: Annotated[
        str, typer.Option("--secret", help="Secret with its credentials, without the prefix; without one: SigV4.")
    ] = "",
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Register a validator, or change its address, its secret or its technologies; recorded in the ledger.

    Example: lakegate validator add gx https://gx.example.com -t GreatExpectations --secret gx

    Contract versions that are published from now on have their rules measured by it. Its host has to be one of the stack's
    parameter ValidatorHosts.
    """
    service = service_of(name, url, technology, secret)
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        run(add_validator(dependencies, service), dependencies.clock)
    if as_json:
        terminal.print_json(_as_document(service))
        return
    technologies = ", ".join(service.technologies)
    _print((f"{name} answers rules of {technologies}.", "  Publish contracts to have their rules measured by it."))


@app.command("remove")
def remove(name: Name, *, stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False) -> None:
    """Remove a validator: it gets no data any more; recorded in the ledger.

    Example: lakegate validator remove gx

    Deliveries whose contract version has rules for it are FAILED, until a validator has its name and technology again, or another
    version of the contract is published.
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        run(remove_validator(dependencies, name), dependencies.clock)
    if as_json:
        terminal.print_json({"removed": name})
        return
    _print((f"{name} is removed.",))


@app.command("list")
def list_validators(stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False) -> None:
    """List the registered validators.

    Example: lakegate validator list
    """
    with opened(stack, local=local) as there:
        found = validators(there.dependencies())
    if as_json:
        terminal.print_json({"validators": [_as_document(each) for each in found]})
    elif found:
        _print(
            f"{each.name}: {', '.join(each.technologies)} at {each.url}, {f'secret {each.secret}' if each.secret else 'SigV4'}"
            for each in found
        )
    else:
        _print(("No validator is registered: rules that the gate does not measure are skipped.",))


def _as_document(service: ValidatorService) -> dict[str, object]:
    document: dict[str, object] = encode(service)
    return document


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        terminal.answers().print(escaped(line), markup=False, soft_wrap=True)
