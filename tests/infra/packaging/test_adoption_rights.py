"""`lakegate table --adopt` with the rights of a replay alone, as another implementation of IAM decides about each call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.infra.packaging.asked_calls import GIVEN, HERE, TEMPLATE, calls_of
from tests.infra.packaging.iam import Call, allowed
from tests.sam.built import Stack
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE, LANDING
from tests.unit.features.tables.test_adopt_deliveries import accept, adoptions, become_table
from tests.unit.features.tables.test_table_command import add_database

pytestmark = pytest.mark.tools


def test_adopting_takes_the_rights_of_a_replay(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who only sees deliveries cannot adopt them."""
    from botocore.client import BaseClient  # noqa: PLC0415 - whose method is watched

    lakegate.routed()
    add_database(lakegate)
    accept(lakegate)
    become_table(lakegate)
    asked: dict[str, Call] = {}
    make = BaseClient._make_api_call  # type: ignore[attr-defined]  # noqa: SLF001 - as above

    def watched(client: Any, operation: str, request: dict[str, Any]) -> Any:
        asked.update((str(each), each) for each in _calls(client.meta.service_model.service_name, operation, request))
        return make(client, operation, request)

    with monkeypatch.context() as patch:
        patch.setattr("botocore.client.BaseClient._make_api_call", watched)
        assert lakegate("table", "orders", "--adopt", "--yes").exit_code == 0
    assert len(adoptions(lakegate)) == 1
    given = GIVEN | {"ExistingLakeBucket": LAKE, "ExistingLandingBucket": LANDING}
    managed = Stack.read(TEMPLATE, **given).resources("AWS::IAM::ManagedPolicy")
    operator, engine = (managed[name]["PolicyDocument"] for name in ("OperatorPolicy", "EnginePolicy"))
    calls = list(asked.values())
    together, alone = (
        [call for call, answer in zip(calls, allowed(policies, calls), strict=True) if not answer]
        for policies in ([operator, engine], [operator])
    )

    assert (together, "s3:PutObject" in {each.action for each in alone}) == ([], True)
    assert {each.action for each in calls} >= {"s3:PutObject", "s3:DeleteObject", "dynamodb:PutItem"}


def _calls(service: str, operation: str, request: dict[str, Any]) -> Iterable[Call]:
    if service == "cloudformation":
        return [Call(f"{service}:{operation}", f"arn:aws:{service}:{HERE}:stack/lakegate/1")]
    return calls_of(service, operation, request)
