"""Commands with `--api`, from `publish` to `pull run`: through the HTTP API, without rights in the stack's account."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.table import Table
from rich.text import Text

from lakegate.cli import terminal
from lakegate.cli.confirm import confirm
from lakegate.cli.escape import escaped
from lakegate.cli.inputs import InputDocument
from lakegate.cli.over_http import CONTRACTS, Api, Refused, contract_path, known_form, workload_path
from lakegate.contracts.errors import ContractError, InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
            from lakegate.cli.lint import show  # noqa: PLC0415 - of documents with warnings alone
            from lakegate.contracts.lint.examine import Examined  # noqa: PLC0415 - likewise

            show({self.file: Examined((), warnings, tuple(body.decode(errors="replace").splitlines()))})

    def _warnings(self, body: bytes) -> tuple[Problem, ...]:
        """What lint warns of in the document, as the header of the API's answer has it."""
        from lakegate.contracts.lint.examine import examine  # noqa: PLC0415 - reading documents takes yaml and sqlglot

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
        from lakegate.contracts.lint.examine import Examined  # noqa: PLC0415 - of refused documents alone

        problem = refused.problem
        if refused.kind not in {"invalid-contract", "incompatible-version"}:
            raise refused
        if self.as_json:
            names = ("errors", "warnings", "comparison")
            terminal.print_json({"valid": False, **{name: problem[name] for name in names if name in problem}})
        elif refused.kind == "invalid-contract":
            from lakegate.cli.lint import show as show_problems  # noqa: PLC0415 - as above

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
    from lakegate.contracts.inherit.resolve import identity_of  # noqa: PLC0415 - yaml, for this command alone

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
