"""Contracts and definitions by their address: what is fetched, and what never is."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.cli.main import app
from lakegate.library import contract_files, contract_urls
from lakegate.library.contract_files import MAX_BYTES, InputDocument, is_file_name, read_text, url_of, with_definitions
from lakegate.library.contract_urls import fetch_document
from lakegate.lints.linter import examine
from tests.fakes.receiver import Receiver, receiving

CONTRACT = b"""\
dataContractSpecification: 1.2.1
id: x
info: {title: t, version: 1.0.0}
models:
  m:
    fields:
      a: {$ref: 'shared.yaml#/definitions/code'}
"""
SHARED = (
    b"definitions: {code: {type: text, maxLength: 3, $ref: '#/definitions/base'}, base: {type: text, minLength: 1}}\n"
)


def answer(status: int = 200, body: bytes = b"", length: int | None = None, **headers: str) -> bytes:
    """An answer with these headers; underscores are hyphens."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """The only host that may be asked."""
    with receiving() as found:
        monkeypatch.setattr(contract_urls, "WEB", found.web())
        yield found


def url(receiver: Receiver, path: str = "contracts/orders.yaml") -> str:
    return f"https://localhost:{receiver.port}/{path}"


def test_a_contract_is_read_with_the_definitions_of_files_beside_it(receiver: Receiver) -> None:
    """Each file is fetched once, without credentials; the document then holds what it refers to."""
    receiver.answers = [answer(body=CONTRACT), answer(body=SHARED)]
    text = read_text(Path(url(receiver)))
    (field,) = load_rules(text)

    assert field == {"type": {}, "minLength": {"value": 1}, "maxLength": {"value": 3}}
    assert [line for line, _, _ in receiver.requests] == [
        "GET /contracts/orders.yaml HTTP/1.1",
        "GET /contracts/shared.yaml HTTP/1.1",
    ]
    assert not {"authorization", "cookie"} & {name for _, headers, _ in receiver.requests for name in headers}


def load_rules(text: bytes) -> list[dict[str, object]]:
    """The rules of each field."""
    contract = examine(text).contract
    assert contract is not None
    (dataset,) = contract.datasets
    return [
        {each.kind: dict(each.arguments) for each in dataset.rules if each.fields == (field.name,)}
        for field in dataset.fields
    ]


def test_a_reference_may_be_an_address(receiver: Receiver) -> None:
    """In a document of a folder, and in a file of the web; what a published document holds needs no address any more."""
    receiver.answers = [answer(body=SHARED)]
    document = CONTRACT.replace(b"shared.yaml", url(receiver, "a/shared.yaml").encode())
    text = with_definitions(document, lambda _: b"")

    assert load_rules(text)[0]["maxLength"] == {"value": 3}
    assert [line for line, _, _ in receiver.requests] == ["GET /a/shared.yaml HTTP/1.1"]
    assert [each.code for each in examine(document).errors] == ["external-reference"]


def test_a_reference_that_cannot_be_fetched_is_an_error_of_the_document(receiver: Receiver) -> None:
    """With the reason, at its place."""
    receiver.answer = answer(404)
    text = with_definitions(CONTRACT.replace(b"shared.yaml", url(receiver).encode()), lambda _: b"")
    (error,) = examine(text).errors

    assert error.code == "external-reference"
    assert "cannot be fetched: http-404" in error.message


def test_commands_take_an_address(receiver: Receiver) -> None:
    """`lint` as it is, `plan` through a path, which keeps one slash of two."""
    receiver.answers = [answer(body=CONTRACT), answer(body=SHARED)] * 2
    linted = CliRunner().invoke(app, ["lint", url(receiver), "--json"])
    planned = CliRunner().invoke(app, ["plan", url(receiver), "--json"])

    assert (linted.exit_code, planned.exit_code) == (0, 0), (linted.output, planned.output)
    assert "at most 3 characters" in planned.stdout


def test_offline_lint_asks_no_host(receiver: Receiver, tmp_path: Path) -> None:
    """A reference is an error at its line, beside all others; a document by its address cannot be read."""
    (tmp_path / "orders.yaml").write_bytes(CONTRACT.replace(b"shared.yaml", url(receiver).encode()))
    (tmp_path / "own.yaml").write_bytes(CONTRACT)
    (tmp_path / "shared.yaml").write_bytes(SHARED)
    linted = CliRunner().invoke(app, ["lint", str(tmp_path), "--only-contracts", "--offline"])
    remote = CliRunner().invoke(app, ["lint", url(receiver), "--offline"])

    assert (linted.exit_code, remote.exit_code, receiver.requests) == (1, 2, [])
    assert f"{tmp_path}/orders.yaml:7: error external-reference" in linted.stdout
    assert "was not read: --offline fetches nothing" in " ".join(linted.stdout.split())
    assert f"{tmp_path}/own.yaml: valid" in linted.stdout
    assert "was not read: --offline fetches nothing" in remote.stderr


def test_offline_lint_asks_no_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parent that a file has is read; one that no file has is an error, and its own reference to the web another."""
    monkeypatch.setattr(contract_files, "open_deployed", Mock(side_effect=AssertionError("a stack is asked")))
    child = CONTRACT.replace(b"info:", b"config: {lakegate: {inherits: base@1}}\ninfo:")
    parent = CONTRACT.replace(b"id: x", b"id: base").replace(b"shared.yaml", b"https://localhost/shared.yaml")
    (tmp_path / "child.yaml").write_bytes(child.replace(b"$ref: 'shared.yaml#/definitions/code'", b"type: text"))
    alone = CliRunner().invoke(app, ["lint", str(tmp_path / "child.yaml"), "--offline"])
    (tmp_path / "base.yaml").write_bytes(parent)
    both = CliRunner().invoke(app, ["lint", str(tmp_path / "child.yaml"), "--offline"])

    assert (alone.exit_code, both.exit_code) == (1, 1), (alone.output, both.output)
    assert "--offline asks none" in " ".join(alone.stdout.split())
    assert "--offline fetches nothing" in " ".join(both.stdout.split())


def test_check_takes_an_address(receiver: Receiver, tmp_path: Path) -> None:
    """The verdict is that of the contract there."""
    receiver.answers = [answer(body=CONTRACT), answer(body=SHARED)]
    data = tmp_path / "m.csv"
    data.write_text("a\nxxxx\n")
    found = CliRunner().invoke(app, ["check", "--contract", url(receiver), str(data), "--json"])

    assert found.exit_code == 1, found.output


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([answer(302, Location="https://127.0.0.1:1/x")], "its host is not a public one|its host refuses connections"),
        ([answer(302, Location="http://example.com/x")], "it is no address of HTTPS"),
        ([answer(302, Location="file:///etc/passwd")], "it is no address of HTTPS"),
        ([answer(302, Location="https://user:password@localhost/x")], "it is no address of HTTPS"),
        ([answer(302, Location="/x")] * 9, "leads to more than 5 others"),
        ([answer(302)] * 9, "leads to more than 5 others"),
        ([answer(401)], "http-401"),
        ([answer(503)], "http-503"),
        ([answer(body=b"x", length=9)], "broke before its end"),
        ([answer(body=b"x", Content_Encoding="gzip")], "it is compressed"),
        ([b"nonsense"], "BadStatusLine"),
    ],
)
def test_what_is_not_fetched_says_why(receiver: Receiver, answers: list[bytes], reason: str) -> None:
    """A server can lead nowhere but to public hosts, by HTTPS."""
    receiver.answers = answers
    with pytest.raises(InputError, match=reason):
        fetch_document(url(receiver), MAX_BYTES)


def test_a_redirect_on_the_same_rules_is_followed(receiver: Receiver) -> None:
    """As many do, from one name of a file to another."""
    receiver.answers = [answer(301, Location="/moved"), answer(body=b"found")]

    assert fetch_document(url(receiver), MAX_BYTES) == b"found"


@pytest.mark.parametrize(
    "address",
    [
        "https://localhost:443/x",
        "https://127.0.0.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/x",
        "https://10.0.0.1/x",
        "http://example.com/x",
        "file:///etc/passwd",
        "https://example.com:22/x",
        "https://user@example.com/x",
    ],
)
def test_no_private_host_is_asked(address: str) -> None:
    """Nor anything that is no HTTPS."""
    with pytest.raises(InputError, match="cannot be fetched"):
        InputDocument(address).read()


def test_a_host_that_is_not_known_is_told_so(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words, not by the name of an exception."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(InputError, match="its host is not known here: is it written correctly, and is there a network"):
        fetch_document(url(receiver), MAX_BYTES, receiver.web())


def test_no_more_is_read_than_a_contract_may_have(receiver: Receiver) -> None:
    """Enough to refuse it."""
    receiver.answer = answer(body=b"#" * (MAX_BYTES + 5_000))

    assert len(fetch_document(url(receiver), MAX_BYTES)) == MAX_BYTES


def test_a_server_that_never_ends_is_left(receiver: Receiver) -> None:
    """Each request has its time."""
    receiver.hangs = "inside"
    with pytest.raises(InputError, match="cannot be fetched"):
        fetch_document(url(receiver), MAX_BYTES, receiver.web(0.5))


def test_names_are_told_apart() -> None:
    """A file is none, whatever is in its name."""
    assert [url_of(Path(each)) for each in ("https://a.b/c//d", "HTTP://a", "a/https:/b", "https", "c:/d")] == [
        "https://a.b/c/d",
        "HTTP://a",
        None,
        None,
        None,
    ]
    assert is_file_name("https://a.b/c")
