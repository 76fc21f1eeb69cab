"""Keys beside the data: which ones are no deliveries, and that no other ones are ignored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.admission.ignored_keys import IGNORED, is_ignored
from lakegate.aws.settings import DEFAULTS

PAGE = (Path(__file__).parents[3] / "docs/producer.md").read_text()
LETTERS = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("key", "size"),
    [
        ("orders/", 0),
        ("orders/_SUCCESS", 0),
        ("orders/_temporary/0/_temporary/attempt_1/part-00000.csv", 10),
        ("orders/__magic_job-1/tasks/part-00000.csv", 10),
        ("orders/.spark-staging-1/part-00000.csv", 10),
        ("orders/.part-00000.csv.crc", 12),
        ("orders/day.csv._COPYING_", 9),
        ("orders_$folder$", 0),
        ("_started_1", 1),
    ],
)
def test_what_writers_leave_beside_their_data_is_ignored(key: str, size: int) -> None:
    """Uncommitted parts, marks of a job, checksums and markers of folders are no deliveries."""
    assert is_ignored(key, size, IGNORED)


@pytest.mark.parametrize(
    ("key", "size"),
    [
        ("orders/part-00000.csv", 0),
        ("orders/", 1),
        ("orders/_important/part.csv", 1),
        ("orders/_temporary.csv", 1),
        ("orders/my_temporary/part.csv", 1),
        ("orders/_SUCCESS.csv", 1),
        ("orders/_success", 1),
        (".hidden.csv", 1),
    ],
)
def test_other_names_are_deliveries(key: str, size: int) -> None:
    """A leading underscore or dot ignores nothing by itself, and an empty data file gets a verdict."""
    assert not is_ignored(key, size, IGNORED)


@given(st.lists(LETTERS, min_size=1, max_size=5), st.integers(0, 10))
def test_a_pattern_holds_in_every_folder(folders: list[str], size: int) -> None:
    """A key of plain words is a delivery; with an ignored folder anywhere in it, it is none."""
    key = "/".join((*folders, "part.csv"))

    assert not is_ignored(key, size, IGNORED)
    for at in range(len(folders) + 1):
        assert is_ignored("/".join((*folders[:at], "_temporary", *folders[at:], "part.csv")), size, IGNORED)


def test_no_pattern_ignores_nothing() -> None:
    """The pattern `-` stands for none, because no folder is called so by a writer."""
    assert not is_ignored("orders/_SUCCESS", 0, ("-",))


def test_the_page_and_the_template_name_every_pattern() -> None:
    """What is ignored is written where producers look, in the words of the code. A stack that names none has those of its
    release: a default of the template would stay when a later release has others.
    """
    template = (Path(__file__).parents[3] / "template.yaml").read_text()
    parameter = re.search(r'\n  IgnoredKeys:\n    Type: String\n    Default: "(.*)"\n', template)

    assert parameter is not None
    assert parameter[1] == ""
    assert DEFAULTS["ignored"] == ",".join(IGNORED)
    assert [pattern for pattern in IGNORED if f"`{pattern}`" not in PAGE] == []
