"""`lakegate validator`: services that measure rules of technologies that the gate does not measure itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lakegate.aws.open_stack import DeployedStack, parameters_of
from lakegate.cli.click_commands import Argument, CommandGroup, Option
from lakegate.cli.command_runner import CommandResult, gate_command, stack_command
from lakegate.features.external_validators.registered_validators import (
    ValidatorService,
    add_validator,
    refuse_host,
    remove_validator,
    service_of,
    validators,
)
from lakegate.gate.dependencies import Dependencies

app = CommandGroup(help="Let other services measure rules of their technologies, by DCM's Validator API.")

Name = Annotated[str, Argument(help="The name of the validator.")]


@app.command("add")
@stack_command
def add(
    there: DeployedStack,
    name: Name,
    url: Annotated[str, Argument(help="Its base address, before /v1/validation/start.")],
    *,
    technology: Annotated[
        list[str], Option("--technology", "-t", help="Whose rules it measures; may be given several times.")
    ],
    secret: Annotated[str, Option(help="Secret with its credentials, without the prefix; without one: SigV4.")] = "",
) -> CommandResult[ValidatorService]:
    """Register a validator, or change its address, its secret or its technologies; recorded in the ledger.

    Example: lakegate validator add gx https://gx.example.com -t GreatExpectations --secret gx

    Contract versions that are published from now on have their rules measured by it. A host that is not one of the stack's
    parameter ValidatorHosts is refused.
    """
    service = service_of(name, url, technology, secret)
    refuse_host(service, parameters_of(there).get("ValidatorHosts", ""))
    dependencies = there.dependencies()
    dependencies.run(add_validator(dependencies, service))
    technologies = ", ".join(service.technologies)
    words = (f"{name} answers rules of {technologies}.", "  Publish contracts to have their rules measured by it.")
    return CommandResult(service, words)


@dataclass(frozen=True, slots=True)
class RemovedValidator:
    """A validator that gets no data any more."""

    removed: str


@dataclass(frozen=True, slots=True)
class RegisteredValidators:
    """The registered validators."""

    validators: tuple[ValidatorService, ...]


@app.command("remove")
@gate_command
def remove(
    dependencies: Dependencies,
    name: Name,
) -> CommandResult[RemovedValidator]:
    """Remove a validator: it gets no data any more; recorded in the ledger.

    Example: lakegate validator remove gx

    Deliveries whose contract version has rules for it are FAILED, until a validator has its name and technology again, or another
    version of the contract is published.
    """
    dependencies.run(remove_validator(dependencies, name))
    return CommandResult(RemovedValidator(name), [f"{name} is removed."])


@app.command("list")
@gate_command
def list_validators(
    dependencies: Dependencies,
) -> CommandResult[RegisteredValidators]:
    """List the registered validators.

    Example: lakegate validator list
    """
    services = validators(dependencies)
    words = [
        f"{service.name}: {', '.join(service.technologies)} at {service.url}, "
        f"{f'secret {service.secret}' if service.secret else 'SigV4'}"
        for service in services
    ]
    return CommandResult(
        RegisteredValidators(tuple(services)),
        words or ["No validator is registered: rules that the gate does not measure are skipped."],
    )
