"""`lakegate pull`: what the contracts of a stack pull, how that went, and pull a dataset now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from lakegate.base.json_codec import decode, select_fields
from lakegate.cli.click_commands import CommandGroup, Option
from lakegate.cli.command_runner import CommandResult, facade_command, gate_command
from lakegate.cli.options import DatasetFilter, DatasetName
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.features.pull.named_objects import name_object
from lakegate.features.pull.pull_task import PullState, pulls_of, run_now
from lakegate.features.pull.pulled_dataset import (
    EndOfPull,
    PulledDataset,
    PullStatus,
    in_past,
    present_state,
    pulled_dataset,
    status_of,
    status_of_object,
)
from lakegate.gate.datasets.dataset_names import dataset_named, datasets_fitting
from lakegate.gate.dependencies import Dependencies
from lakegate.library.stack import contract_path

if TYPE_CHECKING:
    from lakegate.library.stack import RemoteStack, StackFacade

SHOWN: Final = 5
"""Objects of a dataset that were named last."""
app = CommandGroup(help="Data that is fetched by a schedule.")


@dataclass(frozen=True, slots=True)
class PulledDatasets:
    """Pulls of datasets."""

    pulls: tuple[PulledDataset, ...]


@app.command("list")
@gate_command
def list_pulls(
    dependencies: Dependencies,
    contract: DatasetFilter = None,
) -> CommandResult[PulledDatasets]:
    """List the datasets that are pulled: when next, from where, and how the latest pulls, or objects that were named, ended.

    Example: lakegate pull list
    """
    pulls = pulls_of(dependencies, datasets_fitting(dependencies, contract) if contract is not None else None)
    nothing = "Nothing is pulled: no published contract has `pull`, or the first tick after it did not run yet."
    words = [text for each in pulls for text in _lines(each)]
    return CommandResult(PulledDatasets(tuple(map(pulled_dataset, pulls))), words or [nothing])


@app.command("run")
@facade_command
def pull_dataset(
    there: StackFacade,
    dataset: DatasetName,
    named: Annotated[
        str | None, Option("--object", help="One object of the contract's folder: s3://BUCKET/KEY.")
    ] = None,
    version: Annotated[str, Option("--object-version", help="Its version id.", show_default=False)] = "",
) -> CommandResult[PulledDataset | PulledDatasets | PulledObject]:
    """Pull a dataset at the next tick, within five minutes, whatever its schedule is. An unchanged source is not fetched again.

    With --api it takes a dataset's whole name (shop/orders_v1), or a contract's id for all its datasets. Where the source of the
    contract is a folder, --object names what is to be delivered: each version once, however often the command is repeated.

    Example: lakegate pull run orders
    """
    if named is not None:
        return there.perform(
            partial(_named_in_aws, dataset, named, version), partial(_named_over_http, dataset, named, version)
        )
    return there.perform(partial(_pulled_in_aws, dataset), partial(_pulled_over_http, dataset))


WORDS: Final = {
    PullStatus.DUE: "is pulled at the next tick, within five minutes",
    PullStatus.FETCHING: "is being pulled",
    PullStatus.DONE: "was delivered",
    PullStatus.UNSCHEDULED: "is not scheduled yet: it was published within five minutes, or the stack does not pull",
}


@dataclass(frozen=True, slots=True)
class PulledObject:
    """An object that its producer has named, and how its delivery ended."""

    dataset: str = field(metadata=DATASET_KEY)
    object: str
    version: str | None
    status: PullStatus
    latest: EndOfPull | None


def _pulled_in_aws(name: str, dependencies: Dependencies) -> CommandResult[PulledDataset]:
    row = dependencies.run(run_now(dependencies, dataset_named(dependencies, name)))
    return CommandResult(pulled_dataset(row), [f"{row.dataset} {WORDS[status_of(row)]}. lakegate pull list"])


def _pulled_over_http(name: str, there: RemoteStack) -> CommandResult[PulledDataset | PulledDatasets]:
    """Pull the dataset with this whole name, or all datasets of the contract with this id."""
    pulls = _pulls(name, there, {"details": "true"})
    datasets = tuple(decode(PulledDataset, each["details"]) for each in pulls)
    words = [f"{each['line']} {WORDS[PullStatus(each['status'])]}" for each in pulls]
    return CommandResult(datasets[0] if "/" in name else PulledDatasets(datasets), words)


def _named_in_aws(name: str, source: str, version: str, dependencies: Dependencies) -> CommandResult[PulledObject]:
    dataset = dataset_named(dependencies, name)
    row = dependencies.run(name_object(dependencies, dataset, source, version))
    status = status_of_object(row)
    return _named(select_fields(PulledObject, row, dataset=row.dataset, object=source, status=status, latest=row.end))


def _named_over_http(name: str, source: str, version: str, there: RemoteStack) -> CommandResult[PulledObject]:
    (found,) = _pulls(name, there, {"object": source} | ({"version": version} if version else {}))
    end = found["latest"] and decode(EndOfPull, found["latest"])
    return _named(PulledObject(found["line"], source, version or None, PullStatus(found["status"]), end))


def _named(pulled_object: PulledObject) -> CommandResult[PulledObject]:
    end = pulled_object.latest
    ended = f": {end.outcome} ({end.key or end.reason})" if end else ""
    return CommandResult(pulled_object, [f"{pulled_object.object} {WORDS[pulled_object.status]}{ended}"])


def _pulls(name: str, there: RemoteStack, query: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    """The pulls that a request begins: of the dataset with a whole name, or of the contract with an id."""
    contract, _, dataset = name.rpartition("/")
    of_line = {"line": name} if contract else {}
    return there.ask("POST", f"{contract_path(contract or dataset)}/pull", query={**query, **of_line})["pulls"]


def _lines(row: PullState) -> Iterator[str]:
    yield f"{row.dataset} {row.version}: {row.source}"
    yield f"  {f'{row.schedule}: ' if row.schedule else ''}{present_state(row)}"
    for end in row.ends[: 1 if row.schedule else SHOWN]:
        yield f"  last {in_past(end)}"
