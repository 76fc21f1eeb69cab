"""Which key belongs to which contract: by whole segments, the longest prefix first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lakegate.contracts.lake.routes import MAX_DEPTH, Route, candidates, covering

segments = st.text(st.characters(codec="utf-8", exclude_characters="/"), max_size=4)
keys = st.lists(segments, min_size=1, max_size=40).map("/".join)


def route(prefix: str, contract: str = "orders") -> Route:
    return Route("landing", prefix, contract, "lines", 2, "2.1.0", "active", "d" * 64)


def test_candidates_are_the_folders_of_the_key_longest_first() -> None:
    """The key's own name is no prefix."""
    assert candidates("a/b/c.csv") == ("a/b/", "a/")
    assert candidates("c.csv") == ()


def test_the_line_names_folder_and_chain() -> None:
    """A new major is a new line beside the old one."""
    assert route("a/").line == "orders/lines_v2"


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
