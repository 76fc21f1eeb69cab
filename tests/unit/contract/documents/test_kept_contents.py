"""The contents of a document except its datasets are kept: servers, deprecation, and all other keys as written."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lakegate.contract.contract_model import About, Contract, Deprecation, Origin, labels_of
from lakegate.lints.linter import examine, read

ODCS = b"""\
apiVersion: v3.1.0
kind: DataContract
id: x
version: 1.0.0
status: deprecated
deprecation:
  announced: "2026-01-03"
  sunset_date: 2026-02-03
  replacement: sales-customers-v4
  migration_guide: https://wiki.example.com/migrate
  reason: Replaced.
description: {purpose: For reports., usage: Count., limitations: None.}
team: {name: shop, members: [{username: anna}]}
price: {priceAmount: 9.95, priceCurrency: EUR, priceUnit: GB}
roles: [{role: reader}]
support: [{channel: chat, url: "https://chat.example.com"}]
tags: [a, b]
servers: [{server: prod, type: s3, location: "s3://x/", format: csv}]
schema: [{name: d, properties: [{name: n, logicalType: date, customProperties: [{property: pii, value: true}]}]}]
"""


def test_all_contents_of_a_document_are_kept() -> None:
    """Descriptions, tags, servers, the block of ADR-0029, and uninterpreted sections."""
    contract = read(ODCS)
    about = contract.about

    assert (about.owner, about.purpose, about.usage, about.limitations) == ("shop", "For reports.", "Count.", "None.")
    assert about.tags == ("a", "b")
    assert [(server.name, server.type, dict(server.settings)) for server in about.servers] == [
        ("prod", "s3", {"location": "s3://x/", "format": "csv"})
    ]
    assert about.deprecation == Deprecation(
        origin=Origin("$.deprecation", 6),
        announced="2026-01-03",
        sunset_date="2026-02-03",
        replacement="sales-customers-v4",
        migration_guide="https://wiki.example.com/migrate",
        reason="Replaced.",
    )
    assert {"description", "team", "price", "roles", "support"} == set(about.sections)
    assert about.sections["price"] == {"priceAmount": Decimal("9.95"), "priceCurrency": "EUR", "priceUnit": "GB"}
    assert contract.datasets[0].fields[0].personal is True


def test_the_documents_own_lines_count_without_the_block() -> None:
    """The block that the standard does not know is judged apart, and moves no line."""
    problems = examine(ODCS.replace(b"logicalType: date", b"logicalType: dat")).errors

    assert (problems[0].code, problems[0].line) == ("not-allowed", 19)


def test_a_document_without_a_root_mapping_is_whole_without_any_key() -> None:
    """Leaving a key out of what has none changes nothing."""
    problems = examine(b"[apiVersion, deprecation]").errors

    assert [problem.code for problem in problems] == ["unknown-format"]


def test_dcm_has_owner_and_agreements() -> None:
    """The group owns the contract; purpose and limitations are in the agreements."""
    text = b"""\
specVersion: 0.1.3
id: x-p-1.0.0
name: x
kind: DataContract
version: 1.0.0
ownerGroup: g
dataSharingAgreements: {purpose: p, intendedUsage: u, limitations: l}
producer: {name: p, group: g}
access: {eventType: push, protocol: HTTP, location: /, accessConfiguration: {}}
dataset: {name: d, schema: [{name: n, dataType: number}]}
pricing: {priceAmount: 1, priceCurrency: USD, priceUnit: MB}
"""
    about = read(text).about

    assert (about.owner, about.purpose, about.usage, about.limitations) == ("g", "p", "u", "l")
    assert {"ownerGroup", "producer", "access", "dataSharingAgreements", "pricing"} == set(about.sections)
    assert read(text.replace(b"ownerGroup: g\n", b"")).about.owner == "p"


@pytest.mark.parametrize(
    ("about", "labels"),
    [
        (About(), ()),
        (
            About(owner="sales", tags=("eu", "", "eu"), sections={"domain": "trade"}),
            (("owner", "sales"), ("domain", "trade"), ("tag", "eu")),
        ),
        (
            About(sections={"producer": {"name": "INMET"}, "consumer": {"group": "x"}}),
            (("producer", "INMET"),),
        ),
        (About(sections={"producer": "INMET", "domain": 3}), (("producer", "INMET"),)),
    ],
)
def test_labels_are_what_the_document_declares(about: About, labels: tuple[tuple[str, str], ...]) -> None:
    """Each once; what is not a text is not a label."""
    assert labels_of(Contract("shop", "1.0.0", "ODCS v3.1.0", (), about=about)) == labels
