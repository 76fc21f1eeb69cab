"""The tables of docs/types.md, docs/rules.md and docs/vocabularies.md, made from the code and from the cases.

`python -m tests.reference.tables` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from lakegate.contract.documents import dcm, dcs, odcs_fields
from lakegate.contract.logical_types import GRAMMARS
from lakegate.contract.physical_types import PHYSICAL
from lakegate.features.great_expectations.expectations import EXPECTATIONS
from lakegate.features.soda.soda_checks import METRICS
from lakegate.plan.check import Check, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import All, Not, Predicate, Present, together
from lakegate.rules.rule_kinds import RULES
from tests.reference import vocabularies
from tests.reference.cases import Case, cases_of_parts, good_cases

DOCS = Path(__file__).parents[2] / "docs"
KEYS = "keys without a null"
OVER = {
    **dict.fromkeys((Metric.FAILING_ROWS, Metric.ROW_COUNT), ""),
    **dict.fromkeys((Metric.DUPLICATE_ROWS, Metric.DUPLICATE_KEYS), KEYS),
    **dict.fromkeys((Metric.COLUMN_COUNT, Metric.COLUMNS), "the header"),
    Metric.DELAY: "rows where both moments are there",
    Metric.ANSWER: "what the query reads",
    Metric.UNMATCHED_ROWS: "rows without a null in the key",
}
"""What the numbers of a metric are taken over, where that is not every value; an empty text: all rows."""


def types_table() -> str:
    """Type, grammar in words, pattern, and the type it is cast to."""
    rows = [
        (
            f"`{logical.value}`",
            grammar.words,
            f"`{grammar.pattern.replace('|', '¦')}`" if grammar.pattern else "",
            grammar.cast.value,
        )
        for logical, grammar in GRAMMARS.items()
    ]
    return table(("type", "a value is", "pattern of the whole text (¦ stands for the bar)", "cast to"), rows)


def words_table() -> str:
    """Each type, and the words of each format that mean it; then the words for values with parts."""
    columns = (odcs_fields.TYPES, PHYSICAL, dcs.TYPES, dcm.TYPES)
    rows = [
        (f"`{each.value}`", *(_quoted(word for word in words if words[word] is each) for words in columns))
        for each in GRAMMARS
    ]
    with_parts = tuple(_quoted(words) for words in (odcs_fields.NESTED, (), dcs.NESTED, dcm.NESTED))
    null = ("nothing but null", "", "", f"`{dcs.NULL}`", "")
    head = ("type", "ODCS `logicalType`", "ODCS `physicalType`", "DCS `type`", "DCM `dataType`")
    return table(head, [*rows, ("values with parts", *with_parts), null])


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in words)


def rules_table() -> str:
    """Kind, what is measured, the predicate of a row, and what the number is taken over."""
    return _grouped({kind: _described(_of_kind(kind)) for kind in RULES if kind != "custom"})


def expectations_table() -> str:
    """The same of each expectation."""
    return _grouped({call: _described(_of_call(call)) for call in EXPECTATIONS})


def soda_table() -> str:
    """The same of each check of Soda."""
    return _grouped({name: _described(_of_call(name)) for name in (*METRICS, "schema")})


def _grouped(described: dict[str, tuple[str, str, str]]) -> str:
    """A table in which rules that are measured alike share a row."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for name, description in described.items():
        alike.setdefault(description, []).append(name)
    return table(_COLUMNS, [(_quoted(names), *description) for description, names in alike.items()])


def write() -> None:
    """Put the tables into their documents, between their marks."""
    for name, table in TABLES.items():
        path = DOCS / name.partition("#")[0]
        text = path.read_text()
        mark = f"<!-- {name} -->"
        path.write_text(text.replace(mark + between(text, name), f"{mark}\n{table}\n"))


def between(text: str, name: str) -> str:
    """The part of a document that a table's marks enclose."""
    return text.partition(f"<!-- {name} -->")[2].partition("<!-- end -->")[0]


_COLUMNS = ("rule", "measures", "a row must be", "taken over")


def _of_kind(kind: str) -> list[Case]:
    return [case for case in (*good_cases(), *cases_of_parts()) if case.kind == kind]


def _of_call(call: str) -> list[Case]:
    """The cases of a call: of an expectation by its name, of a check of Soda by what it begins with."""
    calls = ((case, str(case.contract.datasets[0].rules[0].arguments.get("call"))) for case in good_cases())
    return [case for case, written in calls if written.partition("(")[0].split(" ")[0] == call]


def _described(cases: Iterable[Case]) -> tuple[str, str, str]:
    checks = [check for case in cases for check in case.plan.checks]
    measured = [check for check in checks if check.skip is None]
    if not measured:
        return "named only", "", checks[0].skip or ""
    return (
        _listed(_measure(check) for check in measured),
        _listed(_shape(check.accept.predicate) for check in measured if check.accept.predicate),
        _listed(map(_over, measured)),
    )


def _measure(check: Check) -> str:
    """The metric with its unit, unless that is the usual one."""
    words = check.metric.value.replace("_", " ")
    return words if check.unit in {Unit.VALUE, Unit.ROWS} else f"{words} ({check.unit.value})"


def _over(check: Check) -> str:
    if check.row_filter is None:
        return OVER.get(check.metric, "non-null values")
    if check.row_filter == together(*map(Present, check.fields)):
        return "with a share: non-null values"
    return "rows with a part of the key; nulls are compared" if check.nulls_alike else "rows of its condition"


def _shape(predicate: Predicate) -> str:
    match predicate:
        case Not(All((_, Not(inner)))):
            return _shape(inner)
        case Not(All()):
            return "any condition"
        case Not(inner):
            return f"not {_shape(inner)}"
        case All():
            return "all conditions"
        case _:
            return predicate.kind.replace("_", " ")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(filter(None, dict.fromkeys(words)))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES = {
    "types.md#types": types_table(),
    "types.md#words": words_table(),
    "rules.md#rules": rules_table(),
    "rules.md#expectations": expectations_table(),
    "rules.md#soda": soda_table(),
    **{f"vocabularies.md#{name}": vocabularies.table(name) for name in vocabularies.VOCABULARIES},
}

if __name__ == "__main__":
    write()
