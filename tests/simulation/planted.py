"""Bugs planted into the real code, one at a time: a checker that does not find them cannot be trusted with ours."""

from __future__ import annotations

import inspect
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.memory.jobs import MemoryJobs
from functions.usecases import (
    advance,
    gate,
    intake,
    moves,
    notify,
    observe,
    operations,
    publication,
    replay,
    submission,
    sweep,
    tidying,
)
from functions.usecases import answer as answers
from functions.usecases import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FunctionType


@dataclass(frozen=True, slots=True)
class Planted:
    """One small change of one function, as text."""

    name: str
    where: Callable[..., object]
    old: str
    new: str


P = Planted
PLANTED = (
    P(
        "unconditional write of the row",
        moves.move,
        "Expected(before.state, before.attempt)",
        "Expected((now := gate.workloads.get(before.id)).state, now.attempt)",
    ),
    P(
        "fence without attempt",
        moves.move,
        "Expected(before.state, before.attempt)",
        "Expected(before.state, gate.workloads.get(before.id).attempt)",
    ),
    P(
        "unconditional completion",
        publication._commit,
        "expected = Expected(workload.state, workload.attempt)",
        "now_ = gate.workloads.get(workload.id); expected = Expected(now_.state, now_.attempt)",
    ),
    P(
        "delete by key",
        tidying.tidy,
        "address(workload.source)",
        "Address(workload.source.bucket, workload.source.key)",
    ),
    P(
        "delete the newest version",
        tidying.tidy,
        "address(workload.source)",
        "Address(workload.source.bucket, workload.source.key, gate.objects.versions(workload.source.bucket, workload.source.key).versions[0].version)",
    ),
    P(
        "source deleted before the commit",
        publication.publish,
        "answer = _answer(gate, workload)",
        "answer = _answer(gate, workload); gate.objects.delete(address(workload.source))",
    ),
    P(
        "copy before decide",
        operations._decide,
        "assert workload.staged is not None",
        "gate.objects.copy(address(workload.staged), workload.staged.etag, Address(gate.places.lake, layout.resting_key('accepted', workload.pin, workload.id, 'part-00000.csv')))",
    ),
    P(
        "staging by key, not by version",
        operations._copied,
        "address(source), source.etag",
        "Address(source.bucket, source.key), gate.objects.head(Address(source.bucket, source.key)).etag",
    ),
    P("staged under a shared key", layout.staging_key, "{workload}/part", "shared/part"),
    P(
        "attempt number reused",
        operations._prepare,
        "attempt = workload.attempt + 1",
        "attempt = max(workload.attempt, 1)",
    ),
    P(
        "token not stored",
        operations._start,
        "request = json.loads(workload.request)",
        "request = json.loads(workload.request) | {'clientToken': str(len(gate.jobs.runs))}",
    ),
    P(
        "job started before the attempt is stored",
        operations._prepare,
        "now = gate.clock.now()",
        "gate.jobs.start(start_request(gate, workload.id, attempt) | {'clientToken': str(gate.jobs.runs.__len__())}); now = gate.clock.now()",
    ),
    P(
        "block outside the transaction",
        publication._commit,
        "yield from perform(Effect.COMMIT, partial(gate.ledger.commit, block, after, expected, message(gate, after)))",
        "yield from perform(Effect.COMMIT, partial(gate.workloads.save, after, expected, message=message(gate, after))); yield from perform(Effect.COMMIT, partial(gate.ledger.commit, block, after, Expected(to, workload.attempt), message(gate, after)))",
    ),
    P("no message with the commit's twin, failing", operations._fail, "message=message(gate, after)", "message=None"),
    P("result of any attempt taken", observe.result_of, "workload.attempt)", "1)"),
    P(
        "identity of the result not verified, any attempt",
        observe._judged,
        "if not repeats(Answer.read(result), workload):",
        "if False:",
    ),
    P(
        "job state decides, not the result",
        observe._validating,
        "if result is not None:",
        "if result is not None and state is JobState.SUCCESS:",
    ),
    P(
        "last look before giving up skipped",
        operations._over,
        "if not found.answered and result_of(gate, workload) is not None:",
        "if False:",
    ),
    P("undecided counts as accepted", observe._judged, "if judgement.verdict == Verdict.UNDECIDED:", "if False:"),
    P(
        "undecided goes to quarantine",
        observe._judged,
        "return Found(Outcome.UNDECIDED)",
        "return Found(Outcome.JUDGED, decision=Decision('rejected', (), hashlib.sha256(result).hexdigest()))",
    ),
    P("verdict turned round", observe._decided, "Outcome.ACCEPTED if", "Outcome.ACCEPTED if True or"),
    P(
        "contract looked up again when deciding",
        operations._decide,
        "after = replace(workload, state=to,",
        "from functions.usecases.observe import observe as look, _received; after = replace(workload, pin=_received(gate, workload).pin, state=to,",
    ),
    P(
        "closed before the source is deleted",
        tidying.tidy,
        "    yield from perform(Effect.DELETE_SOURCE, partial(gate.objects.delete, address(workload.source)))\n",
        "",
    ),
    P("late staging copies left behind", sweep._unstage, "if not version.current:", "if True:"),
    P(
        "sweep skips a state",
        sweep._resume,
        "if workload.due_at is None",
        "if workload.state == 'SUBMITTING' or workload.due_at is None",
    ),
    P(
        "sweep lists no landing",
        sweep.sweep,
        'Listing("landing", gate.places.landing, "",',
        'Listing("landing", gate.places.landing, "none",',
    ),
    P(
        "claim of the current version only",
        intake.admit,
        "if _is_marker(version)",
        "if not version.current or _is_marker(version)",
    ),
    P("copy over what is there", publication._rest, "absent=True", "absent=False"),
    P("no claim on an accepted content", operations._decide, "content=claim", "content=''"),
    P("manifest without the ledger below it", tidying._manifest, "deliveries += [", "deliveries = ["),
    P("manifest unconditional", tidying._manifest, "absent=etag is None, etag=etag", "absent=False, etag=None"),
    P("manifest before the commit only", tidying.tidy, "if workload.state is State.PUBLISHED:", "if False:"),
    P(
        "sent marked before it is sent",
        notify._tell,
        "    yield from perform(Effect.SEND, partial(gate.notifier.send, message))\n    yield from perform(Effect.MARK_SENT, partial(gate.outbox.sent, message))",
        "    yield from perform(Effect.MARK_SENT, partial(gate.outbox.sent, message))\n    yield from perform(Effect.SEND, partial(gate.notifier.send, message))",
    ),
    P("a lost source counts as done", publication._there, "return gate.objects.head(to)", "raise NotFound"),
    P("attempts without a bound", advance._transition, "workload.attempt >= workload.limit", "workload.attempt >= 99"),
    P("replay of the wrong bytes", replay._fresh, "described(gate.objects.head(where))", "row.source"),
    P("retired contracts judged on", observe._at_the_door, 'if pin.status == "retired":', "if False:"),
)


@contextmanager
def planted(bug: Planted) -> Iterator[None]:
    """The real code with the bug in it; every reference to the function sees it, because only its code is exchanged."""
    function: FunctionType = bug.where  # type: ignore[assignment]
    source = textwrap.dedent(inspect.getsource(function))
    assert bug.old in source, f"{bug.name}: the code has changed, plant it anew"
    namespace = dict(function.__globals__)
    header = "from __future__ import annotations\n"
    exec(compile(header + source.replace(bug.old, bug.new), f"<{bug.name}>", "exec"), namespace)  # noqa: S102 - our own text
    original = function.__code__
    function.__code__ = namespace[function.__name__].__code__
    try:
        yield
    finally:
        function.__code__ = original
