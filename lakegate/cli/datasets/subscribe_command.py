"""`lakegate subscribe`, `unsubscribe`, `subscribers` and `acknowledge`: who reads a dataset and is notified of its changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from lakegate.base.errors import InputError
from lakegate.base.json_codec import omit_default, select_fields
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, gate_command
from lakegate.cli.datasets.lifecycle_command import dataset_of_contract, lifecycle_in_words
from lakegate.cli.options import DatasetName
from lakegate.contract.contract_model import full_dataset_name, parts_of
from lakegate.contract.semantic_versions import major
from lakegate.gate.datasets import dataset_states
from lakegate.gate.datasets.dataset_states import DatasetStatus, Notice, ParentNotice, Subscription
from lakegate.gate.datasets.lifecycle import DatasetLifecycle, change, lifecycle_of, warning
from lakegate.gate.datasets.lifecycle import acknowledge as acknowledge_version
from lakegate.gate.datasets.subscriptions import ON_REQUEST, add_subscription, own_subscription, remove_subscription
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.contract_versions import newest_release
from lakegate.gate.registry.next_dataset import NextDataset, next_dataset
from lakegate.gate.registry.parent_contracts import still_weaker

Team = Annotated[str, Option("--as", help="The team that is notified.")]
Audience = Annotated[str, Option(help="consumer, producer or operator.")]


@dataclass(frozen=True, slots=True)
class SubscribedDataset(DatasetLifecycle):
    """The status of a dataset, who is notified of it, and which versions wait for subscribers."""

    subscribers: tuple[Subscription, ...]
    notice: Notice | None
    parents: tuple[ParentNotice, ...]
    next: NextDataset | None = omit_default(None)
    """What replaces it."""
    replaced: Subscription | None = omit_default(None)
    """Of `subscribe`: the team's earlier subscription that was another one."""


@gate_command
def subscribe(  # noqa: PLR0913 - a command has these options
    dependencies: Dependencies,
    dataset: DatasetName,
    *,
    team: Team,
    audience: Audience = "consumer",
    on: Annotated[
        list[str] | None,
        Option(
            help=f"Also: {', '.join(sorted(ON_REQUEST))}; with commas or repeated. "
            "Deprecations, breaking versions and recalls are always included."
        ),
    ] = None,
    to: Annotated[
        list[str] | None,
        Option(
            help="A channel, repeated for several: slack:, teams:, pagerduty:, webhook:SECRET, openlineage:SECRET or sns:ARN."
        ),
    ] = None,
    quiet: Annotated[str, Option(help="Hours, UTC, in which nothing is sent to the channels: 22:00-06:00.")] = "",
    digest: Annotated[int, Option(help="Hours between messages about the same cause.")] = 24,
) -> CommandResult[SubscribedDataset]:
    """Subscribe a team to a dataset: it is notified of its end, breaking versions and recalls, and on request of deliveries.

    Example: lakegate subscribe orders_v1 --as finance --on rejected,warned --to slack:lakegate-channel-finance

    The command states the whole subscription: it replaces an earlier one of the team and audience, and prints what that was. A
    secret has the address or key of a channel (docs/notifications.md); without a channel, the events on the event bus name the
    team.

    A deprecated dataset answers with a warning; one that is in sunset or retired, also by its newest version, takes no new
    subscribers.

    Exit code: 0 subscribed (twice is once), 2 it is not possible.
    """
    name = dataset_of_contract(dependencies, dataset)
    contract, _, number = parts_of(name)
    newest = newest_release(dependencies.registry.contract(contract), number)
    if newest and newest.status in {DatasetStatus.SUNSET, DatasetStatus.RETIRED}:
        raise InputError(f"{name} is {newest.status} by its version {newest.version} and takes no new subscribers")
    kinds = [kind.strip() for each in on or () for kind in each.split(",")]
    given = {"team": team, "on": kinds, "audience": audience, "to": to or (), "quiet": quiet, "digest": digest}
    before = own_subscription(dependencies.datasets.get(name), team, audience)
    after = dependencies.run(change(dependencies, name, "", partial(add_subscription, **given)))  # type: ignore[arg-type]
    status = after.status_at(dependencies.moment)
    if status is DatasetStatus.DEPRECATED:
        terminal.note(f"lakegate: warning: {warning(after, status)}")
    return _outcome(dependencies, after, before if before != own_subscription(after, team, audience) else None)


@gate_command
def unsubscribe(
    dependencies: Dependencies,
    dataset: DatasetName,
    *,
    team: Team,
    audience: Audience = "consumer",
) -> CommandResult[SubscribedDataset]:
    """End the subscription of a team.

    Example: lakegate unsubscribe orders_v1 --as finance

    Exit code: 0 it is no subscriber (any more).
    """
    name = dataset_of_contract(dependencies, dataset)
    steps = change(dependencies, name, "", lambda state, _now: remove_subscription(state, team, audience))
    after = dependencies.run(steps)
    return _outcome(dependencies, after)


@gate_command
def subscribers(
    dependencies: Dependencies,
    dataset: DatasetName,
) -> CommandResult[SubscribedDataset]:
    """List the subscribers of a dataset, its status, and what is planned.

    Example: lakegate subscribers orders_v1
    """
    state = dependencies.datasets.get(dataset_of_contract(dependencies, dataset))
    state = replace(state, parents=still_weaker(dependencies, state))
    return _outcome(dependencies, state)


@gate_command
def acknowledge(
    dependencies: Dependencies,
    version: Annotated[str, Argument(metavar="DATASET@VERSION", help="The dataset that is read, and its version.")],
    *,
    team: Team,
) -> CommandResult[SubscribedDataset]:
    """Acknowledge a breaking version as a subscriber: it takes effect at once when every subscriber has acknowledged it.

    Example: lakegate acknowledge orders_v1@2.0.0 --as finance

    Exit code: 0 acknowledged (twice is once), 2 there is no such version that waits, or the team is no subscriber.
    """
    dataset, separator, number = version.rpartition("@")
    if not separator:
        raise InputError("write the dataset and the version, such as orders_v1@2.0.0")
    contract, schema_object, _ = parts_of(dataset_of_contract(dependencies, dataset))
    name = full_dataset_name(contract, schema_object, major(number))
    after = dependencies.run(acknowledge_version(dependencies, name, number, team))
    return _outcome(dependencies, after)


def _outcome(
    dependencies: Dependencies, dataset: dataset_states.DatasetState, replaced: Subscription | None = None
) -> CommandResult[SubscribedDataset]:
    lifecycle = lifecycle_of(dataset, dependencies.moment)
    following = next_dataset(dependencies, dataset.name)
    result = select_fields(
        SubscribedDataset,
        lifecycle,
        dataset,
        subscribers=dataset.subscriptions,
        next=following,
        replaced=replaced,
    )
    return CommandResult(result, _in_words(result))


def _subscription(subscription: Subscription) -> str:
    audience = "" if subscription.audience == "consumer" else f" ({subscription.audience})"
    channels = f" to {', '.join(subscription.to)}" if subscription.to else ""
    quiet = f", not in {subscription.quiet}" if subscription.quiet else ""
    return f"{subscription.team}{audience}: {', '.join(subscription.on)}{channels}{quiet}"


def _in_words(dataset: SubscribedDataset) -> Iterator[str]:
    yield from lifecycle_in_words(dataset)
    if dataset.next is not None:
        yield f"  replaced by {dataset.next.in_words()}"
    yield from (f"  {_subscription(each)}" for each in dataset.subscribers)
    if dataset.replaced is not None:
        yield f"  before it was {_subscription(dataset.replaced)}"
    for parent in dataset.parents:
        owner = f" (owner: {parent.owner})" if parent.owner else ""
        yield f"  weaker than {parent.version}{owner}, which is inherited from {parent.inherited_from[:10]} on"
    if dataset.notice is not None:
        waiting = sorted(set(dataset.notice.teams) - set(dataset.notice.acknowledged))
        text = f"  {dataset.notice.version} is acknowledged by {', '.join(dataset.notice.acknowledged) or 'nobody'}"
        yield text + (f", not by {', '.join(waiting)}" if waiting else "")
