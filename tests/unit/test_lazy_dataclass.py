"""Dataclasses whose methods are compiled when they are first used, beside those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from lakegate import lazy_dataclass

if TYPE_CHECKING:
    from collections.abc import Callable


class Library:
    """The same classes, each by one decorator."""

    def __init__(self, decorator: Callable[..., Any]) -> None:
        @decorator(frozen=True, slots=True)
        class Base:
            kind: ClassVar[str] = "base"
            name: str
            numbers: tuple[int, ...] = ()
            found: list[int] = field(default_factory=list, compare=False, repr=False)
            state: str = field(default="new", kw_only=True)

        @decorator(frozen=True, slots=True)
        class Derived(Base):
            made: list[int] = field(init=False, default_factory=list, hash=False)
            constant: int = field(init=False, default=3)
            later: int = field(init=False)
            inner: Any = None

            def __post_init__(self) -> None:
                object.__setattr__(self, "later", len(self.name))

        @decorator(frozen=True, slots=True, kw_only=True)
        class Keywords:
            first: int
            second: int = 2

        @decorator(frozen=True)
        class Open:  # noqa: PLW1641 - the decorator adds it
            value: float

            def __eq__(self, other: object) -> bool:
                return other == "equal"

        @decorator(frozen=True, slots=True, eq=False, repr=False)
        class Itself:
            value: int

        @decorator(slots=True)
        class Mutable:
            value: int

        @decorator(frozen=True, slots=True)
        class Empty:
            pass

        class Plain(Base):  # type: ignore[misc, valid-type]
            """A subclass that is no dataclass itself."""

        self.classes = (Base, Derived, Keywords, Open, Itself, Mutable, Empty, Plain)
        self.base, self.derived, self.keywords, self.open, self.itself, self.mutable, self.empty, self.plain = (
            self.classes
        )


LIBRARIES = (Library(dataclass), Library(lazy_dataclass.dataclass))


def outcome(call: Callable[[Library], object], library: Library) -> object:
    """The result, or the type of the exception with its words."""
    try:
        return call(library)
    except Exception as error:  # noqa: BLE001 - compared
        return type(error), str(error).replace("Library.__init__.<locals>.", "")


CALLS: tuple[Callable[[Library], object], ...] = (
    lambda of: of.base("a"),
    lambda of: of.base("a", (1, 2), state="old"),
    lambda of: of.base(name="a", found=[1]),
    lambda of: of.base(),
    lambda of: of.base("a", (), [], "old"),
    lambda of: of.base("a", more=1),
    lambda of: of.base("a") == of.base("a", found=[1]),
    lambda of: of.base("a") == of.base("b"),
    lambda of: of.base("a") == of.derived("a"),
    lambda of: of.base("a") == "a",
    lambda of: hash(of.base("a", (1,))) == hash(of.base("a", (1,), [3])),
    lambda of: hash(of.base("a", (1,))),
    lambda of: hash(of.base(["a"])),
    lambda of: of.derived("abc"),
    lambda of: of.derived("abc", made=[]),
    lambda of: of.derived("abc", inner=of.derived("d")),
    lambda of: of.derived("a").made is of.derived("a").made,
    lambda of: hash(of.derived("abc")),
    lambda of: asdict(of.derived("abc", inner=of.base("x"))),
    lambda of: replace(of.base("a"), name="b"),
    lambda of: replace(of.derived("a"), made=[1]),
    lambda of: setattr(of.base("a"), "name", "b"),
    lambda of: delattr(of.base("a"), "name"),
    lambda of: of.keywords(1),
    lambda of: of.keywords(first=1),
    lambda of: of.open(1.5) == "equal",
    lambda of: hash(of.open(1.5)),
    lambda of: of.itself(1) == of.itself(1),
    lambda of: of.mutable(1),
    lambda of: of.mutable(1) == of.mutable(1),
    lambda of: of.empty(),
    lambda of: of.empty() == of.empty(),
    lambda of: hash(of.empty()),
    lambda of: of.plain("a"),
    lambda of: of.plain("a") == of.plain("a"),
    lambda of: of.plain("a") == of.base("a"),
    lambda of: copy.copy(of.derived("abc")),
    lambda of: copy.deepcopy(of.base("a", found=[1])).found,
    lambda of: [[each.name for each in fields(one)] for one in of.classes],
    lambda of: [one.__match_args__ for one in of.classes],
    lambda of: [list(inspect.signature(one).parameters) for one in of.classes],
    lambda of: [[each.kind for each in inspect.signature(one).parameters.values()] for one in of.classes],
)


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_it_is_the_standard_librarys(number: int) -> None:
    """The same values, texts, hashes and exceptions, whichever method is used first."""
    expected, found = (outcome(CALLS[number], each) for each in (Library(dataclass), Library(lazy_dataclass.dataclass)))

    assert repr(expected) == repr(found)


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Pickled:
    """A value that other processes get."""

    name: str
    inner: Any = None


def test_a_value_is_pickled() -> None:
    """As values of other processes are; a value that refers to itself has a text."""
    value = Pickled("a", Pickled("b"))
    loop: list[Any] = []
    loop.append(Pickled("c", loop))

    assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 - our own bytes
    assert repr(loop[0]) == "Pickled(name='c', inner=[...])"
    with pytest.raises(FrozenInstanceError):
        value.name = "b"  # type: ignore[misc]


def test_nothing_is_compiled_before_it_is_used() -> None:
    """The method of the library is there after the first call, and compiled once."""

    @lazy_dataclass.dataclass(frozen=True)
    class One:
        value: int

    before = One.__init__
    One(1)
    after = One.__init__
    One(2)

    assert before is not after
    assert after is One.__init__
    assert dataclasses.is_dataclass(One)
