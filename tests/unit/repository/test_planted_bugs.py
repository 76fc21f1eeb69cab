"""The planted bugs of the simulation fit the code of today: a change of a name is seen before the long run is."""

from __future__ import annotations

from tests.simulation.planted import PLANTED, planted


def test_every_planted_bug_has_its_place() -> None:
    """Each `old` stands in the source of its `where`, and what takes its place can be compiled."""
    unfit = []
    for bug in PLANTED:
        try:
            with planted(bug):
                pass
        except (AssertionError, AttributeError, ImportError, SyntaxError) as error:
            unfit.append(f"{bug.name}: {error}")

    assert unfit == []
