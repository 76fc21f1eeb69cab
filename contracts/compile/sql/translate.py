"""Translate the SQL of a rule into a query of a plan that returns one number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from lakegate.contracts.compile.sql import aggregates, arithmetic, casts, choices, dialect_functions, moments, operators
from lakegate.contracts.compile.sql.dialects import dialect_of
from lakegate.contracts.compile.sql.hazards import refuse_hazards
from lakegate.contracts.compile.sql.names import QueryNames
from lakegate.contracts.compile.sql.parse import parse
from lakegate.contracts.compile.sql.refusal import RefusedError, UntranslatedError, place_of
from lakegate.contracts.compile.sql.scope import Scope
from lakegate.contracts.compile.sql.select import translate_query
from lakegate.contracts.compile.sql.translator import Translator
from lakegate.contracts.compile.sql.typed_sql import SqlKind
from lakegate.contracts.plan.query import Query
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from lakegate.contracts.model.contract import Contract, Dataset, Rule

FORMS = {
    form: sql
    for each in (operators, arithmetic, choices, casts, moments, dialect_functions, aggregates)
    for form, sql in each.FORMS.items()
}
"""All expressions that can be translated: the allow-list."""
FUNCTIONS = sorted({name.lower() for form in FORMS if issubclass(form, exp.Func) for name in form.sql_names()})
"""The names of the functions among them."""


def translate(contract: Contract, dataset: Dataset, rule: Rule) -> tuple[Query, tuple[str, ...]]:
    """The query of a rule, and the fields of the rule's dataset that it names. Of an answer, true is 1 and false is 0.

    Raises RefusedError if the query must not be executed, UntranslatedError if this version cannot translate it.
    """
    dialect = dialect_of(contract, rule)
    tree = parse(str(rule.arguments.get("query", "")), dialect)
    refuse_hazards(tree, FUNCTIONS)
    _check_windows(tree)
    if not set(rule.fields) <= {field.name for field in dataset.fields}:
        raise UntranslatedError("it stands at a part of a value")
    names = QueryNames(contract, dataset, rule.fields[0] if len(rule.fields) == 1 else None)
    translator = Translator(dialect, names, FORMS, translate_query)
    try:
        subquery = translator.translate_query(tree, Scope(names, {}))
    except RecursionError:
        raise RefusedError("query-too-large", "The query has too many levels.") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # the parser builds trees without parts that a node must have, or with others, from hostile texts
        raise UntranslatedError("a part of it has a form that is not known") from None
    kinds = [each.kind for each in subquery.columns]
    if kinds == [SqlKind.BOOLEAN]:
        alias = names.fresh()
        truth = f"CASE WHEN {alias}.k0 THEN 1L WHEN (NOT {alias}.k0) THEN 0L ELSE NULL END"
        text = f"SELECT ({truth}) AS k0 FROM ({subquery.text}) AS {alias}"  # noqa: S608 - generated names
        subquery, kinds = replace(subquery, text=text), [SqlKind.INTEGER]
    if len(kinds) != 1 or not (kinds[0].numeric or kinds[0] is SqlKind.NULL):
        found = counted(len(kinds), "column") if len(kinds) != 1 else kinds[0].value
        raise RefusedError(
            "query-not-a-number", f"The query answers with {found}: let it answer with one number.", place_of(tree)
        )
    if not names.relations():
        raise UntranslatedError("it reads no dataset")
    return Query(subquery.text, tuple(names.texts), names.relations()), tuple(sorted(names.named))


def _check_windows(tree: exp.Query) -> None:
    for window in tree.find_all(exp.Window):
        above = window.parent
        while above is not None and not isinstance(above, exp.Query | exp.AggFunc):
            above = above.parent
        if isinstance(above, exp.AggFunc):
            message = "An aggregate cannot hold a window function: compute that in an inner query."
            raise RefusedError("query-window-in-aggregate", message, place_of(window))
