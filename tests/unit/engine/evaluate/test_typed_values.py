"""A cast alone and the grammar's pattern before it give the same values to texts of a type's plain alphabet (decision 2)."""

from __future__ import annotations

import random
from itertools import product

import duckdb
import pyarrow as pa
import pytest

from lakegate.contract.logical_types import GRAMMARS, LogicalType
from lakegate.engine.evaluate.typed_values import LONGEST_PLAIN, PLAIN, typed_value
from lakegate.plan.plan import PlanField

LONGEST_OF_ALL = 5
"""Up to so many characters every text is tried, of one character for each kind of digit."""
TYPES = [each for each in LogicalType if GRAMMARS[each].cast in PLAIN]


def texts(alphabet: str) -> list[str]:
    """Every short text of some characters of the alphabet, and random ones up to the greatest length."""
    few = [each for each in alphabet if each not in "2345678"]
    found = ["".join(each) for size in range(LONGEST_OF_ALL + 1) for each in product(few, repeat=size)]
    chance = random.Random(116)
    sizes = [size for size in range(1, LONGEST_PLAIN + 1) for _ in range(20)]
    found += ["".join(chance.choices(alphabet, k=size)) for size in sizes]
    found += [sign + "".join(chance.choices("0123456789", k=size)) for size in sizes for sign in ("", "+", "-")]
    found = [each for each in found if len(each) <= LONGEST_PLAIN]
    return [*found, str(2**63 - 1), str(2**63), str(-(2**63)), str(-(2**63) - 1)]


@pytest.mark.parametrize("logical", TYPES)
def test_a_plain_text_has_the_same_value_by_the_cast_alone(logical: LogicalType) -> None:
    """No text of the plain alphabet is a value by the cast that is none by the grammar, or another value."""
    field = PlanField("a", "c0", logical)
    alphabet = PLAIN[GRAMMARS[logical].cast].decode()
    written = pa.table({"t": texts(alphabet)})
    plain, strict = typed_value(field, "t", plain=True), typed_value(field, "t")
    with duckdb.connect() as connection:
        connection.register("written", written)
        found = connection.execute(
            f"SELECT t, {plain}, {strict} FROM written WHERE ({plain}) IS DISTINCT FROM ({strict})"  # noqa: S608 - generated SQL
        ).fetchall()

    assert found == []
