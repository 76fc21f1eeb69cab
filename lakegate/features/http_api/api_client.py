"""Stack facade over HTTP, with token or signature."""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request

import typer
from rich.table import Table
from rich.text import Text

from lakegate.cli import terminal
from lakegate.cli.command_runner import confirm
from lakegate.contract_files import InputDocument
from lakegate.errors import ContractError, InputError, Problem, SetUpError
from lakegate.https_client import API_SECONDS, OPENER
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import IO

# ---- Requests to the HTTP API of a stack (docs/api.md), for people without rights in its account -------------------
#
# They have a token of the stack's issuer, or sign by IAM with the credentials that botocore finds. Redirects are
# never followed: an
# answer from elsewhere would get the token.


TOKEN, TOKEN_FILE = "LAKEGATE_TOKEN", "LAKEGATE_TOKEN_FILE"


LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


REGION: Final = re.compile(r"\.execute-api\.([a-z0-9-]+)\.")


CONTRACTS: Final = "/api/v1/data-contract"


LARGEST_ANSWER: Final = 8 << 20


DONE: Final = frozenset({200, 202})


NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})


class Refused(InputError):  # noqa: N818 - the name is what happened
    """The API refused a request: problem details of RFC 9457."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(
            str(problem.get("detail") or problem.get("message") or f"the API answered {status}").rstrip(".")
        )
        self.kind = str(problem.get("type", "")).rpartition(":")[2]
        self.problem = problem
        self.errors: list[Mapping[str, Any]] = problem.get("errors", [])


def sent(request: Request, what: str) -> tuple[int, bytes]:
    """Status and body of the answer. Raises InputError where there is none; `what`: who was asked."""
    try:
        with OPENER.open(request, timeout=API_SECONDS) as answer:
            return answer.status, answer.read(LARGEST_ANSWER)
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read(LARGEST_ANSWER)
    except (URLError, HTTPException, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise InputError(f"{what} does not answer ({type(reason).__name__}): is the address right?") from None


def contract_path(contract: str) -> str:
    """The address of a contract."""
    return f"{CONTRACTS}/{quote(contract, safe='')}"


def workload_path(workload: str, contract: str | None) -> str:
    """The address of a workload; below its contract's, if that is given, which policies name."""
    below = f"{contract_path(contract)}/workload" if contract else "/api/v1/workload"
    return f"{below}/{quote(workload, safe='')}"


@contextmanager
def known_form() -> Iterator[None]:
    """What reads an answer; InputError for one of another form, from a later version or from something else."""
    try:
        yield
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            "the answer has a form that this command does not know: is the address that of a Lakegate?"
        ) from None


@dataclass(frozen=True, slots=True)
class Api:
    """An API, with the caller's credentials."""

    url: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise InputError(f"{self.url} is not the address of an API: it begins with https://")

    def ask(
        self,
        method: str,
        path: str,
        document: object = None,
        *,
        key: str = "",
        query: Mapping[str, str] = NO_QUERY,
    ) -> Any:  # noqa: ANN401 - JSON
        """The JSON answer, an object or a text. `document`: bytes are YAML. `key`: the API knows the request again by it.

        Raises Refused.
        """
        is_yaml = isinstance(document, bytes)
        body = document if isinstance(document, bytes) else b"" if document is None else json.dumps(document).encode()
        headers = {"content-type": "application/yaml" if is_yaml else "application/json"} if body else {}
        if key:
            headers["idempotency-key"] = key
        url = self.url.rstrip("/") + path + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        headers |= _credentials(method, url, headers, body)
        request = Request(url, data=body or None, headers=headers, method=method)  # noqa: S310 - the scheme was checked
        status, answer = sent(request, "the API")
        try:
            found = json.loads(answer)
        except ValueError:
            found = None
        if status not in DONE or not isinstance(found, dict | str):
            raise Refused(status, found if isinstance(found, dict) else {})
        return found


def put(url: str, headers: Mapping[str, str], file: IO[bytes]) -> None:
    """Send a file to an upload URL: of HTTPS, or of this machine. Raises InputError for another one, and where S3 refuses it."""
    parts = urlsplit(url)
    if (parts.scheme, parts.hostname) not in {("http", "127.0.0.1"), ("http", "localhost")} and parts.scheme != "https":
        raise InputError("the API named an upload address that is not of HTTPS: the file was not sent")
    request = Request(url, data=file, headers=dict(headers), method="PUT")  # noqa: S310 - of the API's answer
    status, _ = sent(request, "S3")
    if status != 200:  # noqa: PLR2004 - HTTP
        raise InputError(f"S3 refused the file with status {status}: has it changed, or is the URL's time over?")


def _credentials(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:
    """A token, or a signature of IAM."""
    if token := _token():
        return {"authorization": f"Bearer {token}"}
    import botocore.session  # noqa: PLC0415 - a token needs none of it
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - likewise
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - likewise

    session = botocore.session.get_session()
    found = session.get_credentials()
    if found is None:
        raise SetUpError(f"there are no credentials: set {TOKEN} or {TOKEN_FILE}, or configure those of AWS")
    named = REGION.search(urlsplit(url).hostname or "")
    region = named[1] if named else session.get_config_variable("region")
    if not region:
        raise SetUpError("no region is configured to sign for: set AWS_DEFAULT_REGION")
    request = AWSRequest(method, url, headers=dict(headers), data=body)
    SigV4Auth(found, "execute-api", region).add_auth(request)
    return dict(request.headers.items())


def _token() -> str:
    """The token of the environment, or of the file that it names. Raises SetUpError."""
    if token := os.environ.get(TOKEN, "").strip():
        return token
    place = os.environ.get(TOKEN_FILE, "")
    try:
        return Path(place).read_text().strip() if place else ""
    except (OSError, UnicodeDecodeError):
        raise SetUpError(f"the file that {TOKEN_FILE} names cannot be read") from None


# ---- Commands with `--api`, from `publish` to `pull run`: through the HTTP API, without rights in the stack's
# account


REFUSED: Final = 1


COLUMNS: Final = ("contract", "version", "status", "tags", "producer", "consumer")


WIDTH: Final = 10


PULLS: Final = {
    "Due": "is pulled at the next tick, within five minutes",
    "Fetching": "is being pulled",
    "Unscheduled": "is not scheduled yet: it was published within five minutes, or the stack does not pull",
}


def refuse_options(**given: object) -> None:
    """Raise InputError for options that the API has nothing for."""
    if names := [f"--{name.replace('_', '-')}" for name, value in given.items() if value]:
        raise InputError(f"the HTTP API has nothing for {' and '.join(names)}: leave it out, or --api (LAKEGATE_API)")


def refuse_contract(contract: str | None) -> None:
    """Raise InputError for a contract beside a workload, where a command does not work through the API."""
    if contract is not None:
        raise InputError("--contract is for --api: here the workload alone names the delivery")


@dataclass(frozen=True, slots=True)
class RemotePublication:
    """A document that is to be published through an API."""

    api: Api
    file: str
    allow_unmeasured: bool
    inherited_from: str | None
    yes: bool
    as_json: bool

    @known_form()
    def publish(self) -> None:
        """Publish it or leave a proposal, after its effects were confirmed; refusals are shown, and end the command."""
        body = InputDocument(self.file).read()
        contract, version = _identity(body)
        try:
            found = self._sent(body, contract)
        except Refused as refused:
            self._show(refused, body)
            raise typer.Exit(REFUSED) from None
        is_proposal = isinstance(found, dict)
        warnings = self._warnings(body)
        if self.as_json:
            answer = found if is_proposal else {"contract": found, "version": version}
            terminal.print_json({**answer, "warnings": [asdict(each) for each in warnings]})
            return
        text = f"Proposed {contract} {version}" if is_proposal else f"Published {found} {version}."
        if is_proposal:
            text += f": proposal {found['proposal']}. It becomes valid when another person approves it."
        _print([text])
        if warnings:
            from lakegate.cli.contracts.lint_command import show  # noqa: PLC0415 - of documents with warnings alone
            from lakegate.lints.linter import Examined  # noqa: PLC0415 - likewise

            show({self.file: Examined((), warnings, tuple(body.decode(errors="replace").splitlines()))})

    def _warnings(self, body: bytes) -> tuple[Problem, ...]:
        """What lint warns of in the document, as the header of the API's answer has it."""
        from lakegate.lints.linter import examine  # noqa: PLC0415 - reading documents takes yaml and sqlglot

        return examine(body).warnings

    def _sent(self, body: bytes, contract: str) -> Any:  # noqa: ANN401 - JSON
        """The answer. To the contract's own address, which policies name; a document without an id has none."""
        method, path = ("PUT", contract_path(contract)) if contract else ("POST", CONTRACTS)
        query = {"allowUnmeasured": "true"} if self.allow_unmeasured else {}
        query |= {} if self.inherited_from is None else {"from": self.inherited_from}
        confirmed = {**query, "confirm": "true"}
        try:
            return self.api.ask(method, path, body, query=confirmed if self.yes else query)
        except Refused as refused:
            if refused.kind != "confirmation-needed":
                raise
            for child in refused.problem.get("children", ()):
                lines = (f"  line {each.line}: {each.message}" for each in _problems(child["errors"]))
                for line in (f"{child['contract']} {child['version']} is weaker:", *lines):
                    terminal.errors().print(escaped(line), markup=False, soft_wrap=True)
            confirm([str(each) for each in refused.problem.get("effects", ())], yes=False)
        return self.api.ask(method, path, body, query=confirmed)

    def _show(self, refused: Refused, body: bytes) -> None:
        """What is wrong with the document; raises other refusals."""
        from lakegate.lints.linter import Examined  # noqa: PLC0415 - of refused documents alone

        problem = refused.problem
        if refused.kind not in {"invalid-contract", "incompatible-version"}:
            raise refused
        if self.as_json:
            names = ("errors", "warnings", "comparison")
            terminal.print_json({"valid": False, **{name: problem[name] for name in names if name in problem}})
        elif refused.kind == "invalid-contract":
            from lakegate.cli.contracts.lint_command import show as show_problems  # noqa: PLC0415 - as above

            errors, warnings = _problems(refused.errors), _problems(problem.get("warnings", ()))
            lines = tuple(body.decode(errors="replace").splitlines())
            show_problems({self.file: Examined(errors, warnings, lines)})
        else:
            _print(_changes(problem.get("comparison", {}).get("changes", ())))
        terminal.errors().print(escaped(f"lakegate: {refused}"), markup=False, soft_wrap=True)


@known_form()
def list_contracts(api: Api, wanted: Mapping[str, Sequence[str] | None], *, as_json: bool) -> None:
    """The highest versions of the contracts that have the labels; several values of a label are alternatives."""
    query = {name: values[0] for name, values in wanted.items() if values and len(values) == 1}
    found = [each for each in _pages(api, query) if all(_has(each, name, values) for name, values in wanted.items())]
    if as_json:
        terminal.print_json({"contracts": found})
    elif found:
        terminal.wide().print(_table(found))
    else:
        terminal.answers().print("No published contract has these labels.")


@known_form()
def show_contract(api: Api, contract: str, version: str | None, *, as_json: bool) -> None:
    """A published document, by the contract's whole id."""
    found = api.ask("GET", contract_path(contract), query={"version": version} if version else {})
    if as_json:
        terminal.print_json(found)
    else:
        _print(str(found["content"]).splitlines())


@known_form()
def show_workload(api: Api, workload: str, contract: str | None, *, as_json: bool) -> None:
    """A workload or announcement by its whole id; below its contract's address, if that is given."""
    found = api.ask("GET", workload_path(workload, contract))
    if as_json:
        terminal.print_json(found)
    else:
        _print(_of_workload(found))


@known_form()
def send_transition(api: Api, workload: str, contract: str, transition: Mapping[str, str], *, as_json: bool) -> None:
    """Do a person's transition of a workload, by its whole id, and show the one that is judged or accepted now.

    Raises Refused, with the transitions that the workload has.
    """
    found = api.ask("POST", f"{workload_path(workload, contract)}/transition", transition, key=secrets.token_hex(16))
    if as_json:
        terminal.print_json(found)
    else:
        _print(_of_workload(found))


@known_form()
def send_pull(api: Api, name: str, *, as_json: bool) -> None:
    """Have a line pulled by its whole name, or all lines of a contract, and show where each is."""
    contract, _, line = name.rpartition("/")
    query = {"line": name} if contract else {}
    found = api.ask("POST", f"{contract_path(contract or line)}/pull", query=query, key=secrets.token_hex(16))
    if as_json:
        terminal.print_json(found)
    else:
        _print(f"{each['line']} {PULLS[each['status']]}" for each in found["pulls"])


def _of_workload(found: Mapping[str, Any]) -> Iterator[str]:
    info = found["result"]["info"]
    contract = f"{found['dataContractId']} {found['dataContractVersion']}" if found["dataContractId"] else "none"
    rows = [
        ("workload", found["workloadId"]),
        ("contract", contract),
        ("state", found["status"]),
        ("verdict", found["verdict"] or "none yet"),
        *(("reason", each) for each in (info["errors"] if info else ())),
    ]
    yield from (f"{name:>{WIDTH}}  {value}" for name, value in rows)


def _identity(body: bytes) -> tuple[str, str]:
    """The id and the version of the document; empty where there is none, which the API refuses with the place."""
    from lakegate.inheritance import identity_of  # noqa: PLC0415 - yaml, for this command alone

    try:
        return identity_of(body)
    except ContractError:
        return "", ""


def _pages(api: Api, query: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    cursor: Mapping[str, str] = {}
    while True:
        page = api.ask("GET", CONTRACTS, query={**query, **cursor})
        yield from page["contracts"]
        if not page["cursor"]:
            return
        cursor = {"cursor": page["cursor"]}


def _has(contract: Mapping[str, Any], name: str, values: Sequence[str] | None) -> bool:
    own = contract["tags"] if name == "tag" else [(contract[name] or {}).get("name", "")]
    return not values or not {each.casefold() for each in own}.isdisjoint(each.casefold() for each in values)


def _table(found: Iterable[Mapping[str, Any]]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in COLUMNS:
        grid.add_column(name, overflow="fold")
    for each in found:
        actors = ((each[name] or {}).get("name", "") for name in COLUMNS[4:])
        cells = (each["id"], each["version"], each["status"], ", ".join(each["tags"]), *actors)
        grid.add_row(*(Text(escaped(cell)) for cell in cells))
    return grid


def _problems(found: Iterable[Mapping[str, Any]]) -> tuple[Problem, ...]:
    return tuple(
        Problem(each["code"], each["path"], each.get("line"), each["message"], each.get("column")) for each in found
    )


def _changes(found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each change with what it needs and why."""
    for each in found:
        yield f"{each['bump']:<5}  {each['path']}  {each['kind']}: {each['because']}"


def _print(lines: Iterable[str]) -> None:
    console = terminal.answers()
    for line in lines:
        console.print(escaped(line), markup=False, soft_wrap=True)
