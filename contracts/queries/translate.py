"""The SQL of a rule as a query of a plan: parsed, said anew, and known to answer with one number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from contracts.queries import aggregates, arithmetic, casts, choices, functions, moments, operators
from contracts.queries.dialects import dialect_of
from contracts.queries.hazards import refuse_hazards
from contracts.queries.parse import parse
from contracts.queries.refusal import RefusedError, UntranslatedError, place_of
from contracts.queries.said import LONGEST_TEXT, Kind
from contracts.queries.scope import Names, Scope
from contracts.queries.select import ask
from contracts.queries.translator import Translator
from contracts.query import Query

if TYPE_CHECKING:
    from contracts.model import Contract, Dataset, Rule

FORMS = {
    form: said
    for each in (operators, arithmetic, choices, casts, moments, functions, aggregates)
    for form, said in each.FORMS.items()
}
"""Every expression that can be said: the allow-list."""
FUNCTIONS = sorted({name.lower() for form in FORMS if issubclass(form, exp.Func) for name in form.sql_names()})
"""The names of the functions among them."""


def translate(contract: Contract, dataset: Dataset, rule: Rule) -> tuple[Query, tuple[str, ...]]:
    """The query of a rule, and the fields of its own dataset that it names.

    Raises RefusedError for a query that nobody can use here, UntranslatedError for one that this version cannot say.
    """
    dialect = dialect_of(contract, rule)
    tree = parse(str(rule.arguments.get("query", "")), dialect)
    refuse_hazards(tree, FUNCTIONS)
    _judge_windows(tree)
    if not set(rule.fields) <= {field.name for field in dataset.fields}:
        raise UntranslatedError("it stands at a part of a value")
    names = Names(contract, dataset, rule.fields[0] if len(rule.fields) == 1 else None)
    translator = Translator(dialect, names, FORMS, ask)
    try:
        asked = translator.ask(tree, Scope(names, {}))
    except RecursionError:
        raise RefusedError("query-too-large", "The query has too many levels.") from None
    kinds = [kind for _, kind in asked.columns]
    if len(kinds) != 1 or not (kinds[0].numeric or kinds[0] is Kind.NULL):
        found = f"{len(kinds)} columns" if len(kinds) != 1 else kinds[0].value
        raise RefusedError(
            "query-not-a-number", f"The query answers with {found}: let it answer with one number.", place_of(tree)
        )
    if len(asked.text) > LONGEST_TEXT:
        raise RefusedError("query-too-large", "The query says too much: name its parts in a WITH.")
    if not names.relations():
        raise UntranslatedError("it reads no dataset")
    return Query(asked.text, tuple(names.texts), names.relations()), tuple(sorted(names.named))


def _judge_windows(tree: exp.Query) -> None:
    for window in tree.find_all(exp.Window):
        above = window.parent
        while above is not None and not isinstance(above, exp.Query | exp.AggFunc):
            above = above.parent
        if isinstance(above, exp.AggFunc):
            message = "An aggregate cannot hold a window function: compute that in an inner query."
            raise RefusedError("query-window-in-aggregate", message, place_of(window))
