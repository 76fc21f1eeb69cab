"""Small files of a table are put together: every effect with every fault, beside who keeps it, erases, or does the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.features.tables import compact_table
from lakegate.features.tables.compact_table import ListedFile, groups
from lakegate.gate.effects import run
from tests.simulation.environment import LINE
from tests.simulation.stage import Fault
from tests.simulation.test_erased_tables import Cleared, begun, places
from tests.simulation.test_recalls import FAULTS, play
from tests.simulation.test_tables import Tabled


@pytest.fixture(autouse=True)
def _few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files are put together, and two of what was put together: the deliveries of a town are few."""
    for name, value in (("LEAST_FILES", 2), ("SMALL_PARTS", 3), ("MOST_PARTS", 3)):
        monkeypatch.setattr(compact_table, name, value)


def three() -> Tabled:
    """A town whose table shows three deliveries of two files; a fourth one will replace the second."""
    town = Tabled()
    play(town, town.keeps())
    return town


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("meanwhile", ["nothing", "act", "others", "compact", "merge", "publish"])
def test_a_compaction_changes_no_rows_whatever_happens_to_who_does_it(fault: Fault, meanwhile: str) -> None:
    """With any fault at any effect, before which deliveries leave or come, and the table is kept, or compacted by others."""

    def act_and_keep(town: Tabled) -> None:
        town.act()
        town.tries()

    def publish_and_keep(town: Tabled) -> None:
        town.publish()
        town.tries()

    happens = {
        "nothing": lambda _: None,
        "act": act_and_keep,
        "others": Tabled.tries,
        "compact": Tabled.compact,
        "merge": Tabled.merge,
        "publish": publish_and_keep,
    }[meanwhile]
    effects = play(three(), three().merges())
    assert effects >= len(("merge", "put"))
    for at in range(effects):
        town = three()
        play(town, town.merges(), at, fault, lambda town=town: happens(town))  # type: ignore[misc]
        town.merge()
        town.kept()
        if meanwhile != "act":
            town.act()
        town.kept()
        town.merge()
        town.kept()


def test_a_compaction_ends_once_few_files_are_left() -> None:
    town = three()
    first = run(town.merges(), town.env.dependencies.clock)
    again = run(town.merges(), town.env.dependencies.clock)

    assert (first.merged != [], again.merged) == (True, [])


@pytest.mark.parametrize("fault", [Fault.NONE, Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.UNANSWERED])
@pytest.mark.parametrize("meanwhile", ["nothing", "keep", "act", "both"])
def test_an_erasure_reaches_what_was_put_together(fault: Fault, meanwhile: str) -> None:
    """Before, or by who is at it: nothing of the person is left, and nobody reads a file that is not there."""

    def happens(town: Cleared) -> None:
        play(town, town.erases("1"))
        town.disturb(meanwhile)()

    effects = play(town := begun(), town.merges())
    for at in places(effects, fault, meanwhile):
        town = begun()
        play(town, town.merges(), at, fault, lambda town=town: happens(town))  # type: ignore[misc]
        town.tries()
        town.merge()
        town.act()
        town.merge()
        town.settled_without("1")


@pytest.mark.parametrize("fault", FAULTS)
def test_who_erases_is_not_hindered_by_a_compaction(fault: Fault) -> None:
    """At any effect of the command, or of who keeps the table after it."""
    effects = play(town := begun(), town.erases("1"))
    for at in places(effects, fault):
        town = begun()
        play(town, town.erases("1"), at, fault, town.merge)
        town.tries(0, Fault.NONE, town.merge)
        town.act()
        town.merge()
        town.settled_without("1")


def test_a_delivery_that_leaves_undoes_the_file_with_its_rows_and_nothing_is_listed_again() -> None:
    """So deliveries that are replaced each day do not undo all of it again and again."""
    town = three()
    town.merge()
    town.publish()
    kept = run(town.keeps(), town.env.dependencies.clock)
    town.holds()

    assert (kept.snapshots, kept.rebuilt, len(town.tables.rows(LINE))) == (1, [], 6)
    town.merge()
    assert len(town.tables.rows(LINE)) == 2


def test_a_turn_without_time_writes_nothing() -> None:
    town = three()
    gate = replace(town.env.dependencies, remaining=lambda: 100.0)
    compacted = run(compact_table.compact_table(gate, town.tables, LINE), gate.clock)

    assert (compacted.merged, town.tables.merged) == ([], {})


def test_a_dataset_without_a_table_is_passed_over() -> None:
    town = Tabled()

    assert run(town.merges(), town.env.dependencies.clock).merged == []


def test_a_compaction_gives_up_where_others_commit_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost but the work."""
    monkeypatch.setattr(compact_table, "TRIES", 1)
    town = three()

    def others() -> None:
        town.publish()
        town.kept()

    effects = play(town, town.merges(), 1, Fault.NONE, others)

    assert (effects, len(town.tables.rows(LINE)), len(town.tables.merged)) == (4, 6, 2)


def listed(*parts: int, size: int = 1) -> list[ListedFile]:
    return [ListedFile(f"f{number}", size, count) for number, count in enumerate(parts)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (listed(*[1] * 31), []),
        (listed(*[1] * 32), [32]),
        (listed(*[1] * 2000), [1024, 976]),
        (listed(*[40] * 24, *[1] * 31), []),
        (listed(40, *[1] * 40, 40), [40]),
        (listed(*[40] * 32), [25]),
        (listed(*[512] * 40), []),
        (listed(*[511] * 3), [2]),
        (listed(*[1] * 40, size=20 << 20), [12, 12, 12]),
        (listed(*[1] * 40, size=32 << 20), []),
    ],
)
def test_files_are_put_together_that_are_worth_it(
    monkeypatch: pytest.MonkeyPatch, files: list[ListedFile], expected: list[int]
) -> None:
    """Thirty-two at least, or as many as fit, in the order in which they came; what was put together, by itself."""
    monkeypatch.undo()

    assert [len(each) for each in groups(files)] == expected
