"""The anchor of a day is written once, whole, whatever stops a pass; `test_anchors.py` has what it proves."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from functions import anchor_handler
from lakegate.aws import lambda_runtime
from lakegate.aws.lambda_runtime import HandlerError
from lakegate.base.errors import Unanswered
from lakegate.features.anchors.anchors import Anchor, AnchorPass, AnchorStore, from_json, keep_anchor_of_today
from lakegate.gate.effects import Alarm, Effect, run
from lakegate.gate.ledger.blocks import Head, contract_chain, digest, event_id
from lakegate.gate.ledger.commit import append
from lakegate.gate.ports import Address, SigningKeys
from lakegate.gate.registry.registry_rows import Publication
from tests.fakes import Memory
from tests.fakes.signing import MemoryKey
from tests.simulation.environment import LAKE, LANDING, Environment
from tests.unit.features.anchors.anchor_days import found, verified
from tests.unit.functions.test_handlers import Context
from tests.unit.gate.ledger.signing import FORGER, ONE, TWO
from tests.unit.gate.scenarios import resumed

BUCKET = "anchors"
CHAINS = [f"c{number}/rows_v1" for number in range(5)]
MAX = 2
"""Heads of a document."""


def signing(env: Environment, *keys: MemoryKey) -> None:
    env.dependencies = replace(env.dependencies, signing=SigningKeys(*keys))


def extend(env: Environment, chain: str) -> None:
    """One more block."""
    number = env.memory.ledger.head(chain).height
    content = {"workload": "w", "state": "FAILED", "attempt": 1, "replayed_by": "w"}
    run(append(env.dependencies, "replay", chain, content, event_id("replay", chain, number)), env.dependencies.clock)


@pytest.fixture
def env() -> Environment:
    """Five lines with a block each, and a line without one, in a stack that signs."""
    made = Environment(memory=Memory.of(LANDING, LAKE, BUCKET, lag=30.0))
    made.dependencies = replace(made.dependencies, of={"anchors": AnchorStore(BUCKET, 30)}.__getitem__)
    signing(made, ONE)
    for chain in CHAINS:
        contract = chain.partition("/")[0]
        published = Publication(contract, "1.0.0", "active", "contracts/x", (), plans=(("rows", "p"),))
        made.memory.registry.publish(published)
        extend(made, chain)
    return made


def kept(env: Environment, most: int = MAX, seconds: list[float] | None = None) -> AnchorPass:
    left = iter(seconds or [])
    dependencies = replace(env.dependencies, remaining=lambda: next(left, 900.0))
    return run(keep_anchor_of_today(dependencies, most), dependencies.clock)


def documents(env: Environment) -> dict[str, Anchor]:
    return {key: from_json(text) for key, text in env.memory.objects.current(BUCKET).items()}


def heads(env: Environment, day: str) -> dict[str, int]:
    found = [each for each in documents(env).values() if each.date == day]
    return {head.chain: head.height for each in found for head in each.heads}


def today(env: Environment) -> str:
    return env.dependencies.now.date().isoformat()


def proven(env: Environment, given: str | None = ONE.name) -> list[tuple[str, str]]:
    return found(verified(env.memory.objects.current(BUCKET).items(), given))


def test_every_chain_with_a_block_is_anchored_once_a_day(env: Environment) -> None:
    """In documents of a bounded size, signed, each naming the one before; again on that day nothing changes."""
    first = kept(env)
    before = env.memory.objects.current(BUCKET)
    second = kept(env)
    parts = list(documents(env).values())

    assert (first, second) == (AnchorPass(3, 5, is_complete=True), AnchorPass(is_complete=True))
    assert env.memory.objects.current(BUCKET) == before
    assert list(before) == [f"_daily/{today(env)}/0000{part}.json" for part in range(3)]
    assert [(each.part, each.is_last, len(each.heads), each.locked_days) for each in parts] == [
        (0, False, 2, 30),
        (1, False, 2, 30),
        (2, True, 1, 30),
    ]
    assert heads(env, today(env)) == dict.fromkeys(CHAINS, 0)
    assert proven(env) == []
    assert list(env.memory.objects.content_types.values()) == ["application/json"] * 3


def test_a_pass_lists_the_days_that_it_needs_and_not_the_bucket(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any document all, before the first and behind the last one; later the day, and the one before while it is made."""
    kind, listed = type(env.memory.objects), list[str]()
    versions = kind.versions

    def counted(objects: Any, bucket: str, prefix: str, *given: Any) -> Any:
        listed.append(prefix)
        return versions(objects, bucket, prefix, *given)

    monkeypatch.setattr(kind, "versions", counted)
    days = [f"_daily/{env.dependencies.now.date() + timedelta(days=number)}/" for number in range(-2, 2)]
    first = (kept(env).documents, listed.copy())
    listed.clear()
    kept(env)
    again = listed.copy()
    env.memory.clock.sleep(timedelta(days=1).total_seconds())
    listed.clear()
    kept(env, seconds=[900.0, 29.0])
    kept(env)

    assert first == (3, [*reversed(days[:3]), "_daily/", days[2]])
    assert again == [days[2]]
    assert listed == [days[3], days[2], days[3], days[2], days[3]]


def test_the_next_day_has_the_heads_of_that_day(env: Environment) -> None:
    """Grown chains, those of people's acts and of deliveries without a route; what was anchored once stays in every anchor."""
    old, gone = f"_unrouted/{today(env)}", "gone/rows_v1"
    for chain in (old, gone, contract_chain("c1"), contract_chain("_workflow:strict")):
        extend(env, chain)
    strict = Publication("_workflow:strict", "1.0.0", "active", "contracts/y", ())
    env.memory.registry.publish(strict)
    published = Publication("gone", "1.0.0", "active", "contracts/x", (), plans=(("rows", "p"),))
    env.memory.registry.publish(published)
    kept(env)
    first = today(env)
    del env.memory.table.rows["registry", "contract"]["gone"]  # as somebody who hides a line
    extend(env, CHAINS[0])
    env.memory.clock.sleep(timedelta(days=40).total_seconds())
    kept(env)

    same = {**dict.fromkeys(CHAINS, 0), old: 0, gone: 0, contract_chain("c1"): 0, contract_chain("_workflow:strict"): 0}
    assert heads(env, first) == same
    assert heads(env, today(env)) == {**same, CHAINS[0]: 1}
    assert proven(env) == []


def test_a_stack_without_a_chain_has_no_anchor(env: Environment) -> None:
    """Its creation may yet be rolled back, and nobody deletes what is locked; the first chain is in the first anchor."""
    made = Environment(memory=Memory.of(LANDING, LAKE, BUCKET))
    made.dependencies = replace(made.dependencies, of=env.dependencies.of)
    done, before = kept(made), documents(made)
    extend(made, f"_unrouted/{today(made)}")
    later = kept(made)

    assert (done, before) == (AnchorPass(is_complete=True), {})
    assert later == AnchorPass(1, 1, is_complete=True)
    assert heads(made, today(made)) == {f"_unrouted/{today(made)}": 0}


def test_a_pass_without_time_is_continued_by_the_next(env: Environment) -> None:
    """The documents that are there stay as they are, and the anchor is one."""
    first, second = kept(env, seconds=[900.0, 29.0]), kept(env)

    assert (first, second) == (AnchorPass(1, 2), AnchorPass(2, 3, is_complete=True))
    assert proven(env) == []


def test_a_long_list_of_documents_is_read_to_its_end(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest document is on the last page."""
    kept(env, 1)
    objects = env.memory.objects
    whole = objects.versions
    monkeypatch.setattr(objects, "versions", lambda bucket, prefix, after: whole(bucket, prefix, after, 2))

    assert kept(env) == AnchorPass(is_complete=True)


def test_a_day_that_was_not_finished_is_finished_first(env: Environment) -> None:
    """With the heads of then for what is written, and those of now for the rest; the new day follows."""
    kept(env, seconds=[900.0, 29.0])
    first = today(env)
    extend(env, CHAINS[0])
    extend(env, CHAINS[4])
    env.memory.clock.sleep(timedelta(days=1).total_seconds())

    assert kept(env) == AnchorPass(5, 8, is_complete=True)
    assert heads(env, first) == {**dict.fromkeys(CHAINS, 0), CHAINS[4]: 1}
    assert heads(env, today(env)) == {**dict.fromkeys(CHAINS, 0), CHAINS[0]: 1, CHAINS[4]: 1}
    assert proven(env) == []


def test_each_day_is_compared_with_the_one_before(env: Environment) -> None:
    """A chain that was rewritten is counted for the day that was not finished, and not for the next one again."""
    kept(env)
    env.memory.clock.sleep(timedelta(days=1).total_seconds())
    kept(env, seconds=[900.0, 29.0])
    chain = env.memory.chains[CHAINS[4]]
    other = replace(chain[0], actor="arn:aws:iam::123456789012:user/mallory")
    env.memory.put_block(other)
    env.memory.put_head(CHAINS[4], Head(0, digest(other)))
    env.memory.clock.sleep(timedelta(days=1).total_seconds())

    assert kept(env) == AnchorPass(5, 8, [CHAINS[4]], is_complete=True)
    assert proven(env) == [("rewritten", CHAINS[4])]


@pytest.mark.parametrize("crash", range(3))
@pytest.mark.parametrize("is_done", [False, True])
def test_a_crash_at_any_document_leaves_what_the_next_pass_completes(
    env: Environment,
    crash: int,
    is_done: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Before it is written, or after, without the answer."""
    steps = keep_anchor_of_today(env.dependencies, MAX)
    call = next(steps)
    for _ in range(crash):
        call = steps.send(call.do())
    if is_done:
        call.do()
    steps.close()
    again = kept(env)

    assert call.effect is Effect.ANCHOR
    assert again == AnchorPass(3 - crash - is_done, sum([2, 2, 1][crash + is_done :]), is_complete=True)
    assert proven(env) == []


def test_two_passes_at_once_write_one_anchor(env: Environment) -> None:
    """Whoever is second goes on behind what the first wrote, though the heads have moved."""
    steps = keep_anchor_of_today(env.dependencies, MAX)
    late = next(steps)
    extend(env, CHAINS[0])
    kept(env, seconds=[900.0, 29.0])
    stored = env.memory.objects.current(BUCKET)

    assert run(resumed(steps, late), env.dependencies.clock) == AnchorPass(2, 3, is_complete=True)
    assert stored.items() <= env.memory.objects.current(BUCKET).items()
    assert proven(env) == []


def test_what_is_put_over_an_anchor_or_before_it_counts_for_nothing(env: Environment) -> None:
    """The first version is the anchor; a delete marker, another version, and a document of a later day change nothing."""
    kept(env, seconds=[900.0, 29.0])
    key = f"_daily/{today(env)}/00000.json"
    env.memory.objects.put(Address(BUCKET, key), b"{}")
    env.memory.objects.put(Address(BUCKET, "_daily/9999-01-01/00000.json"), b"{}")
    env.memory.objects.put(Address(BUCKET, "_daily/x"), b"{}")
    done = kept(env)
    env.memory.objects.delete(Address(BUCKET, f"_daily/{today(env)}/00002.json"))

    assert (done, kept(env)) == (AnchorPass(2, 3, is_complete=True), AnchorPass(is_complete=True))


def test_an_anchor_that_is_none_is_an_alarm(env: Environment) -> None:
    """Nothing is written behind it."""
    key = f"_daily/{today(env)}/00000.json"
    env.memory.objects.put(Address(BUCKET, key), b"{}")
    with pytest.raises(Alarm) as raised:
        kept(env)

    assert (str(raised.value), len(env.memory.objects.current(BUCKET))) == (f"anchor-unreadable @ {key}", 1)


def test_a_key_is_replaced_by_an_anchor_that_both_sign(env: Environment) -> None:
    """Where the stack has neither the key that signed before nor one that replaces it, nothing is written."""
    kept(env)
    alarms = []
    for number, keys in enumerate([(TWO,), (TWO, FORGER), (), (TWO, ONE), (TWO, ONE), (TWO,)]):
        env.memory.clock.sleep(timedelta(days=1).total_seconds())
        signing(env, *keys)
        try:
            assert kept(env).is_complete
        except Alarm as alarm:
            alarms.append((number, alarm.code))
    signatures = [[one.key for one in each.signatures] for each in documents(env).values() if each.part == 0]

    assert alarms == [(0, "signing-key-differs"), (1, "signing-key-differs"), (2, "signing-key-missing")]
    assert signatures == [[ONE.name], [ONE.name, TWO.name], [TWO.name], [TWO.name]]
    assert [proven(env, each.name) for each in (ONE, TWO)] == [[], []]


@pytest.fixture
def deployed(env: Environment, monkeypatch: pytest.MonkeyPatch) -> Iterator[Environment]:
    """The function, over these doubles."""
    monkeypatch.setattr(anchor_handler, "dependencies", lambda: env.dependencies)
    yield env
    lambda_runtime.INVOCATION.set(None)


def test_the_function_answers_and_counts(deployed: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether today's anchor is complete is the metric that the alarm looks at."""
    answer = anchor_handler.handler({}, Context())  # type: ignore[arg-type] # what it asks of a context
    counted = json.loads(capsys.readouterr().out.splitlines()[-1])

    assert answer == {"documents": 1, "heads": 5, "contradicted": 0, "complete": 1}
    assert (counted["AnchorComplete"], counted["service"]) == ([1.0], "anchor")
    assert counted["ContradictedChains"] == [0.0]
    assert documents(deployed)


def test_a_chain_that_contradicts_the_anchor_before_is_counted_and_named(
    deployed: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rewritten, also if it has grown since; cut off; gone: once, on the next day. What only grew is none of them."""
    memory = deployed.memory
    same, grown, cut, gone, fresh = CHAINS
    for chain in (cut, fresh):
        extend(deployed, chain)
    anchor_handler.handler({}, Context())  # type: ignore[arg-type] # as above
    for chain in (same, grown):
        memory.put_block(replace(memory.chains[chain][0], actor="arn:aws:iam::123456789012:user/mallory"))
        memory.put_head(chain, Head(0, digest(memory.chains[chain][0])))
    extend(deployed, grown)
    extend(deployed, fresh)
    memory.cut(cut, 1)
    memory.cut(gone, -1)
    memory.put_head(cut, Head(0, digest(memory.chains[cut][0])))
    deployed.memory.clock.sleep(timedelta(days=1).total_seconds())
    stream = io.StringIO()
    monkeypatch.setattr(anchor_handler.LOG._logger.handlers[0], "stream", stream)  # noqa: SLF001 - likewise
    found = anchor_handler.handler({}, Context())  # type: ignore[arg-type] # likewise
    again = anchor_handler.handler({}, Context())  # type: ignore[arg-type] # likewise

    assert (found["contradicted"], again["contradicted"]) == (4, 0)
    named = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(each["message"], each["chain"]) for each in named] == [
        ("contradicted", each) for each in (same, grown, cut, gone)
    ]


def test_a_failure_of_the_function_is_named(deployed: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error of the invocation, which an alarm counts."""
    stream = io.StringIO()
    monkeypatch.setattr(anchor_handler.LOG._logger.handlers[0], "stream", stream)  # noqa: SLF001 - Powertools shows it nowhere else
    monkeypatch.setattr(deployed.memory.objects, "versions", lambda *_: (_ for _ in ()).throw(Unanswered("x")))
    with pytest.raises(HandlerError, match="Unanswered"):
        anchor_handler.handler({}, Context())  # type: ignore[arg-type] # likewise

    assert json.loads(stream.getvalue())["message"] == "failed"
