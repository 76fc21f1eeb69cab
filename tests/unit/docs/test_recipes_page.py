"""Each recipe of docs/recipes.md lints clean, and judges its rows as the page says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import lakegate
from lakegate.base.extension_points import ROOT
from lakegate.verdict.verdict import Verdict

PAGE = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
RECIPE = re.compile(r"^### [0-9]+\. (?P<title>.+)$\n(?P<body>(?s:.*?))(?=^##|\Z)", re.MULTILINE)
SENTENCE = re.compile(r"^`[^`]+` accepts .*$", re.MULTILINE)
CLAUSE = re.compile(
    r"(?:with `(?P<header>[^`]+)` it )?(?P<verb>accepts|rejects|warns of) (?P<rows>(?:(?:`[^`]*`| \u00d7 [0-9]+|, )+))"
)
ROW = re.compile(r"`([^`]*)`(?: \u00d7 ([0-9]+))?")
OTHERS = re.compile(r"`(\w+)` has ((?:`\w+`(?: and )?)+)")
VERDICTS = {"accepts": Verdict.ACCEPTED, "rejects": Verdict.REJECTED, "warns of": Verdict.ACCEPTED_WITH_WARNINGS}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe: the lines of a document, and files with their verdicts."""

    title: str
    lines: dict[str, Any]
    files: tuple[tuple[str, str, Verdict], ...]
    """Header, rows and verdict."""
    references: dict[str, list[str]]


def recipes() -> list[Recipe]:
    """The recipes of the page."""
    return [_recipe(each["title"], each["body"]) for each in RECIPE.finditer(PAGE)]


def _recipe(title: str, body: str) -> Recipe:
    (block,) = re.findall(r"```yaml\n(.*?)```", body, re.DOTALL)
    (sentence,) = SENTENCE.findall(body)
    header = sentence.split("`")[1]
    files = tuple(
        (each["header"] or header, _rows(each["rows"]), VERDICTS[each["verb"]]) for each in CLAUSE.finditer(sentence)
    )
    references = {name: re.findall(r"`(\w+)`", values) for name, values in OTHERS.findall(body)}
    return Recipe(title, yaml.safe_load(block), files, references)


def _rows(text: str) -> str:
    today = datetime.now(UTC).date().isoformat()
    return "".join(f"{row}\n" * int(times or 1) for row, times in ROW.findall(text)).replace("TODAY", today)


def document(lines: dict[str, Any]) -> str:
    """The lines as a whole document."""
    root = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "shop", "version": "1.0.0", "status": "active"}
    own = {key: lines[key] for key in ("schema", "slaProperties") if key in lines}
    table = {"name": "orders", "logicalType": "object"} | {key: each for key, each in lines.items() if key not in own}
    return yaml.safe_dump({**root, "schema": [table], **own}, allow_unicode=True)


@pytest.mark.parametrize("recipe", recipes(), ids=lambda each: each.title)
def test_a_recipe_judges_its_rows_as_the_page_says(recipe: Recipe, tmp_path: Path) -> None:
    """It is valid without a warning, and its rows have the verdicts of the page."""
    contract = tmp_path / "contract.yaml"
    contract.write_text(document(recipe.lines), encoding="utf-8")
    found = lakegate.lint(contract)
    references = []
    for name, values in recipe.references.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["id", *values, ""]))
        references.append(f"{name}={tmp_path / f'{name}.csv'}")
    dataset = recipe.lines["schema"][0]["name"] if "schema" in recipe.lines else None
    verdicts = []
    for at, (header, rows, _) in enumerate(recipe.files):
        data = tmp_path / f"data{at}.csv"
        data.write_text(f"{header}\n{rows}", encoding="utf-8")
        verdicts.append(lakegate.check(contract, data, dataset=dataset, references=references).verdict)

    assert (found.errors, found.warnings) == ((), ())
    assert verdicts == [verdict for *_, verdict in recipe.files]
    assert {Verdict.ACCEPTED} < set(verdicts)


def test_the_page_has_the_recipes_that_people_ask_for_first() -> None:
    """At least 25, numbered in their order; the document around them is valid with the lines of one of them."""
    numbers = [int(each) for each in re.findall(r"^### ([0-9]+)\.", PAGE, re.MULTILINE)]

    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 25
