"""P11: every pattern is answered as the reference does, and none is hung by a text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Origin, Rule
from lakegate.contract.delivery_policy import Policy
from lakegate.contract.file_formats import Csv
from lakegate.plan.result import Result
from lakegate.rules.check_builder import regex
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.reference.evaluator import measure
from tests.reference.sampling import sampled
from tests.security.patterns import patterns, texts

RULE = Rule("r", "pattern", Origin("$"))
MEBIBYTE = 2**20
EMAIL = r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$"
SLOW = ("(.*a){12}$", "^(a|aa)+$", EMAIL, r"^(\w+\s?)*$", "^(?!.*x.*y)(a|bc)*$")


def is_usable(pattern: str) -> bool:
    try:
        regex(RULE, pattern)
    except ContractError:
        return False
    return True


def as_csv(values: list[str]) -> bytes:
    text = io.StringIO("number,a\n")
    text.seek(0, io.SEEK_END)
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(enumerate(values))
    return text.getvalue().encode()


def failing(result: Result) -> dict[str, int | None]:
    return {each.check: each.accept and each.accept.failing for each in result.measurements}


@sampled(2, 100)
@given(st.lists(patterns.filter(is_usable), min_size=40, max_size=60), st.lists(texts, min_size=30, max_size=60))
def test_patterns_are_answered_as_by_the_reference(
    judge_files: Callable[..., Judged], queried: list[str], values: list[str]
) -> None:
    """Random patterns on random texts: as many rows fail as by the reference evaluator, also beside each other."""
    rules = [rule("pattern", "a", pattern=each) for each in [*queried, *SLOW]]
    plan = plan_of({"number": "integer", "a": "string"}, *rules, csv=Csv(multi_line=True), policy=Policy(samples=False))

    judged = judge_files(plan, as_csv(values))

    reference = measure(plan, ("number", "a"), [(str(at), value) for at, value in enumerate(values)])
    assert judged.result.malformed == ()
    assert failing(judged.result) == failing(reference)


def test_no_text_hangs_an_engine(judge_files: Callable[..., Judged]) -> None:
    """Values of nearly a mebibyte that would keep a backtracking engine busy, or end its stack, are answered at once."""
    attacks = ["a" * (MEBIBYTE - 100) + "!", "a@" + "a." * (MEBIBYTE // 2 - 100), "bc" * (MEBIBYTE // 2 - 100) + "!"]
    rules = [rule("pattern", "a", pattern=each) for each in SLOW]
    forms = [rule("format", "a", value=each) for each in ("email", "hostname", "ipv6", "uri")]
    plan = plan_of({"number": "integer", "a": "string"}, *rules, *forms, policy=Policy(samples=False))

    judged = judge_files(plan, as_csv(attacks))

    assert (judged.result.rows, judged.result.malformed) == (3, ())
    counted = [each.accept and each.accept.failing for each in judged.result.measurements][2:]
    assert counted == [3, 3, 3, 3, 3, 3, 3, 3, 3]
