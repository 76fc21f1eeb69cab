"""Random writes and reads of the tables in memory and of DynamoDB have the same results: conditions mean the same to both.

The protocol is simulated over the tables in memory. Every difference of the adapter is either a defect of one of them, or a gap
of moto's that is named here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lakegate.aws.dynamodb_table import plain, typed
from lakegate.base.errors import ConditionFailed, PortError
from lakegate.gate.table import (
    AllOf,
    AnyOf,
    AtLeast,
    Below,
    CheckRow,
    ConditionName,
    Delete,
    Equals,
    Has,
    HasLength,
    Lacks,
    Put,
    Row,
    RowAbsent,
    RowExists,
    RowKey,
    Shorter,
    StoredRecord,
    TableName,
    Tables,
    Update,
    Without,
    shard,
)
from tests.fakes import Memory
from tests.unit.aws.conftest import Cloud

EXAMPLES = 1_000 if "LAKEGATE_FULL" in os.environ else 15
LEDGER, WORKLOADS, REGISTRY = TableName.LEDGER, TableName.WORKLOADS, TableName.REGISTRY
KEYS = (
    *(RowKey(WORKLOADS, f"due#{name}") for name in "abc"),
    *(RowKey(REGISTRY, f"contract#{name}") for name in "ab"),
    *(RowKey(LEDGER, "a/b_v1", height) for height in (-1, 0, 1)),
)
NUMBERS, TEXTS = st.integers(-1, 2), st.sampled_from(["", "x", "é\x00"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "size": NUMBERS,  # reserved words, as many of our attributes are
    "limit": NUMBERS,
    "state": TEXTS,
    "members": st.lists(TEXTS, max_size=2),
    "plans": st.dictionaries(st.just("lines"), TEXTS, max_size=1),
    "signature": st.binary(max_size=1),
    "row": TEXTS.map(lambda text: StoredRecord(text, text.upper)),
}
numbers, lists = st.sampled_from(["size", "limit"]), st.just("members")
simple = st.one_of(
    st.builds(RowAbsent),
    st.builds(RowExists),
    st.builds(Has, st.sampled_from(list(VALUES))),
    st.builds(Lacks, st.sampled_from(list(VALUES))),
    st.builds(Equals, numbers, NUMBERS),
    st.builds(Equals, st.just("state"), TEXTS),
    st.builds(Below, numbers, numbers | NUMBERS),
    st.builds(AtLeast, numbers, NUMBERS),
    st.builds(Shorter, lists, numbers).map(
        lambda each: AllOf(Has(each.name), Has(each.limit), each)
    ),  # moto raises otherwise
    st.builds(HasLength, lists, st.integers(0, 2)).map(lambda each: AllOf(Has(each.name), each)),  # likewise
    st.builds(Without, lists, TEXTS),
)
conditions = st.recursive(
    simple, lambda inner: st.builds(AllOf, inner, inner) | st.builds(AnyOf, inner, inner), max_leaves=3
)
index = st.none() | st.tuples(st.sampled_from([*map("{}".format, "12")]), st.sampled_from(["due", "held"]))


@st.composite
def rows(draw: st.DrawFn, key: RowKey) -> Row:
    values = {name: draw(VALUES[name]) for name in draw(st.sets(st.sampled_from(list(VALUES)), max_size=4))}
    if key.table is WORKLOADS and (place := draw(index)):
        values |= {"at": place[0], "shard": "held#x" if place[1] == "held" else shard("due", key.identity)}
    return Row(key, values)


@st.composite
def writes(draw: st.DrawFn, key: RowKey, *, checks: bool) -> Any:
    if_, reason = draw(st.none() | conditions), draw(st.sampled_from([ConditionName.STATE, ConditionName.HEAD]))
    kind = draw(st.sampled_from(["put", "put", "update", "update", "delete", *["check"] * checks]))
    if kind == "put":
        return Put(draw(rows(key)), if_, reason)
    if kind == "delete":
        return Delete(key, if_, reason)
    if kind == "check":
        return CheckRow(key, if_ or draw(conditions), reason)
    names = draw(st.permutations(["size", "limit", "state", "members"]))  # an update names each attribute once
    how = [draw(st.sampled_from(["sets", "defaults", "adds", "appends", "removes", ""])) for _ in names]
    changes: dict[str, dict[str, Any]] = {"sets": {}, "defaults": {}, "adds": {}, "appends": {}}
    removes = tuple(name for name, one in zip(names, how, strict=True) if one == "removes")
    for name, one in zip(names, how, strict=True):
        if one in {"sets", "defaults"}:
            changes[one][name] = draw(VALUES[name])
        elif one == "adds" and name in {"size", "limit"}:
            changes[one][name] = draw(NUMBERS)
        elif one == "appends" and name == "members":
            changes[one][name] = draw(TEXTS)
    if not any(changes.values()) and not removes:
        removes = ("state",)
    return Update(key, **changes, removes=removes, if_=if_, reason=reason)


@st.composite
def steps(draw: st.DrawFn) -> list[Any]:
    """Single writes, and transactions of writes of different rows."""
    made: list[Any] = []
    for _ in range(draw(st.integers(1, 8))):
        if draw(st.booleans()):
            made.append(draw(writes(draw(st.sampled_from(KEYS)), checks=False)))
        else:
            keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True))
            made.append([draw(writes(key, checks=True)) for key in keys])
    return made


def outcome_of(act: Callable[[], Any]) -> Any:
    """The result, or the error with its reasons."""
    try:
        return act()
    except ConditionFailed as failed:
        return ("ConditionFailed", failed.reasons)
    except PortError as error:
        return type(error).__name__


def sent(row: Row) -> Row:
    """A row as it comes back."""
    return Row(row.key, {name: plain(typed(value)) for name, value in row.values.items()})


def everything(table: Tables) -> Any:
    """All that can be read."""
    by_key = lambda found: sorted(map(sent, found), key=lambda row: row.key)  # noqa: E731 - used at once
    return (
        [None if (row := table.get(key)) is None else sent(row) for key in KEYS],
        [by_key(table.batch([key for key in KEYS if key.table is each])) for each in (WORKLOADS, LEDGER)],
        [by_key(table.scan(each)) for each in TableName],
        [table.due("due", limit, until) for limit, until in ((9, "9999"), (1, "9999"), (9, "1"))],
        [table.listed("held#x", limit) for limit in (1, 9)],
        [
            table.latest("held#x", limit, since, until)
            for limit, since, until in ((1, "0", "9"), (9, "0", "9"), (9, "2", "1"))
        ],
        [
            list(map(sent, islice(table.heights("a/b_v1", above, below, newest=newest, page=1), 2)))
            for above, below in ((-1, None), (-2, None), (0, 1), (-1, 1), (-1, 0))
            for newest in (False, True)
        ],
    )


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ],  # shrinking takes minutes here, and one failing story is short
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # each example begins with empty tables
)
@given(steps())
def test_tables_in_memory_do_what_dynamodb_does(cloud: Cloud, made: list[Any]) -> None:
    """Every condition, write and read of the port, in any order: the same rows, the same reasons."""
    memory, real = Memory.of("landing").table, cloud.table()
    for key in KEYS:
        real.write(Delete(key))
    for step in made:
        acts = [table.transact if isinstance(step, list) else table.write for table in (memory, real)]
        found = [outcome_of(partial(act, step)) for act in acts]
        assert found[0] == found[1], step
    assert everything(memory) == everything(real)


@pytest.mark.parametrize("table", ["memory", "moto"])
def test_an_update_returns_what_it_has_set(cloud: Cloud, table: str) -> None:
    """Attributes that it does not name are not among it."""
    there: Tables = cloud.table() if table == "moto" else Memory.of("landing").table
    key = KEYS[0]
    there.write(Put(Row(key, {"size": 1, "state": "x"})))

    assert there.update(Update(key, adds={"size": 2})) == Row(key, {"size": 3})
    with pytest.raises(ConditionFailed) as failed:
        there.update(Update(key, adds={"size": 2}, if_=AtLeast("size", 4)))
    assert failed.value.reasons == ("row",)
    assert there.update(Update(key, sets={"state": "y"})) == Row(key, {"state": "y"})


def test_pages_together_have_every_row_of_a_kind(cloud: Cloud) -> None:
    """However many rows one page has; rows of other kinds count, and are not in it."""
    names = [f"{kind}#{name}" for kind in ("contract", "route") for name in "abcdef"]
    found = []
    for table in (Memory.of("landing").table, cloud.table()):
        for name in names:
            table.write(Put(Row(RowKey(REGISTRY, name), {})))
        listed, after = [], ""
        while True:
            page, after = table.page(REGISTRY, "contract", after, 2)
            listed += [row.key.name for row in page]
            if not after:
                break
        found.append(sorted(listed))

    assert found == [names[:6], names[:6]]


def test_a_token_is_one_transaction_for_ten_minutes() -> None:
    """Moto applies it again: the tables in memory do as DynamoDB's documentation has it."""
    memory = Memory.of("landing")
    write = Update(KEYS[0], adds={"size": 1})
    for _ in range(2):
        memory.table.transact([write], "token")
    with pytest.raises(PortError):
        memory.table.transact([replace(write, adds={"size": 2})], "token")
    memory.clock.sleep(601)
    memory.table.transact([write], "token")

    row = memory.table.get(KEYS[0])
    assert row is not None
    assert row.number("size") == 2
