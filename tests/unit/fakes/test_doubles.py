"""Random calls of in-memory double and adapter must have the same answers: the simulation runs on what AWS does.

Likewise for tables: tests/contract/test_table.py.

The protocol was tested on the doubles. Every difference of an adapter is either a defect of one of them, or
a gap of moto's that is named here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lakegate.base.errors import ConditionFailed, PortError
from lakegate.gate.ports import Address, ObjectVersion, every_version
from tests.fakes import Memory
from tests.unit.aws.conftest import Cloud

EXAMPLES = 300 if "LAKEGATE_FULL" in os.environ else 8
ONE_CLOUD = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ],  # shrinking takes minutes here, and one failing story is short
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # each example uses keys and names of its own
)
RUNS = count()
NOW = datetime(2026, 11, 21, 11, 30, tzinfo=UTC)


def outcome_of(act: Callable[[], Any]) -> Any:
    """The answer, or the error with its reasons."""
    try:
        return act()
    except ConditionFailed as failed:
        return ("ConditionFailed", failed.reasons)
    except PortError as error:
        return type(error).__name__


@dataclass
class Store:
    """One store with its own names for versions and ETags."""

    port: Any
    run: str
    written: list[ObjectVersion] = field(default_factory=list)

    def at(self, key: str, nth: int | None) -> Address:
        named = [each for each in self.written if each.key == self.key(key)]
        version = None if nth is None else named[nth % len(named)].version if named else "unknown"
        return Address("landing", self.key(key), version)

    def key(self, key: str) -> str:
        return f"{self.run}/{key}"

    def etag(self, known: int) -> str:
        return self.written[known % len(self.written)].etag if self.written and known else '"none"'

    def plain(self, answer: Any) -> Any:
        """What two stores can agree on: which version in the order of writing, how large."""
        if isinstance(answer, ObjectVersion):
            ordinal = next((n for n, each in enumerate(self.written) if each.version == answer.version), None)
            return (answer.key.removeprefix(self.run), ordinal, answer.size)
        return answer

    def keep(self, answer: Any) -> Any:
        if isinstance(answer, ObjectVersion):
            self.written.append(answer)
        return self.plain(answer)


keys = st.sampled_from(["a", "a/b", "ä +%", "_b"])
nths = st.none() | st.integers(0, 3)
known = st.integers(0, 3)
bodies = st.sampled_from([b"", b"1", b"22", b"333"])
store_steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), keys, bodies, st.sampled_from(["", "absent", "etag"]), known),
        st.tuples(st.just("copy"), keys, nths, known, keys),
        st.tuples(st.just("head"), keys, nths),
        st.tuples(st.just("read"), keys, nths, st.integers(0, 3), st.none() | st.integers(0, 3)),
        st.tuples(st.just("delete"), keys, nths),
        st.tuples(st.just("versions"), st.sampled_from(["", "a", "ä"])),
    ),
    max_size=15,
)


def put(store: Store, key: str, body: bytes, condition: str, etag: int) -> Any:
    given_etag = store.etag(etag) if condition == "etag" else None
    to = Address("landing", store.key(key))
    return store.keep(outcome_of(lambda: store.port.put(to, body, absent=condition == "absent", etag=given_etag)))


def copy(store: Store, key: str, nth: int | None, etag: int, to: str) -> Any:
    # Without `absent`: no emulator refuses a copy onto an existing key. Only the double shows what that condition does.
    source, target = store.at(key, nth), Address("landing", store.key(to))
    return store.keep(outcome_of(lambda: store.port.copy(source, store.etag(etag), target)))


def head(store: Store, key: str, nth: int | None) -> Any:
    return store.plain(outcome_of(lambda: store.port.head(store.at(key, nth))))


def read_range(store: Store, key: str, nth: int | None, start: int, length: int | None) -> Any:
    return outcome_of(lambda: store.port.read(store.at(key, nth), start, length))


def delete(store: Store, key: str, nth: int | None) -> Any:
    return outcome_of(lambda: store.port.delete(store.at(key, nth)))


def versions(store: Store, prefix: str) -> Any:
    listed = outcome_of(lambda: tuple(every_version(store.port, "landing", store.key(prefix))))
    return [(*store.plain(each), each.current) for each in listed] if isinstance(listed, tuple) else listed


STORE_STEPS: dict[str, Callable[..., Any]] = {
    "put": put,
    "copy": copy,
    "head": head,
    "read": read_range,
    "delete": delete,
    "versions": versions,
}


@ONE_CLOUD
@given(store_steps)
def test_both_stores_answer_alike(cloud: Cloud, steps: list[tuple[Any, ...]]) -> None:
    """Puts, copies, deletes, reads and listings in any order: the same versions, the same refusals."""
    run = f"run-{next(RUNS)}"
    double, real = Store(Memory.of("landing").objects, run), Store(cloud.store(), run)
    answers = [(STORE_STEPS[name](double, *values), STORE_STEPS[name](real, *values)) for name, *values in steps]

    assert [answer for answer, _ in answers] == [answer for _, answer in answers]


@pytest.mark.xfail(strict=True, reason="moto 5.2.5 ignores If-None-Match of CopyObject, as every free emulator does")
def test_a_copy_onto_an_existing_key_is_refused_if_it_must_be_absent(cloud: Cloud) -> None:
    """`absent` keeps a copy from writing over another object: in the double as in S3."""
    store = Store(cloud.store(), "run")
    put(store, "a", b"1", "", 0)
    source = store.written[0]
    at = Address(source.bucket, source.key, source.version)

    assert outcome_of(lambda: store.port.copy(at, source.etag, at, absent=True)) == ("ConditionFailed", ("absent",))


def test_last_modified_of_an_upload_in_parts_is_when_it_began() -> None:
    """As of S3 (User guide, Working with object metadata), and no emulator does it: its ETag tells, and a copy is new."""
    memory = Memory.of("landing", "lake")
    ended = memory.clock.now()
    whole = memory.objects.land(Address("landing", "whole"), b"a", "sha256")
    parts = memory.objects.land(Address("landing", "parts"), b"a", "", timedelta(hours=5))
    copy = memory.objects.copy(Address("landing", "parts"), parts.etag, Address("lake", "copy"))

    assert [(each.modified, each.came_in_parts) for each in (whole, parts)] == [
        (ended, False),
        (ended - timedelta(hours=5), True),
    ]
    assert copy.modified == ended
