"""Which key belongs to which contract: by whole segments, the longest prefix first."""

from __future__ import annotations

import random
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from lakegate.gate.registry.registry_rows import Route
from lakegate.gate.registry.routes import MAX_DEPTH, candidates, covering

segments = st.text(st.characters(codec="utf-8", exclude_characters="/"), max_size=4)
keys = st.lists(segments, min_size=1, max_size=40).map("/".join)


def route(prefix: str, contract: str = "orders") -> Route:
    return Route("landing", prefix, contract, "lines", 2, "2.1.0", "active", "d" * 64)


def test_candidates_are_the_folders_of_the_key_longest_first() -> None:
    """The key's own name is not a prefix."""
    assert candidates("a/b/c.csv") == ("a/b/", "a/")
    assert candidates("c.csv") == ()


def test_the_line_names_folder_and_chain() -> None:
    """A new major is a new line beside the old one."""
    assert route("a/").full_name == "orders/lines_v2"


def test_the_longest_prefix_wins() -> None:
    """A narrower contract inside a wider one has its own keys."""
    wide, narrow = route("a/"), route("a/b/", "details")

    assert narrow == covering("a/b/c.csv", (wide, narrow))
    assert wide == covering("a/c.csv", (wide, narrow))


def test_a_prefix_covers_whole_segments_only() -> None:
    """P18: `a/` covers neither `ab/x` nor `A/x` nor another spelling of the same letter."""
    for key in ("ab/x", "A/x", "x/a/y", "a", "\u0061\u0301/x"):
        assert covering(key, (route("a/"),)) is None


def test_nothing_is_normalised() -> None:
    """Dots and empty segments are names like any other."""
    assert candidates("a/../b/c") == ("a/../b/", "a/../", "a/")
    assert candidates("//c") == ("//", "/")


@given(keys)
def test_every_candidate_is_a_prefix_of_whole_segments_and_fits_one_batch(key: str) -> None:
    """Whatever the key, one batch of at most 100 finds every route that may cover it."""
    found = candidates(key)

    assert len(found) == min(key.count("/"), MAX_DEPTH)
    assert all(key.startswith(each) and each.endswith("/") for each in found)


@given(keys, keys)
def test_a_contract_never_matches_keys_outside_its_prefix(key: str, other: str) -> None:
    """P18: a route covers a key if and only if the key begins with its prefix."""
    prefix = other.rpartition("/")[0] + "/"
    covered = covering(key, (route(prefix),)) is not None

    assert (key.startswith(prefix) and prefix.count("/") <= MAX_DEPTH) == covered


PREFIXES = 10_000
NAMES = (
    "sales",
    "Sales",
    "sale",
    "sales-eu",
    "s\u00e1les",
    "\u212bngstr\u00f6m",
    "a",
    "ab",
    ".",
    "..",
    "",
    " ",
    "%2e",
    "sales%2F",
    "*",
    "?",
)


def near(rng: random.Random, segments: list[str]) -> list[str]:
    """Another prefix that differs as little as two owners' prefixes can: a letter, its case, its normal form, a segment."""
    changed = list(segments)
    place = rng.randrange(len(changed))
    change = rng.randrange(6)
    match change:
        case 0:
            changed[place] = changed[place].swapcase()
        case 1:
            changed[place] = unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKC", "NFKD"]), changed[place])
        case 2:
            changed[place] += rng.choice(["", "b", "/", " ", "\u0301", "*"]).replace("/", "")
        case 3:
            changed[place] = changed[place][:-1]
        case 4:
            changed.insert(place, rng.choice(NAMES))
        case _:
            del changed[place]
    return changed or ["x"]


def test_no_owners_route_matches_the_keys_of_another() -> None:
    """P18: of 10,000 pairs of near prefixes, a key of one is covered by the other's route only if that one contains it.

    The expectation compares lists of segments, and shares no code with the routes.
    """
    rng = random.Random(20261122)
    taken = 0
    for _ in range(PREFIXES):
        first = [rng.choice(NAMES) for _ in range(rng.randint(1, 4))]
        second = near(rng, first)
        key = [*second, *rng.choice([["day.csv"], [""], ["sales"], ["a", "b.csv"]])]
        contains = key[: len(first)] == first and len(key) > len(first)
        found = covering("/".join(key), (route("/".join(first) + "/"),))
        assert (found is not None) == contains, (first, key)
        taken += contains

    assert 0 < taken < PREFIXES / 2
