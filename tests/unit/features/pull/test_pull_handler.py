"""The Lambda that pulls: what it counts, logs and returns, and the adapters that it is given."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions import pull_handler
from functions.pull_handler import pull_adapters
from lakegate.aws import lambda_runtime
from lakegate.aws.lambda_runtime import HandlerError
from lakegate.aws.settings import read
from lakegate.base.errors import PortError
from lakegate.features.pull.ftp_source import FtpSource
from lakegate.features.pull.https_source import HttpsSource
from lakegate.features.pull.pull_sources import S3Source, TransferByScheme
from lakegate.features.pull.sftp_source import SftpSource
from tests.unit.aws.test_delivery_over_aws import settings
from tests.unit.features.pull.pull_stage import LINE, PullStage, scheduled
from tests.unit.functions.test_handlers import Context


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """The log of the function."""
    found = io.StringIO()
    monkeypatch.setattr(pull_handler.LOG._logger.handlers[0], "stream", found)  # noqa: SLF001 - Powertools shows it nowhere else
    for name, value in settings("00app").items():
        monkeypatch.setenv(name, value)
    yield found
    lambda_runtime.INVOCATION.set(None)


def run(stage: PullStage, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    monkeypatch.setattr(pull_handler, "dependencies", lambda: stage.dependencies)
    monkeypatch.setattr(pull_handler, "pull_adapters", lambda *_: (stage.source, stage.landing))
    counts: dict[str, int] = pull_handler.handler({}, Context())
    return counts


def test_a_tick_counts_how_pulls_ended(
    log: io.StringIO, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In its answer, in metrics and in the log, which has no text of a source."""
    stage = scheduled(b"id\n1")
    fetched = run(stage, monkeypatch)
    stage.env.memory.clock.sleep(3_600)
    unchanged = run(stage, monkeypatch)
    stage.env.memory.clock.sleep(3_600)
    stage.source.failure = PortError("http-404")
    failed = run(stage, monkeypatch)
    nothing = {"fetched": 0, "unchanged": 0, "failed": 0, "failures": 0}
    lines: list[dict[str, Any]] = [json.loads(line) for line in log.getvalue().splitlines()]
    metrics = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "PullsFailed" in line]

    assert [fetched, unchanged, failed] == [nothing | {name: 1} for name in ("fetched", "unchanged", "failed")]
    assert [(each["message"], each["line"], each["outcome"], each["reason"]) for each in lines] == [
        ("pulled", LINE, "FETCHED", ""),
        ("pulled", LINE, "UNCHANGED", ""),
        ("pulled", LINE, "FAILED", "http-404"),
    ]
    assert [each["PullsFailed"] for each in metrics] == [[0.0], [0.0], [1.0]]


def test_an_error_of_the_tick_is_logged_without_its_text(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """The alarm on errors of the function sees it."""

    def broken() -> None:
        raise ValueError("a secret")

    monkeypatch.setattr(pull_handler, "dependencies", broken)
    with pytest.raises(HandlerError, match="ValueError"):
        pull_handler.handler({}, Context())

    assert "a secret" not in log.getvalue()


def test_sources_are_those_of_the_settings() -> None:
    """Hosts in any case, the prefix of secrets, and the buckets of the stack, which are none."""
    given = settings("00app") | {"LAKEGATE_PULL_HOSTS": "Data.Example.com,b.example", "LAKEGATE_PULL_SECRETS": "p-"}
    transfer, landing = pull_adapters(read(given))
    assert isinstance(transfer.transfer, TransferByScheme)
    https, s3, sftp, http, ftp = (
        transfer.transfer.adapters[scheme] for scheme in ("https", "s3", "sftp", "http", "ftp")
    )

    assert isinstance(https, HttpsSource)
    assert isinstance(s3, S3Source)
    assert isinstance(sftp, SftpSource)
    assert isinstance(http, HttpsSource)
    assert isinstance(ftp, FtpSource)
    assert (https.web.plain, http.web.plain, http.access, ftp.access) == (False, True, https.access, https.access)
    assert ftp.web.ports == {21, 2121}
    assert (https.access.hosts, https.access.prefix) == ({"data.example.com", "b.example"}, "p-")
    assert (https.access.remaining(), sftp.access, sftp.web.ports) == (float("inf"), https.access, {22, 2222})
    assert (s3.own, landing.bucket, landing.owner) == ({"landing", "lake"}, "landing", "123456789012")
    assert pull_adapters(read(settings("00app")))[0].transfer.adapters["https"].access.hosts == frozenset()  # type: ignore[attr-defined] # as above
