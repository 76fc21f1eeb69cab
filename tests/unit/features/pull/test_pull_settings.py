"""`pull` in documents: what is refused and where, which schedule a plan has, and how it is compared and converted."""

from __future__ import annotations

import json

import pytest

from lakegate.contract.contract_model import labels_of
from lakegate.contract.delivery_policy import Pull
from lakegate.contract.documents.read_document import parse
from lakegate.diff.compared_versions import ContractVersion
from lakegate.diff.metadata_changes import compare_settings
from lakegate.features.convert.odcs_export import odcs
from lakegate.lints.linter import examine
from lakegate.rules.compile_plan import compile_plan

SOURCE = "https://example.com/a.csv"


def text(*pulls: object, levels: str = "{}") -> bytes:
    """A contract of one dataset for each pull."""
    models = {
        f"m{number}": {"fields": {"n": {"type": "long"}}, "config": {"lakegate": {"pull": each}}}
        for number, each in enumerate(pulls)
    }
    head = {"dataContractSpecification": "1.2.1", "id": "x", "info": {"title": "t", "version": "1.0.0"}}
    return json.dumps({**head, "models": models, "servicelevels": json.loads(levels)}).encode()


def errors(*pulls: object, levels: str = "{}") -> list[tuple[str, str]]:
    return [(each.path.partition("lakegate.")[2], each.message) for each in examine(text(*pulls, levels=levels)).errors]


@pytest.mark.parametrize(
    ("pull", "path", "message"),
    [
        ({}, "pull", "`pull` takes a mapping with `source`."),
        ("hourly", "pull", "`pull` takes a mapping with `source`."),
        ({"schedule": "rate(1 hour)"}, "pull", "`pull` takes a mapping with `source`."),
        ({"source": SOURCE, "from": "x"}, "pull.from", "`pull` takes no key `from`, only"),
        ({"source": "ftp://example.com/a.csv"}, "pull.source", "`sftp://HOST/PATH`"),
        ({"source": "sftp://example.com/a.csv"}, "pull", "with a source over SFTP a `secret`"),
        ({"source": "sftp://user@example.com/a.csv", "secret": "x"}, "pull.source", "without user and password"),
        ({"source": "sftp://example.com/a?b", "secret": "x"}, "pull.source", "`sftp://HOST/PATH`"),
        ({"source": "https://user:secret@example.com/a.csv"}, "pull.source", "without user and password"),
        ({"source": "https://user@example.com/a.csv"}, "pull.source", "without user and password"),
        ({"source": "https://example.com"}, "pull.source", "`https://HOST/PATH`"),
        ({"source": "http://example.com/a"}, "pull.source", "`https://HOST/PATH`"),
        ({"source": "https://example.com/a b"}, "pull.source", "in ASCII"),
        ({"source": "https://example.com/a#b"}, "pull.source", "`https://HOST/PATH`"),
        ({"source": "https://[::1]/a"}, "pull.source", "`https://HOST/PATH`"),
        ({"source": "s3://partner"}, "pull.source", "`s3://BUCKET/KEY`"),
        ({"source": "iceberg://sales/orders?branch=main"}, "pull.source", "or what is staged for main, `?wap=*`"),
        ({"source": "iceberg://sales/orders?wap=run-1"}, "pull.source", "or what is staged for main, `?wap=*`"),
        ({"source": "iceberg://sales/orders?wap=*", "rows": "new"}, "pull.rows", "`all` or `added`"),
        ({"source": SOURCE, "schedule": "hourly"}, "pull.schedule", "`rate(1 hour)`"),
        ({"source": SOURCE, "schedule": "rate(1 hour)", "secret": "../x"}, "pull.secret", "the name of a secret"),
    ],
)
def test_a_pull_that_cannot_be_used_is_located(pull: object, path: str, message: str) -> None:
    """With what is possible at that place."""
    ((where, words),) = errors(pull)

    assert where == path
    assert message in words


def test_each_dataset_needs_a_schedule_of_its_own() -> None:
    """Only the place without one is named."""
    found = errors({"source": SOURCE, "schedule": "rate(1 day)"}, {"source": SOURCE})

    assert [(path, "`m1`" in words) for path, words in found] == [("pull", True)]


@pytest.mark.parametrize("pull", [None, {"source": SOURCE, "schedule": "rate(1 day)"}])
def test_a_pull_may_be_left_out(pull: object) -> None:
    """Deliveries are brought then."""
    (dataset,) = examine(text(pull)).contract.datasets

    assert (errors(pull), dataset.policy.pull) == ([], Pull(SOURCE, "rate(1 day)") if pull else None)


@pytest.mark.parametrize(("given", "planned"), [("rate(2 days)", "rate(2 days)"), ("", "rate(90 minutes)")])
def test_the_plan_has_the_schedule(given: str, planned: str) -> None:
    """The contract's own, else its frequency."""
    pull = {"source": SOURCE} | ({"schedule": given} if given else {})
    contract = examine(text(pull, levels='{"frequency": {"interval": "90m"}}')).contract

    assert compile_plan(contract, contract.datasets[0]).policy.pull == Pull(SOURCE, planned)
    assert ("pull", "m0") in labels_of(contract)


def test_a_changed_pull_is_a_change_of_the_policy() -> None:
    """No consumer is concerned: it is told what was, and what is."""
    old, new = (
        examine(text({"source": SOURCE, "schedule": each})).contract.datasets[0]
        for each in ("rate(1 day)", "rate(2 days)")
    )
    (change,) = compare_settings(old, new)

    assert (change.path, change.kind) == ("m0.lakegate.pull", "policy-changed")
    assert change.after == '{"source": "https://example.com/a.csv", "schedule": "rate(2 days)"}'


def test_a_pull_is_kept_by_a_conversion() -> None:
    """ODCS has it in the same extension."""
    pull = {"source": SOURCE, "schedule": "rate(1 day)"}

    found = odcs(ContractVersion(examine(text(pull)).contract, parse(text(pull))))
    again = examine(found.text.encode()).contract

    assert [each.policy.pull for each in again.datasets] == [Pull(SOURCE, "rate(1 day)")]


@pytest.mark.parametrize(
    ("frequency", "schedule"),
    [
        ({"cron": "0 6 * * *"}, "cron(0 6 * * ? *)"),
        ({"interval": "1h", "cron": "0 6 * * *"}, "rate(60 minutes)"),
        ({"cron": "* * * * *"}, ""),
        ({"cron": "at dawn"}, ""),
    ],
)
def test_a_frequency_in_cron_is_a_schedule(frequency: dict[str, str], schedule: str) -> None:
    """If pulls can follow it; otherwise nothing says how often data is fetched, which is an error."""
    levels = json.dumps({"frequency": {"type": "batch", **frequency}})
    examined = examine(text({"source": SOURCE}, levels=levels))
    assert examined.contract is not None
    pull = compile_plan(examined.contract, examined.contract.datasets[0]).policy.pull
    assert pull is not None

    assert pull.schedule == schedule
    assert bool(errors({"source": SOURCE}, levels=levels)) is not bool(schedule)
