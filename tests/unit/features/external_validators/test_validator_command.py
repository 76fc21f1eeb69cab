"""`lakegate validator`: register, list and remove services, and publish a contract whose rules they measure."""

from __future__ import annotations

import pytest

from lakegate.base.errors import InputError
from lakegate.features.external_validators.registered_validators import refuse_host, service_of
from tests.unit.cli.conftest import Lakegate

GX = {"name": "gx", "url": "https://gx.example.com", "technologies": ["GreatExpectations"], "secret": "gx"}
ADD = ("validator", "add", "gx", "https://gx.example.com/", "--technology", "GreatExpectations", "--secret", "gx")
RULES = (
    "    quality:\n"
    "      - {type: custom, engine: great-expectations, implementation: {expectation_type: expect_a, kwargs: {}}}\n"
    "    properties:\n"
)


def test_validators_are_registered_listed_and_removed(lakegate: Lakegate) -> None:
    """In words and as JSON; each act is a record of the ledger with who did it."""
    nobody = lakegate.ok("validator", "list")
    first = lakegate.ok(*ADD)
    again = lakegate.json(*ADD)
    signed = lakegate.json("validator", "add", "soda", "https://soda.example.com", "-t", "Soda", "-t", "SodaCL")
    listed, found = lakegate.ok("validator", "list"), lakegate.json("validator", "list")
    removed = lakegate.ok("validator", "remove", "soda")
    gone = lakegate.json("validator", "remove", "gx")
    records = lakegate.json("log", "_contracts/_validator:gx")["blocks"]

    assert nobody == "No validator is registered: rules that the gate does not measure are skipped.\n"
    assert first == (
        "gx answers rules of GreatExpectations.\n  Publish contracts to have their rules measured by it.\n"
    )
    assert (again, found) == (GX, {"validators": [GX, signed]})
    assert listed == (
        "gx: GreatExpectations at https://gx.example.com, secret gx\nsoda: Soda, SodaCL at https://soda.example.com, SigV4\n"
    )
    assert (removed, gone) == ("soda is removed.\n", {"removed": "gx"})
    assert [(each["kind"], each["content"]["status"]) for each in records] == [
        ("publication", "retired"),
        ("publication", "active"),
    ]
    assert lakegate.json("validator", "list") == {"validators": []}


def test_what_cannot_be_registered_is_refused(lakegate: Lakegate) -> None:
    """The error states the form, and nothing is registered."""
    for words in (
        ("gx", "http://gx.example.com", "-t", "GX"),
        ("GX", "https://gx.example.com", "-t", "GX"),
        ("gx", "https://gx.example.com", "-t", ""),
    ):
        refused = lakegate("validator", "add", *words)
        assert (refused.exit_code, refused.stdout) != (0, "")
        assert refused.exception is not None

    assert "no validator gx is registered" in str(lakegate("validator", "remove", "gx").exception)
    assert lakegate.json("validator", "list") == {"validators": []}


def test_a_host_that_the_stack_does_not_ask_is_refused(lakegate: Lakegate) -> None:
    """At once, with the parameter that lacks it; hosts are compared in any case and without their port."""
    for url in ("https://other.example.com", "https://gx.example.com.evil.example", "https://example.com"):
        refused = lakegate("validator", "add", "gx", url, "-t", "GX")
        assert isinstance(refused.exception, InputError)
        assert "in its parameter ValidatorHosts (it has gx.example.com,soda.example.com)" in str(refused.exception)
    with pytest.raises(InputError, match="ValidatorHosts \\(it is empty\\)"):
        refuse_host(service_of("gx", "https://gx.example.com", ["GX"]), "")

    assert lakegate.json("validator", "list") == {"validators": []}
    assert lakegate.ok("validator", "add", "gx", "https://GX.example.com:8443/api", "-t", "GX")


def test_a_contract_is_published_with_rules_that_a_validator_measures(lakegate: Lakegate) -> None:
    """Refused before a validator is registered; then confirmed, because it gets each delivery, and bound in the plan."""
    contract = lakegate.contract(**{"    properties:\n": RULES})
    before = lakegate("publish", contract)
    lakegate.ok(*ADD)
    asked = lakegate("publish", contract)
    dry = lakegate.json("publish", contract, "--dry-run")
    lakegate.ok("publish", contract, "--yes")
    (plan,) = lakegate.json("show", "shop", "--resolved")["resolved"].values()
    effect = "the validator gx gets each delivery of `orders`, to measure a rule of it"

    assert (before.exit_code, "can never be measured" in before.output) == (1, True)
    assert str(asked.exception) == f"{effect}. Nothing was changed: confirm it with --yes"
    assert dry["confirm"] == [effect]
    assert [(each["check"], each["technology"], each["validator"]) for each in plan["external"]] == [
        ("orders:custom:1", "GreatExpectations", "gx")
    ]
