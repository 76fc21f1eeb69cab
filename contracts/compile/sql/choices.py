"""Functions that choose among values: CASE, COALESCE, NULLIF, IF, GREATEST, LEAST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from lakegate.contracts.compile.sql.operators import comparable
from lakegate.contracts.compile.sql.translator import NodeForm, Translator, form
from lakegate.contracts.compile.sql.typed_sql import SqlKind, TypedSql, combine, expect_kind, to_common_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.compile.sql.scope import Scope


def _case(t: Translator, node: exp.Case, scope: Scope) -> TypedSql:
    subject = node.args.get("this")
    conditions: list[TypedSql] = []
    for each in node.args["ifs"]:
        if subject is None:
            conditions.append(expect_kind(t.translate(each.this, scope), SqlKind.BOOLEAN))
        else:
            left, right = comparable(t, t.translate(subject, scope), t.translate(each.this, scope))
            conditions.append(combine(f"({left.text} = {right.text})", SqlKind.BOOLEAN, left, right))
    default = node.args.get("default")
    other = t.translate(default, scope) if default is not None else TypedSql("NULL", SqlKind.NULL)
    return _chosen(conditions, [t.translate(each.args["true"], scope) for each in node.args["ifs"]], other)


def _if(t: Translator, node: exp.If, scope: Scope) -> TypedSql:
    other = node.args.get("false")
    condition = expect_kind(t.translate(node.this, scope), SqlKind.BOOLEAN)
    default = t.translate(other, scope) if other is not None else TypedSql("NULL", SqlKind.NULL)
    return _chosen([condition], [t.translate(node.args["true"], scope)], default)


def _chosen(conditions: list[TypedSql], values: list[TypedSql], other: TypedSql) -> TypedSql:
    kind, (*same, default) = to_common_kind(*values, other)
    whens = " ".join(f"WHEN {one.text} THEN {two.text}" for one, two in zip(conditions, same, strict=True))
    return combine(f"(CASE {whens} ELSE {default.text} END)", kind, *conditions, *same, default)


def _coalesce(t: Translator, node: exp.Coalesce, scope: Scope) -> TypedSql:
    return _same_kind("coalesce", t.translate_all([node.this, *node.expressions], scope))


def _nullif(t: Translator, node: exp.Nullif, scope: Scope) -> TypedSql:
    left, right = t.translate(node.this, scope), t.translate(node.expression, scope)
    one, other = comparable(t, left, right)
    return combine(f"(CASE WHEN ({one.text} = {other.text}) THEN NULL ELSE {left.text} END)", left.kind, left, right)


def _extreme(name: str) -> Callable[[Translator, exp.Func, Scope], TypedSql]:
    def translate(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
        parts = t.translate_all([node.this, *node.expressions], scope)
        found = _same_kind(name, parts)
        if node.args.get("ignore_nulls") or len(parts) == 1:
            return found
        is_null = " OR ".join(f"({each.text} IS NULL)" for each in parts)
        return combine(f"(CASE WHEN ({is_null}) THEN NULL ELSE {found.text} END)", found.kind, found)

    return translate


def _same_kind(name: str, parts: list[TypedSql]) -> TypedSql:
    kind, same = to_common_kind(*parts)
    if len(same) == 1:
        return same[0]
    return combine(f"{name}({', '.join(each.text for each in same)})", kind, *same)


FORMS: dict[type, NodeForm] = {
    exp.Case: form(_case, "this", "ifs", "default"),
    exp.If: form(_if, "this", "true", "false"),
    exp.Coalesce: form(_coalesce, "this", "expressions"),
    exp.Nullif: form(_nullif, "this", "expression"),
    exp.Least: form(_extreme("least"), "this", "expressions", "ignore_nulls"),
    exp.Greatest: form(_extreme("greatest"), "this", "expressions", "ignore_nulls"),
}
