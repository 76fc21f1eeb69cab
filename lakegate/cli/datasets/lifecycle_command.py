"""`lakegate deprecate`, `sunset`, `retire` and `reactivate`: the lifecycle of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from lakegate.base import timestamps
from lakegate.base.errors import InputError
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, confirm, gate_command
from lakegate.cli.options import DatasetName, Yes
from lakegate.gate.datasets import dataset_states, lifecycle
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.datasets.lifecycle import DatasetLifecycle, change, lifecycle_of, side_effects
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.commit import is_one_line
from lakegate.gate.person_decisions import LONGEST_REASON
from lakegate.gate.registry.publish_contract import reactivate_dataset

DEPRECATED, SUNSET = lifecycle.MIN_DEPRECATED.days, lifecycle.MIN_SUNSET.days
ON = "From this day on (UTC, YYYY-MM-DD); by default from now on."
On = Annotated[str | None, Option("--on", help=ON)]
SunsetOn = Annotated[str | None, Option("--on", help=f"{ON} At least {DEPRECATED} days after the deprecation.")]
RetireOn = Annotated[str | None, Option("--on", help=f"{ON} At least {SUNSET} days after the sunset.")]


@gate_command
def deprecate(  # noqa: PLR0913 - a command has these options
    dependencies: Dependencies,
    dataset: DatasetName,
    *,
    reason: Annotated[str, Option(help="Why the dataset ends.")] = "",
    replacement: Annotated[str, Option(help="The dataset or contract to use instead.")] = "",
    guide: Annotated[str, Option(help="The address of a migration guide.")] = "",
    on: On = None,
    sunset_on: Annotated[
        str | None,
        Option(
            "--sunset",
            help=f"The day of the sunset: {DEPRECATED} days after the deprecation by default, and at least.",
        ),
    ] = None,
    retire_on: Annotated[
        str | None,
        Option("--retire", help=f"The day of the retirement: {SUNSET} days after the sunset by default, and at least."),
    ] = None,
) -> CommandResult[DatasetLifecycle]:
    """Announce the end of a dataset: it is deprecated, later sunset, and after that retired.

    Example: lakegate deprecate orders_v1 --replacement shop/orders_v2 --reason "one row per order" --sunset 2027-02-01

    Deliveries are accepted with a warning, and subscribers are notified. The sunset and the retirement follow by their dates.
    Given again, the command replaces what has not begun.

    Exit code: 0 done (twice is once), 2 it is not allowed, or was not confirmed.
    """
    ending = dataset_states.Ending(*map(_text, (reason, replacement, guide)))
    days = partial(lifecycle.deprecate, on=day_of(on), sunset=day_of(sunset_on), retire=day_of(retire_on))
    decide = partial(days, ending=ending)
    after = dependencies.run(change(dependencies, dataset_of_contract(dependencies, dataset), "deprecate", decide))
    return _outcome(after, _now(dependencies))


@gate_command
def sunset(
    dependencies: Dependencies, dataset: DatasetName, *, on: SunsetOn = None, yes: Yes = False
) -> CommandResult[DatasetLifecycle]:
    """Let a deprecated dataset accept known producers only, with a warning: at once, or move the day of its sunset.

    Example: lakegate sunset orders_v1 --on 2027-03-01

    A producer is known once a delivery below the prefix of its route was accepted.

    Exit code: 0 done (twice is once), 2 it is not allowed, or was not confirmed.
    """
    return _confirmed(dependencies, dataset, "sunset", partial(lifecycle.sunset, on=day_of(on)), yes=yes)


@gate_command
def retire(
    dependencies: Dependencies, dataset: DatasetName, *, on: RetireOn = None, yes: Yes = False
) -> CommandResult[DatasetLifecycle]:
    """Refuse every delivery to a dataset in sunset: at once, or move the day of its retirement. Its data stays.

    Example: lakegate retire orders_v1

    Exit code: 0 done (twice is once), 2 it is not allowed, or was not confirmed.
    """
    return _confirmed(dependencies, dataset, "retire", partial(lifecycle.retire, on=day_of(on)), yes=yes)


@gate_command
def reactivate(dependencies: Dependencies, dataset: DatasetName) -> CommandResult[DatasetLifecycle]:
    """Make a draft, or a dataset that was deprecated, sunset or retired, active again; what is planned is dropped.

    Example: lakegate reactivate orders_v1

    A draft of a new major version waits for the notice period if the dataset before has subscribers.

    Exit code: 0 done (twice is once), 2 it is not allowed.
    """
    after = dependencies.run(reactivate_dataset(dependencies, dataset_of_contract(dependencies, dataset)))
    return _outcome(after, _now(dependencies))


def dataset_of_contract(dependencies: Dependencies, name: str) -> str:
    """The dataset that a person means. Raises InputError for a chain that is no dataset of a contract."""
    found = dataset_named(dependencies, name)
    if found.startswith("_"):
        raise InputError(f"{found} is no dataset of a contract")
    return found


def lifecycle_in_words(found: DatasetLifecycle) -> Iterator[str]:
    """The lifecycle of a dataset for people."""
    yield f"{found.dataset} is {found.status}{f' since {_utc(found.since)}' if found.since else ''}."
    yield from (f"  {each.status} from {_utc(each.at)}" for each in found.planned)


def _outcome(dataset: dataset_states.DatasetState, now: str) -> CommandResult[DatasetLifecycle]:
    found = lifecycle_of(dataset, now)
    return CommandResult(found, lifecycle_in_words(found))


def _confirmed(
    dependencies: Dependencies,
    name: str,
    act: str,
    decide: Callable[[dataset_states.DatasetState, str], dataset_states.DatasetState],
    *,
    yes: bool,
) -> CommandResult[DatasetLifecycle]:
    dataset = dataset_of_contract(dependencies, name)
    before, now = dependencies.datasets.get(dataset), _now(dependencies)
    confirm(side_effects(dependencies, before, decide(before, now), now), yes=yes)
    return _outcome(dependencies.run(change(dependencies, dataset, act, decide)), now)


def _now(dependencies: Dependencies) -> str:
    return dependencies.moment


def _utc(at: str) -> str:
    return f"{at[:10]} {at[11:16]} UTC"


def day_of(written: str | None) -> str:
    """The beginning of a day; empty for none, and for today, which means now."""
    return "" if written is None else timestamps.beginning_of(written, datetime.now(UTC))


def _text(written: str) -> str:
    if not is_one_line(written):
        raise InputError(f"reason, replacement and guide are each one line of at most {LONGEST_REASON} characters")
    return written.strip()
