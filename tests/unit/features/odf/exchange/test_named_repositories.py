"""Datasets named by a repository, by their identity, or by both; credentials of web servers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from lakegate.base.errors import InputError
from lakegate.features.odf.dataset_command import _name_of
from lakegate.features.odf.exchange.named_repositories import DEFAULT, VARIABLE, Located, locate_repository
from lakegate.features.odf.exchange.odf_export import dataset_of
from lakegate.features.odf.exchange.odf_repositories import source_of
from tests.unit.features.odf.exchange.shared_dataset import LINE, Lake
from tests.unit.features.odf.exchange.test_exchange_commands import run

DID = f"did:odf:fed01{'5' * 64}"
FILE = """\
partner: {address: "https://data.example.com/odf/", token: PARTNER_TOKEN}
Archive: {address: "https://archive.example.com", user: lake, password: ARCHIVE_PASSWORD}
own: {address: "s3://shared-data"}
here: {address: "http://127.0.0.1:8000", token: PARTNER_TOKEN}
plain: {address: "http://data.example.com", token: PARTNER_TOKEN}
unset: {address: "https://data.example.com", token: NOWHERE}
wrong: {address: "https://data.example.com", token: "a token itself"}
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "repositories.yaml"
    file.write_text(FILE)
    return {VARIABLE: str(file), "PARTNER_TOKEN": "s3cret", "ARCHIVE_PASSWORD": "pass word"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("partner/visits", Located("https://data.example.com/odf/visits", "Bearer s3cret")),
        ("PARTNER/shop/visits", Located("https://data.example.com/odf/shop/visits", "Bearer s3cret")),
        ("archive/visits", Located("https://archive.example.com/visits", "Basic bGFrZTpwYXNzIHdvcmQ=")),
        (f"own/{DID}", Located(f"s3://shared-data/{DID}", "", DID)),
        ("here/visits", Located("http://127.0.0.1:8000/visits", "Bearer s3cret")),
        ("other/visits", Located("other/visits")),
        ("./partner/visits", Located("./partner/visits")),
        ("https://partner/visits", Located("https://partner/visits")),
    ],
)
def test_a_named_repository_gives_the_address(environment: dict[str, str], text: str, expected: Located) -> None:
    """By its name, whatever its case; what names none, and what is written as a path, stays as it is."""
    assert locate_repository(text, environment) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (DID, "names no repository"),
        (f"other/{DID}", "names no repository"),
        ("partner/did:odf:f00", "public key of Ed25519"),
        ("partner/visits_v1", "a remote reference is"),
        ("partner", "a remote reference is"),
        ("plain/visits", "sent over https:// only"),
        ("unset/visits", "NOWHERE has no credential"),
        ("wrong/visits", "no name of an environment variable"),
    ],
)
def test_what_names_no_dataset_is_refused(environment: dict[str, str], text: str, reason: str) -> None:
    """No message has a credential, nor a text that may be one."""
    with pytest.raises(InputError, match=reason) as refused:
        locate_repository(text, environment)

    assert "s3cret" not in str(refused.value)
    assert "a token itself" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "- partner",
        "partner: https://x",
        "partner: {token: A}",
        "partner: {address: [a]}",
        "1: {address: a}",
        "a: ]",
        "x" * 70_000,
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    """With its name; without a file no repository is named."""
    (tmp_path / "wrong.yaml").write_text(text)
    with pytest.raises(InputError, match=r"wrong\.yaml"):
        locate_repository("partner/visits", {VARIABLE: str(tmp_path / "wrong.yaml")})
    assert locate_repository("partner/visits", {VARIABLE: str(tmp_path / "none.yaml")}) == Located("partner/visits")
    assert not DEFAULT.is_absolute()


class Guarded(SimpleHTTPRequestHandler):
    """A server that asks for a token."""

    def do_GET(self) -> None:
        if self.headers.get("Authorization") == "Bearer s3cret":
            super().do_GET()
        else:
            self.send_error(401)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def address(shared: Path) -> Iterator[str]:
    shared.rename(shared.with_name("visits"))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Guarded, directory=shared.parent)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_dataset_is_imported_by_the_name_of_its_repository(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the credentials that the server asks for; by an identity only if it is that of the dataset."""
    (tmp_path / "repositories.yaml").write_text(f"partner: {{address: '{address}', token: PARTNER_TOKEN}}\n")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "repositories.yaml"))
    monkeypatch.setenv("PARTNER_TOKEN", "s3cret")

    assert f"{LINE}: 17 new blocks" in run("import", "partner/visits", tmp_path / "copy")
    assert "s3cret" not in repr(source_of(address, "Bearer s3cret"))
    (tmp_path / "visits").rename(tmp_path / DID)
    run("import", f"partner/{DID}", tmp_path / "other", code=1)
    assert not (tmp_path / "other/refs").exists()
    monkeypatch.setenv("PARTNER_TOKEN", "another")
    run("import", "partner/visits", tmp_path / "third", code=1)


def test_a_dataset_of_the_stack_is_named_by_its_identity(made: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same identity that export and import print."""
    monkeypatch.setattr("lakegate.features.odf.dataset_command.chains", lambda _: (LINE,))
    identity = str(dataset_of(made.stored[0].text))

    assert _name_of(made.dependencies, identity) == LINE
    assert _name_of(made.dependencies, "visits") == "visits"
    with pytest.raises(InputError, match="no dataset of the stack has the identity"):
        _name_of(made.dependencies, DID)
