"""Forms of choices between values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from contracts.queries.operators import comparable
from contracts.queries.refusal import UntranslatedError
from contracts.queries.said import Kind, Said, made, of_one_kind, wanted
from contracts.queries.translator import Form, Translator, form

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.queries.scope import Scope


def _case(t: Translator, node: exp.Case, scope: Scope) -> Said:
    subject = node.args.get("this")
    conditions: list[Said] = []
    for each in node.args["ifs"]:
        if subject is None:
            conditions.append(wanted(t.say(each.this, scope), Kind.BOOLEAN))
        else:
            left, right = comparable(t, t.say(subject, scope), t.say(each.this, scope))
            conditions.append(made(f"({left.text} = {right.text})", Kind.BOOLEAN, left, right))
    default = node.args.get("default")
    other = t.say(default, scope) if default is not None else Said("NULL", Kind.NULL)
    return _chosen(conditions, [t.say(each.args["true"], scope) for each in node.args["ifs"]], other)


def _if(t: Translator, node: exp.If, scope: Scope) -> Said:
    other = node.args.get("false")
    condition = wanted(t.say(node.this, scope), Kind.BOOLEAN)
    default = t.say(other, scope) if other is not None else Said("NULL", Kind.NULL)
    return _chosen([condition], [t.say(node.args["true"], scope)], default)


def _chosen(conditions: list[Said], values: list[Said], other: Said) -> Said:
    kind, (*same, default) = of_one_kind(*values, other)
    whens = " ".join(f"WHEN {one.text} THEN {two.text}" for one, two in zip(conditions, same, strict=True))
    return made(f"(CASE {whens} ELSE {default.text} END)", kind, *conditions, *same, default)


def _coalesce(t: Translator, node: exp.Coalesce, scope: Scope) -> Said:
    return _same_kind("coalesce", t.say_all([node.this, *node.expressions], scope))


def _nullif(t: Translator, node: exp.Nullif, scope: Scope) -> Said:
    left, right = t.say(node.this, scope), t.say(node.expression, scope)
    one, other = comparable(t, left, right)
    return made(f"(CASE WHEN ({one.text} = {other.text}) THEN NULL ELSE {left.text} END)", left.kind, left, right)


def _extreme(name: str) -> Callable[[Translator, exp.Func, Scope], Said]:
    def say(t: Translator, node: exp.Func, scope: Scope) -> Said:
        if not node.args.get("ignore_nulls"):
            raise UntranslatedError(f"{name.upper()} of a null is null in {t.dialect}")
        return _same_kind(name, t.say_all([node.this, *node.expressions], scope))

    return say


def _same_kind(name: str, parts: list[Said]) -> Said:
    kind, same = of_one_kind(*parts)
    if len(same) == 1:
        return same[0]
    return made(f"{name}({', '.join(each.text for each in same)})", kind, *same)


FORMS: dict[type, Form] = {
    exp.Case: form(_case, "this", "ifs", "default"),
    exp.If: form(_if, "this", "true", "false"),
    exp.Coalesce: form(_coalesce, "this", "expressions"),
    exp.Nullif: form(_nullif, "this", "expression"),
    exp.Least: form(_extreme("least"), "this", "expressions", "ignore_nulls"),
    exp.Greatest: form(_extreme("greatest"), "this", "expressions", "ignore_nulls"),
}
