"""Clients of AWS: each has the settings of the moment it is made in, and all share what describes services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.aws.clients import session

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_descriptions_of_services_are_read_once() -> None:
    """Two sessions share the one that reads the descriptions, and nothing else."""
    first, second = session(), session()

    assert first is not second
    assert first.get_component("data_loader") is second.get_component("data_loader")


def test_a_session_has_the_settings_of_its_moment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Region and folder of descriptions are those of the environment when the session is made."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    before = session()
    regions = [before.get_config_variable("region")]
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    after = session()
    regions.append(after.get_config_variable("region"))

    assert regions == ["eu-west-1", "eu-north-1"]
    assert str(tmp_path) not in before.get_component("data_loader").search_paths
    assert str(tmp_path) in after.get_component("data_loader").search_paths
