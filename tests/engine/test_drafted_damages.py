"""A drafted contract accepts its own file, and rejects it after realistic damages."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakegate.verdict.verdict import Verdict
from tests.engine.drafted import NOW, Drafted, drafted, judged

if TYPE_CHECKING:
    Damage = Callable[[list[list[str]]], bytes]

HEADER = ["order_id", "customer", "channel", "country", "placed_at", "quantity", "amount", "discount", "gift", "city"]
CITIES = ["São Paulo", "Zürich", "Porto", "Málaga", "Łódź", "Berlin", "Recife", "Lyon"]


def records() -> list[list[str]]:
    """400 orders with their header."""
    chance = random.Random(18)
    rows = [
        [
            f"ORD-{number:06}",
            str(chance.randrange(1000, 9999)),
            chance.choice(["web", "app", "store"]),
            chance.choice(["BR", "PT", "DE", "FR", "PL"]),
            (NOW - timedelta(minutes=30 * number)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            str(chance.randrange(1, 9)),
            f"{chance.uniform(1, 500):.2f}",
            f"{chance.uniform(1, 40):.1f}" if number % 10 else "",
            chance.choice(["true", "false"]),
            chance.choice(CITIES),
        ]
        for number in range(1, 401)
    ]
    return [HEADER, *rows]


def text_of(rows: list[list[str]], delimiter: str = ",") -> str:
    """Records as CSV; no value needs quotes."""
    return "".join(f"{delimiter.join(row)}\n" for row in rows)


def _each(name: str, change: Callable[[str], str], every: int = 1) -> Damage:
    """Change the values of a column, in one of so many rows."""
    at = HEADER.index(name)

    def damage(rows: list[list[str]]) -> bytes:
        body = [
            [*row[:at], change(row[at]), *row[at + 1 :]] if number % every == 0 else row
            for number, row in enumerate(rows[1:])
        ]
        return text_of([rows[0], *body]).encode()

    return damage


def _whole(
    change: Callable[[list[list[str]]], list[list[str]]], delimiter: str = ",", encoding: str = "utf-8"
) -> Damage:
    """Change all records, or how they are written."""
    return lambda rows: text_of(change(rows), delimiter).encode(encoding, "replace")


def _same(rows: list[list[str]]) -> list[list[str]]:
    return rows


def _without(name: str) -> Callable[[list[list[str]]], list[list[str]]]:
    at = HEADER.index(name)
    return lambda rows: [[*row[:at], *row[at + 1 :]] for row in rows]


def _swapped(one: str, other: str) -> Callable[[list[list[str]]], list[list[str]]]:
    """Values in the places of each other, below the same header."""
    first, second = HEADER.index(one), HEADER.index(other)

    def change(rows: list[list[str]]) -> list[list[str]]:
        body = [list(row) for row in rows[1:]]
        for row in body:
            row[first], row[second] = row[second], row[first]
        return [rows[0], *body]

    return change


DAMAGES: dict[str, Damage] = {
    "a column is missing": _whole(_without("country")),
    "the key is missing": _whole(_without("order_id")),
    "a column has another name": _whole(lambda rows: [["order", *rows[0][1:]], *rows[1:]]),
    "the names are in capitals": _whole(lambda rows: [[each.upper() for each in rows[0]], *rows[1:]]),
    "two columns of other types are swapped": _whole(_swapped("customer", "channel")),
    "two columns of codes are swapped": _whole(_swapped("channel", "country")),
    "two columns of numbers are swapped": _whole(_swapped("quantity", "customer")),
    "the header is missing": _whole(lambda rows: rows[1:]),
    "the header is repeated": _whole(lambda rows: [*rows[:200], rows[0], *rows[200:]]),
    "text stands in a column of numbers": _each("quantity", lambda _: "many", every=50),
    "numbers have a decimal comma": lambda rows: text_of(
        [[each.replace(".", ",") for each in row] for row in rows], ";"
    ).encode(),
    "numbers have a currency": _each("amount", lambda value: f"EUR {value}"),
    "dates are written otherwise": _each("placed_at", lambda value: f"{value[8:10]}.{value[5:7]}.{value[:4]}"),
    "a truth is written as a number": _each("gift", lambda value: str(int(value == "true"))),
    "a null word stands for nothing": _each("amount", lambda _: "N/A", every=40),
    "a key is delivered twice": _whole(lambda rows: [*rows, rows[7]]),
    "all rows are delivered twice": _whole(lambda rows: [*rows, *rows[1:]]),
    "a key is empty": _each("order_id", lambda _: "", every=100),
    "a key has another form": _each("order_id", lambda value: value.replace("ORD-", "")),
    "required values are empty": _each("country", lambda _: "", every=20),
    "many more values are empty": _each("discount", lambda _: ""),
    "an amount is a thousand times larger": _each("amount", lambda value: f"{float(value) * 1000:.2f}", every=80),
    "an amount is negative": _each("amount", lambda value: f"-{value}", every=80),
    "an unknown word is in a list": _each("channel", lambda _: "phone", every=80),
    "a country is written out": _each("country", lambda _: "Germany", every=80),
    "a date lies in the distant past": _each("placed_at", lambda value: f"1900{value[4:]}", every=80),
    "a date lies in the distant future": _each("placed_at", lambda value: f"2999{value[4:]}", every=80),
    "the data is a year old": _each("placed_at", lambda value: f"{int(value[:4]) - 1}{value[4:]}"),
    "another delimiter": _whole(_same, ";"),
    "another encoding": _whole(_same, encoding="windows-1250"),
    "UTF-16": _whole(_same, encoding="utf-16"),
    "the file ends in the middle of a record": lambda rows: text_of(rows).encode()[:-40],
    "only the first tenth arrived": _whole(lambda rows: rows[:41]),
    "nothing but the header arrived": _whole(lambda rows: rows[:1]),
    "a value contains the delimiter": _each("city", lambda value: f"{value}, centro", every=80),
    "a value has an open quote": _each("city", lambda value: f'"{value}', every=80),
    "a quantity is off by one": _each("quantity", lambda value: str(int(value) + 1)),
    "cities are in capitals": _each("city", str.upper, every=80),
}
UNNOTICED = {"a quantity is off by one"}
"""Damages after which each value is as likely as before: only someone who knows the orders sees them."""


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> tuple[Drafted, Path]:
    """The draft of the undamaged file, which it accepts."""
    path = tmp_path_factory.mktemp("drafted") / "orders.csv"
    path.write_text(text_of(records()), encoding="utf-8")
    found = drafted(path)

    assert judged(found.plan, path).verdict is Verdict.ACCEPTED
    return found, path.parent


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_noticed(name: str, contract: tuple[Drafted, Path]) -> None:
    """The damaged file is rejected; what cannot be noticed is listed by name."""
    found, folder = contract
    path = folder / "damaged.csv"
    path.write_bytes(DAMAGES[name](records()))
    verdict = judged(found.plan, path).verdict

    assert (verdict is Verdict.REJECTED) == (name not in UNNOTICED)


def test_the_guide_names_the_numbers(request: pytest.FixtureRequest) -> None:
    """docs/authoring.md says how many damages there are, and how many are noticed."""
    page = (request.config.rootpath / "docs/authoring.md").read_text()

    assert f"{len(DAMAGES) - len(UNNOTICED)} of {len(DAMAGES)} damages" in page
