"""The second guard, independent of the translation: it inspects Spark's analysed plan of a query before it runs.

The analysed plan is walked node by node. A leaf is one of the views registered for this query, the single row of a SELECT
without FROM, or a query of a WITH; every other node and every expression is of a class in a closed list. Views are not
inspected further: they are the delivery, which the job itself has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEW = "View"
LEAVES = frozenset({"OneRowRelation", "CTERelationRef"})

NODES = frozenset(
    (
        *(
            "Aggregate",
            "CTERelationDef",
            "CTERelationRef",
            "Distinct",
            "Except",
            "Filter",
            "GlobalLimit",
            "Intersect",
            "Join",
        ),
        *("LocalLimit", "OneRowRelation", "Project", "Sort", "SubqueryAlias", "Union", "Window", "WithCTE"),
    )
)

EXPRESSIONS = frozenset(
    (
        # names, constants, windows, queries inside
        *(
            "Alias",
            "AttributeReference",
            "Literal",
            "OuterReference",
            "Exists",
            "InSubquery",
            "ListQuery",
            "ScalarSubquery",
        ),
        *("SortOrder", "WindowExpression", "WindowSpecDefinition", "SpecifiedWindowFrame"),
        *("UnboundedPreceding$", "UnboundedFollowing$", "CurrentRow$"),
        # truths and choices
        *(
            "And",
            "Or",
            "Not",
            "EqualTo",
            "EqualNullSafe",
            "GreaterThan",
            "GreaterThanOrEqual",
            "LessThan",
            "LessThanOrEqual",
        ),
        *(
            "In",
            "IsNull",
            "IsNotNull",
            "CaseWhen",
            "Coalesce",
            "Least",
            "Greatest",
            "RaiseError",
        ),
        # numbers
        *(
            "Add",
            "Subtract",
            "Multiply",
            "Divide",
            "IntegralDivide",
            "Remainder",
            "UnaryMinus",
            "Abs",
            "Round",
            "Rint",
            "Pmod",
        ),
        *("Ceil", "Floor", "Sqrt", "Pow", "Cast"),
        # texts
        *(
            "Lower",
            "Upper",
            "StringTrim",
            "Length",
            "OctetLength",
            "Substring",
            "Left",
            "Right",
            "Concat",
            "StringReplace",
            "Like",
        ),
        *("StartsWith", "EndsWith", "Contains"),
        *(),
        # points in time
        *("UnixMicros", "MicrosToTimestamp", "DateDiff", "DateAdd", "DateSub", "TruncTimestamp", "MakeYMInterval"),
        *(
            "DatetimeSub",
            "TimestampAddYMInterval",
            "Year",
            "Quarter",
            "Month",
            "DayOfMonth",
            "DayOfYear",
            "DayOfWeek",
        ),
        *("WeekDay", "WeekOfYear", "Hour", "Minute", "Second", "Extract", "SecondWithFraction"),
        # aggregates and what is computed over windows
        *("AggregateExpression", "Count", "CountIf", "Sum", "Average", "Min", "Max", "Percentile", "PercentileDisc"),
        *("StddevSamp", "StddevPop", "VarianceSamp", "VariancePop", "Lag", "Lead", "RowNumber", "Rank", "DenseRank"),
    )
)

PARSED = frozenset(
    (
        *(
            "Aggregate",
            "Distinct",
            "Except",
            "Filter",
            "GlobalLimit",
            "Intersect",
            "Join",
            "LocalLimit",
            "OneRowRelation",
        ),
        *("Project", "Sort", "SubqueryAlias", "Union", "UnresolvedHaving", "UnresolvedRelation", "UnresolvedWith"),
    )
)
"""The nodes of a query that is only parsed: Spark would run a command while it analyses it."""
SUBQUERIES = frozenset({"Exists", "ListQuery", "ScalarSubquery"})
MAX_NODES = 20_000


def is_query(spark: SparkSession, text: str) -> bool:
    """Whether Spark's parser, which resolves no names, reads a text as a query: no command or table function."""
    todo = [spark._jsparkSession.sessionState().sqlParser().parsePlan(text)]  # noqa: SLF001 - Spark's own parser
    while todo:
        node = todo.pop()
        if node.getClass().getSimpleName() not in PARSED:
            return False
        todo += _items(node.children())
    return True


def unsafe(frame: DataFrame, views: set[str]) -> str | None:
    """The first class that is in no list, or the leaf that is not a view of the query; None if the query may run."""
    for number, (kind, node) in enumerate(nodes_of(frame._jdf.queryExecution().analyzed(), views)):  # noqa: SLF001 - Spark's own plan
        if number > MAX_NODES:
            return "too large"
        name = node.getClass().getSimpleName()
        if kind == "plan" and _is_known(node, name, views):
            continue
        if kind == "plan" or name not in EXPRESSIONS:
            return str(name)
    return None


def _is_known(node: Any, name: str, views: set[str]) -> bool:  # noqa: ANN401 - a node of the JVM
    if name == VIEW:
        return _view(node) in views
    return name in NODES and (name in LEAVES or not node.children().isEmpty())


def _view(node: Any) -> str:  # noqa: ANN401 - likewise
    """The name of a temporary view; empty for a view of a database."""
    identifier = node.desc().identifier()
    return "" if identifier.database().isDefined() or not node.isTempView() else str(identifier.table())


def nodes_of(plan: Any, views: set[str]) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - likewise
    """Every node of a plan and every expression in them, those of inner queries too; nothing below a registered view."""
    todo = [("plan", plan)]
    while todo:
        kind, node = todo.pop()
        yield kind, node
        if kind == "plan":
            if node.getClass().getSimpleName() == VIEW and _view(node) in views:
                continue
            todo += [("expression", item) for item in _items(node.expressions())]
            todo += [("plan", item) for item in _items(node.children())]
        else:
            todo += [("expression", item) for item in _items(node.children())]
            if node.getClass().getSimpleName() in SUBQUERIES:
                todo.append(("plan", node.plan()))


def _items(sequence: Any) -> Iterator[Any]:  # noqa: ANN401 - likewise
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()
