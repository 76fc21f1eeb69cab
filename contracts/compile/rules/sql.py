"""SQL rules: one query, one number, one operator. The SQL parser is loaded only if a contract contains SQL."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import refuse, skipped
from lakegate.contracts.compile.rules.odcs import OPERATORS, interval_of
from lakegate.contracts.errors import ContractError, Problem
from lakegate.contracts.model.contract import Comparison
from lakegate.contracts.model.literals import number_of
from lakegate.contracts.plan.check import Check, Tier, Unit
from lakegate.contracts.plan.metrics import Metric

if TYPE_CHECKING:
    from lakegate.contracts.model.contract import Contract, Dataset, Field, Rule

PERCENT_OF_WHAT = (
    "the answer of a query is compared as it is, and not as a share of the rows: let the query answer in percent "
    "(`SELECT 100.0 * … / count(*) FROM …`), and remove `unit`"
)


def sql(contract: Contract, dataset: Dataset, rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
    """The checks of a query, one for each operator; a harmless query that cannot be translated is skipped."""
    if rule.arguments.get("percent"):
        refuse(rule, "unit", PERCENT_OF_WHAT)
    from lakegate.contracts.compile.sql.refusal import RefusedError, UntranslatedError  # noqa: PLC0415 - a tenth of a second, for SQL alone
    from lakegate.contracts.compile.sql.translate import translate  # noqa: PLC0415 - likewise

    try:
        query, named = translate(contract, dataset, rule)
    except RefusedError as error:
        raise ContractError(
            (Problem(error.code, f"{rule.origin.path}.query", rule.origin.line, error.message),)
        ) from None
    except UntranslatedError as error:
        return (skipped(rule, fields, f"this SQL is not measured by this version: {error.reason}"),)
    own = "/".join((rule.id, *(field.name for field in fields)))
    return tuple(
        Check(
            id=own,
            rule=rule.id,
            kind=rule.kind,
            fields=named,
            metric=Metric.ANSWER,
            unit=Unit.VALUE,
            accept=Tier(interval),
            worst=rule.severity,
            wanted=f"an answer of {interval}",
            query=query,
        )
        for interval in [interval_of(replace(rule, comparison=each))[0] for each in _comparisons(rule)]
    )


def _comparisons(rule: Rule) -> list[Comparison | None]:
    """The comparisons of a query: its operators are siblings of `query`."""
    operators = {name: rule.arguments[name] for name in OPERATORS if name in rule.arguments}
    if rule.comparison is not None or not operators:
        return [rule.comparison]
    return [_comparison(name, operand) for name, operand in operators.items()]


def _comparison(name: str, operand: object) -> Comparison | None:
    operands = operand if isinstance(operand, list | tuple) else [operand]
    numbers = [Decimal(each) if isinstance(each, bool) else number_of(each) for each in operands]
    return Comparison(name, tuple(each for each in numbers if each is not None)) if None not in numbers else None
