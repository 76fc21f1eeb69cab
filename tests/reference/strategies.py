"""Values of every document that crosses a package boundary, drawn at random within the bounds of its schema."""

from __future__ import annotations

from hypothesis import strategies as st

from lakegate.contract.contract_model import Severity
from lakegate.contract.delivery_policy import Duplicates, FieldTreatment, Mode, OnReject, Policy
from lakegate.contract.file_formats import Csv
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import Check, HeaderRequirement, Interval, Quantile, QuantileMethod, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import (
    All,
    Compare,
    JsonForm,
    Length,
    Matches,
    MultipleOf,
    NoRepeats,
    Not,
    OneOf,
    Predicate,
    Present,
    Relation,
    Size,
    Typed,
    Within,
)
from lakegate.plan.request import Request, StagedPart
from lakegate.plan.result import (
    Columns,
    MalformedRecords,
    Measured,
    Measurement,
    Result,
    Sample,
    Shares,
    Unreadable,
    WrittenFile,
    WrittenObject,
)

HOSTILE = st.sampled_from(
    ["'", '"', "\\", "`", "${x}", "\\u0041", "\u202e", "%s", "--", "\t", "\n", "😀", "é", "e\u0301"]
)
"""Pieces of text that a careless compiler of literals trips over."""
texts = st.lists(
    HOSTILE | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4), max_size=6
).map("".join)
"""Any text that a file can hold: no surrogates, no NUL; quotes, backslashes, back-ticks and emoji more often than by chance."""
names = texts.filter(bool)
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=6)
numbers = decimals.map(lambda number: format(number, "f"))
counts = st.integers(0, 2**63 - 1)
shares = st.decimals(0, 1, places=4)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
uris = st.sampled_from(["s3://lake/", "file:///tmp/"]).flatmap(
    lambda start: st.text("abcXYZ019/=._-%", min_size=1, max_size=40).map(lambda end: start + end)
)
workloads = st.text("0123456789abcdef-", min_size=1, max_size=64)


def maybe(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.none() | strategy


def tuples(strategy: st.SearchStrategy, most: int = 3) -> st.SearchStrategy:
    return st.lists(strategy, max_size=most).map(tuple)


leaves = st.one_of(
    st.builds(Present, names),
    st.builds(Typed, names),
    st.builds(OneOf, names, st.lists(texts, min_size=1, max_size=4).map(tuple)),
    st.builds(Within, names, maybe(numbers), maybe(numbers), st.booleans(), st.booleans()),
    st.builds(Length, names, maybe(counts), maybe(counts)),
    st.builds(Matches, names, texts),
    st.builds(JsonForm, names, st.sampled_from(("true", '{"type": "object"}'))),
    st.builds(MultipleOf, names, numbers),
    st.builds(Size, names, maybe(counts), maybe(counts)),
    st.builds(NoRepeats, names),
    st.builds(Compare, names, st.sampled_from(Relation), names),
)
predicates: st.SearchStrategy[Predicate] = st.recursive(
    leaves,
    lambda inner: st.builds(Not, inner) | st.lists(inner, min_size=1, max_size=3).map(lambda each: All(tuple(each))),
    max_leaves=4,
)
intervals = st.builds(Interval, maybe(decimals), maybe(decimals), st.booleans(), st.booleans(), st.booleans())
tiers = st.builds(Tier, intervals, maybe(predicates))
headers = st.builds(HeaderRequirement, tuples(names), tuples(names), st.booleans(), st.booleans())
checks = st.builds(
    Check,
    id=names,
    rule=names,
    kind=names,
    fields=st.lists(names, max_size=3, unique=True).map(tuple),
    metric=st.sampled_from(Metric),
    unit=st.sampled_from(Unit),
    accept=tiers,
    tolerate=maybe(tiers),
    worst=st.sampled_from(Severity),
    wanted=texts,
    skip=maybe(names),
    row_filter=maybe(predicates),
    nulls_alike=st.booleans(),
    quantile=maybe(st.builds(Quantile, shares, st.sampled_from(QuantileMethod))),
    header=maybe(headers),
)
policies = st.builds(
    Policy,
    st.sampled_from(Mode),
    st.sampled_from(OnReject),
    shares,
    st.sampled_from(FieldTreatment),
    maybe(st.sampled_from(FieldTreatment)),
    st.booleans(),
    st.sampled_from(Duplicates),
    st.booleans(),
)
csvs = st.builds(
    Csv,
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["", '"', "'"]),
    st.booleans(),
    st.sampled_from(["utf-8", "us-ascii", "iso-8859-1"]),
    tuples(texts),
    st.booleans(),
)
plan_fields = st.builds(
    PlanField,
    names,
    st.integers(0, 99999).map(lambda number: f"c{number}"),
    st.sampled_from(LogicalType),
    maybe(texts),
    scale=st.integers(0, 38),
)
plans = st.builds(Plan, names, names, names, tuples(plan_fields), tuples(checks, 2), policies, csvs)
requests = st.builds(
    Request,
    workload=workloads,
    attempt=st.integers(1, 1000),
    plan_uri=uris,
    plan_digest=digests,
    source_version=names,
    parts=st.lists(st.builds(StagedPart, uris, counts, texts), min_size=1, max_size=3).map(tuple),
    judged_at=st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
    output_uri=uris,
    typed_files=st.booleans(),
)
answers = st.decimals(allow_nan=False, allow_infinity=False, places=6)
measured = st.builds(
    Measured,
    counts,
    maybe(counts),
    maybe(st.floats(allow_nan=False, allow_infinity=False)),
    maybe(answers),
    maybe(st.booleans()),
)
samples = st.builds(Sample, st.integers(1, 10**12), tuples(texts), st.integers(0, 9))
measurements = st.builds(Measurement, names, maybe(measured), maybe(measured), maybe(names), tuples(samples))
written = st.builds(WrittenObject, st.sampled_from(["file:///a/b", "s3://bucket/key"]), counts, digests)
moments = st.datetimes().map(lambda moment: f"{moment.isoformat(timespec='microseconds')}Z")
results = st.builds(
    Result,
    workload=workloads,
    attempt=st.integers(1, 1000),
    plan_digest=digests,
    source_version=names,
    rows=counts,
    rejected_rows=counts,
    unreadable=maybe(st.builds(Unreadable, st.sampled_from(["gzip", "no-header"]), names)),
    columns=maybe(st.builds(Columns, tuples(texts), tuples(texts), tuples(texts), st.booleans())),
    is_utf_8=st.booleans(),
    malformed=tuples(
        st.builds(
            MalformedRecords,
            st.sampled_from(["fields", "quotes", "encoding", "nul", "too_long"]),
            st.integers(1, 10**12),
            st.integers(1, 10**12),
        )
    ),
    measurements=tuples(measurements, 2),
    event_time=maybe(st.tuples(moments, moments)),
    shares=maybe(st.builds(Shares, tuples(written), tuples(written))),
    typed_files=tuples(st.builds(WrittenFile, uris, counts, digests, st.integers(1, 2**53 - 1))),
    engines=st.dictionaries(
        names.filter(lambda name: len(name) <= 64), texts.filter(lambda text: len(text) <= 128), max_size=2
    ),
    timings=st.dictionaries(names.filter(lambda name: len(name) <= 64), st.floats(0, 1e6, allow_nan=False), max_size=2),
    vcpu_seconds=maybe(st.floats(0, 1e9, allow_nan=False)),
)
