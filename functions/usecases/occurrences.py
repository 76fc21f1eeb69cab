"""What a message of the outbox means to subscribers: the cause that occurred, and the kinds of causes that it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.lake.lifecycle import Line, moment
from lakegate.contracts.lake.notices import Occurrence
from lakegate.contracts.lake.promises import LATENCY
from lakegate.contracts.lake.subscriptions import ACCEPTED
from lakegate.contracts.words import counted, printable
from lakegate.functions.ports.errors import AccessDenied, NotFound
from lakegate.functions.ports.history import broken_rules
from lakegate.functions.usecases.steps import Alarm
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Message, Workload

TITLES: Final = {
    "rejected": "Rejected",
    "warned": "Accepted with warnings",
    "failed": "No verdict",
    "awaiting": "Waits for approval",
}


class Noted(NamedTuple):
    """An occurrence, and whom it concerns."""

    what: Occurrence
    line: Line
    """Whose subscribers are notified."""
    producers: bool = True
    """Whether producers are notified, too: of their deliveries only if the contract agrees (`notifyProducers`)."""
    accepted: Occurrence | None = None
    """The same for who asked for accepted deliveries, and not for what occurred; None where nothing was accepted."""


def noted(dependencies: Dependencies, message: Message) -> Noted | None:
    """What a message means; None if it means nothing to anybody: the line has no subscriber with a channel."""
    if message.line:
        return _of_line(dependencies, message, json.loads(message.body))
    name = json.loads(message.body).get("line")
    line = dependencies.lines.get(name) if name else None
    if line is None or not any(each.to for each in line.subscriptions):
        return None
    try:
        workload = dependencies.workloads.get(message.workload)
    except NotFound:
        return None
    what = _of_delivery(message, workload, line)
    if what is None:
        return None
    accepted = _accepted(what, workload, line) if message.kind == "published" else None
    return Noted(what, line, _agreed(dependencies, workload), accepted)


def _accepted(what: Occurrence, workload: Workload, line: Line) -> Occurrence:
    counts = workload.decision.counts if workload.decision else None
    rows = [counts.rows_in_words] if counts else []
    title = printable(f"Accepted: {line.name}, below {what.group}")
    reasons = (*rows, f"To read it: lakegate get {line.name} FOLDER")
    return replace(what, kind=ACCEPTED, key=workload.id, title=title, reasons=reasons)


def _of_delivery(message: Message, workload: Workload, line: Line) -> Occurrence | None:
    kind, ends = _kind(message)
    was_answered = kind == "awaiting" and workload.state is not State.AWAITING
    if was_answered or (not kind and not ends):
        return None
    decision, pin = workload.decision, workload.pin
    group = pin.prefix if pin else ""
    rules = sorted({each.rule for each in broken_rules(decision)}) if decision else []
    causes = [str(each.cause) for each in workload.failed[-1:]] if kind == "failed" else rules
    return Occurrence(
        event=message.id,
        at=moment(message.at),
        kind=kind,
        key=workload.id if kind == "awaiting" else "\0".join(causes),
        title=printable(f"{TITLES[kind]}: {line.name}, below {group}") if kind else "",
        reasons=tuple(map(printable, _reasons(workload, kind, causes))),
        workload=workload.id,
        group=group,
        ends=ends,
    )


def _reasons(workload: Workload, kind: str, causes: list[str]) -> tuple[str, ...]:
    if kind == "failed":
        return tuple(causes)
    if kind != "awaiting":
        return workload.decision.reasons if workload.decision else tuple(causes)
    assert workload.candidate is not None
    return (
        f"To publish it: lakegate approve {workload.id}",
        f'To reject it: lakegate decline {workload.id} --reason "…"',
        f"Without an answer it is rejected at {workload.deadline:%Y-%m-%d %H:%M} UTC",
        *workload.candidate.reasons,
    )


def _kind(message: Message) -> tuple[str, tuple[str, ...]]:
    """The kind of a delivery's cause, and the kinds that it ends."""
    if message.kind == "quarantined":
        return "rejected", ("failed",)
    if message.kind == "failed":
        return "failed", ()
    if message.kind == "awaiting":
        return "awaiting", ()
    if message.kind == "published":
        warned = json.loads(message.body)["verdict"] == Verdict.ACCEPTED_WITH_WARNINGS
        return ("warned", ("rejected", "failed", "late")) if warned else ("", ("rejected", "failed", "warned", "late"))
    return "", ()


def _agreed(dependencies: Dependencies, workload: Workload) -> bool:
    """Whether the contract agrees that producers are notified; not where its plan cannot be read."""
    try:
        return dependencies.terms(workload).notify_producers
    except (AccessDenied, Alarm):
        return False


def _of_line(dependencies: Dependencies, message: Message, body: Mapping[str, Any]) -> Noted:
    kind, title, reasons = _DESCRIBED.get(message.kind, _lifecycle)(body)
    line = dependencies.lines.get(body["follows"] if kind == "breaking" else message.line)
    at = moment(message.at)
    is_good = kind == "pull" and body["outcome"] != "FAILED"
    measured = kind == "revalidation" and body["outcome"] != "FAILED"
    if is_good or (measured and not body["stale"]):
        return Noted(Occurrence(message.id, at, ends=(kind,)), line)
    broken = sorted(each["rule"] for each in body["stale"]) if measured else []
    key = "\0".join(broken) or title  # a further rule that is broken is another cause
    what = Occurrence(message.id, at, kind, key, title=printable(title), reasons=tuple(map(printable, reasons)))
    return Noted(what, line)


def _lifecycle(body: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    planned = [f"{each['status']} from {each['at'][:16].replace('T', ' ')} UTC" for each in body["planned"]]
    texts = {"Reason": body["reason"], "Use instead": body["replacement"], "Guide": body["guide"]}
    given = [f"{name}: {text}" for name, text in texts.items() if text]
    return "deprecated", f"{body['line']} is {body['status']}", planned + given


def _breaking(body: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    day = body.get("inherited_from", "")[:10]
    owner = f", whose owner is {body['owner']}" if body.get("owner") else ""
    inherited = [f"{body['line']}{owner}, is weaker: new versions inherit from it from {day} on"] if day else []
    return "breaking", f"{body['version']} breaks {body['follows']}", inherited + _lifecycle(body)[2]


def _drift(body: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    of = f"of {counted(body['compared'], 'object')} of {body['line']}"
    title = f"Drift: {counted(body['drifted'], f'{of} differs', f'{of} differ')} from {body['contract_version']}"
    fields = body["fields"]
    return "drift", title, [f"{each['field'] or 'object'}: {each['difference']} ({each['objects']})" for each in fields]


def _late(body: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    since = body.get("since", body["last_accepted"])[:16].replace("T", " ")  # an older release wrote no `since`
    title = f"Late: {body['line']} has missed its {body['promise']}"
    if body["promise"] == LATENCY:
        return (
            "late",
            title,
            [f"What was taken in at {since} UTC was not accepted within {counted(body['seconds'], 'second')}"],
        )
    return "late", title, [f"No delivery was accepted within {counted(body['seconds'], 'second')} after {since} UTC"]


def _pull(body: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    again = (
        f"It is tried again at {body['next'][:16].replace('T', ' ')} UTC" if body["next"] else "It is not tried again"
    )
    return "pull", f"Not fetched: {body['line']}, {body['reason']}", [again]


def _revalidation(body: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    if body["outcome"] == "FAILED":
        title = f"Not measured: rules with a schedule over {body['line']}, {body['reason']}"
        return "revalidation", title, ["Nothing is known about the accepted data since the run before"]
    found = [f"{each['rule']} does not hold since {each['since'][:16].replace('T', ' ')} UTC" for each in body["stale"]]
    return "revalidation", f"Accepted data of {body['line']} does not keep its contract", found


_DESCRIBED: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[str, str, list[str]]]]] = {
    "breaking": _breaking,
    "drift": _drift,
    "late": _late,
    "pull": _pull,
    "revalidation": _revalidation,
}
"""Kind, title and reasons of a message about a line, by its kind; all others are about its lifecycle."""
