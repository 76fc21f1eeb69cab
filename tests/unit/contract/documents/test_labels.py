"""The labels that a document declares."""

from __future__ import annotations

import pytest

from lakegate.contract.contract_model import About, Contract, labels_of


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
