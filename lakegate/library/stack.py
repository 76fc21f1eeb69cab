"""Stack facade: deliveries and contracts of a stack, in AWS or through its HTTP API, as dataclasses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

from lakegate.aws.open_stack import DeployedStack, open_deployed
from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extension, names
from lakegate.gate.delivery.delivery_row import (
    Workload,
    replay_id,
)
from lakegate.gate.delivery.find_deliveries import Delivery, Wanted, find_delivery, recent
from lakegate.gate.delivery.protocol import END_STATES, State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.person_decisions import WantedDecision, WantedReplay
from lakegate.library import published_contracts
from lakegate.library.described_deliveries import (
    LATEST,
    STATUS_SECTIONS,
    DecidedDelivery,
    DeliveryStatus,
    StartedReplay,
    delivery_status,
    one_delivery,
    replay_of,
    sections_of,
)
from lakegate.library.published_contracts import (
    Confirm,
    ContractDocument,
    DescribedVersions,
    DocumentToPublish,
    NewProposal,
    PlannedPublication,
    PublishedVersion,
)

if TYPE_CHECKING:
    from datetime import date

    from lakegate.inheritance.inherited_documents import Parents
    from lakegate.library.described_deliveries import Sections
    from lakegate.library.published_routes import Agree, DescribedRoute, Routes, WantedRoute

ResultT = TypeVar("ResultT")
DecidedT = TypeVar("DecidedT", bound=DecidedDelivery)

# ---- A stack in AWS, which is the facade of every other one ----


@contextmanager
def open_stack(name: str, *, local: bool, api: str | None) -> Iterator[StackFacade]:
    """The stack of a name, or the one at the address of an API."""
    if api:
        there = remote_stack(api)
        there.refuse(local=local)
        yield there
        return
    with ExitStack() as context:
        yield StackFacade(lambda: context.enter_context(open_deployed(name, local=local)))


@dataclass
class StackFacade:
    """A stack, opened in AWS when it is first asked something. Methods raise InputError.

    A contract beside the name of something else is for the API alone.
    """

    opens: Callable[[], DeployedStack]

    @cached_property
    def there(self) -> DeployedStack:
        """The deployed resources."""
        return self.opens()

    @cached_property
    def dependencies(self) -> Dependencies:
        """The gate for everything that starts no job."""
        return self.there.dependencies()

    @cached_property
    def working(self) -> Dependencies:
        """The gate as the intake function has it, job included."""
        return self.there.working_dependencies()

    def refuse(self, **options: object) -> None:
        """Raise InputError for options that are given and that it has nothing for."""

    def perform(
        self, in_aws: Callable[[Dependencies], ResultT], over_http: Callable[[RemoteStack], ResultT]
    ) -> ResultT:
        """Perform an operation of a feature, in the way that this stack has."""
        del over_http
        return in_aws(self.dependencies)

    def delivery(self, name: str, contract: str | None) -> DeliveryStatus:
        """A delivery by the id of its workload; in AWS also by the beginning of one, or a landing key."""
        _refuse_contract(contract)
        return one_delivery(self.dependencies, find_delivery(self.dependencies, name, LATEST))

    def deliveries(
        self, limit: int, verdicts: frozenset[str], contract: str | None, day: date | None
    ) -> tuple[tuple[DeliveryStatus, ...], Sections]:
        """The latest deliveries, the newest first, through the API those of a contract; and the contract's sections."""
        from lakegate.gate.datasets.dataset_names import datasets_fitting  # noqa: PLC0415 - for lists alone

        datasets = datasets_fitting(self.dependencies, contract) if contract is not None else frozenset[str]()
        found = recent(self.dependencies, limit, Wanted(verdicts, datasets, day, announced=True))
        listed = tuple(delivery_status(self.dependencies, each) for each in found)
        return listed, sections_of(STATUS_SECTIONS, self.dependencies, datasets)

    def replay(self, name: str, contract: str | None) -> StartedReplay:
        """Judge a delivery again; by a version, if `contract` is `contract@version`."""
        version = self.whole_version(contract)
        before = find_delivery(self.working, name, LATEST)
        already = _already(self.working, before)
        row = already or self._decided(before, WantedReplay("replay", version))
        return replay_of(row, before.id, started=already is None)

    def decide(self, form: type[DecidedT], name: str, contract: str | None, wanted: WantedDecision) -> DecidedT:
        """Make a decision about a delivery; its result in a form."""
        from lakegate.gate.carry_out_decision import kind_of  # noqa: PLC0415 - the whole gate, for such commands alone

        _refuse_contract(contract)
        kind = kind_of(wanted.transition)
        fits = partial(kind.is_legal, self.working) if kind is not None and kind.chooses else lambda _: False
        before = find_delivery(self.working, name, LATEST, fits)
        already = self.working.workloads.find(replay_id(before.id))
        return form.of(self.working, self._decided(before, wanted), started=already is None)

    def contracts(
        self, labels: Mapping[str, Sequence[str] | None], statuses: Sequence[str] | None
    ) -> DescribedVersions:
        """The published versions with labels and statuses."""
        return published_contracts.versions_with(self.dependencies, labels, statuses)

    def document(self, contract: str, version: str | None) -> ContractDocument:
        """A version of a contract, by default the one in use; in AWS also by the beginning of the contract's id.

        The newest by the word `latest`. By its number also a version that is only proposed, and waits for approval.
        """
        from lakegate.gate.registry import named_contract  # noqa: PLC0415 - for this command alone
        from lakegate.gate.registry.version_in_use import version_in_use  # noqa: PLC0415 - likewise

        snapshot = named_contract.snapshot_of(self.dependencies.registry, contract)
        if version is None:
            used = version_in_use(self.dependencies, snapshot, contract)
            return published_contracts.document_in(self.dependencies, snapshot, used, is_used=True)
        is_published = any((each.contract, each.version) == (contract, version) for each in snapshot.versions)
        if not is_published and (proposal := self.dependencies.registry.proposal(contract, version)):
            return published_contracts.document_in(self.dependencies, snapshot, proposal.publication, proposal=proposal)
        found = named_contract.chosen(snapshot, contract, None if version == named_contract.LATEST else version)
        return published_contracts.document_in(self.dependencies, snapshot, found)

    def parents(self, found: ContractDocument) -> Parents:
        """The parents of a version; in AWS those that it was published or proposed with."""
        from lakegate.gate.registry.contract_versions import pinned_parents  # noqa: PLC0415 - likewise

        return pinned_parents(self.dependencies, found.needs)

    def publish(self, document: DocumentToPublish, confirm: Confirm | None) -> PublishedVersion | NewProposal:
        """Make a version valid, or propose it, once its effects are confirmed; None: they are. Raises PublicationRefused.

        A document that refers to nothing is compiled before the stack is opened.
        """
        compiled = published_contracts.compiled_document(lambda: self.dependencies, document)
        return published_contracts.publish(self.dependencies, compiled, confirm)

    def planned_publication(self, document: DocumentToPublish) -> PlannedPublication:
        """A preview of a publication. Raises as `publish`."""
        compiled = published_contracts.compiled_document(lambda: self.dependencies, document)
        return published_contracts.planned_publication(self.dependencies, compiled)

    def routes(self) -> Routes:
        """All routes that the caller may see."""
        from lakegate.library.published_routes import described_routes  # noqa: PLC0415 - for this command alone

        return described_routes(self.dependencies.registry.snapshot().routes)

    def add_route(self, wanted: WantedRoute, agree: Agree) -> DescribedRoute:
        """Add a route, once its effects are confirmed."""
        from lakegate.library.published_routes import publish_route  # noqa: PLC0415 - likewise

        return publish_route(self.dependencies, self.dependencies.registry.snapshot(), wanted, agree)

    def remove_route(self, prefix: str, contract: str | None) -> DescribedRoute:
        """Remove the route of a prefix."""
        from lakegate.library.published_routes import withdraw_route  # noqa: PLC0415 - likewise

        _refuse_contract(contract)
        return withdraw_route(self.dependencies, prefix)

    def whole_version(self, written: str | None) -> str:
        """`contract@version` with the whole id of the contract; empty for none."""
        from lakegate.gate.registry.named_contract import chosen, numbered_version, snapshot_of  # noqa: PLC0415 - for versions alone

        contract, at, version = (written or "").rpartition("@")
        if not at or not contract:
            found = numbered_version(self.working.registry, written or "")
            return f"{found.contract}@{found.version}" if found else written or ""
        return f"{chosen(snapshot_of(self.working.registry, contract), contract).contract}@{version}"

    def _decided(self, before: Delivery, wanted: WantedDecision) -> Workload:
        from lakegate.gate.carry_out_decision import decide  # noqa: PLC0415 - the whole gate, for such commands alone

        return self.working.workloads.get(self.working.run(decide(self.working, before.id, wanted)))


def _refuse_contract(contract: str | None) -> None:
    if contract is not None:
        raise InputError("--contract is for --api: here the name alone is enough")


def _already(dependencies: Dependencies, before: Delivery) -> Workload | None:
    """The workload that judges this delivery, or has judged it again, so that nothing is to be started."""
    row = before.row
    if row is None:
        raise InputError("it landed and was not taken in yet: there is nothing to replay (`lakegate status`)")
    if row.state is State.QUARANTINED:
        return dependencies.workloads.find(replay_id(row.id))
    return None if row.state in END_STATES else row


# ---- A stack behind an address (`--api`) ----


CONTRACTS: Final = "/api/v1/data-contract"
NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})


class Refused(InputError):  # noqa: N818 - the name is what happened
    """A stack refused a request that was sent to its address: problem details of RFC 9457."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(
            str(problem.get("detail") or problem.get("message") or f"the API answered {status}").rstrip(".")
        )
        self.kind = str(problem.get("type", "")).rpartition(":")[2]
        self.problem = problem
        self.errors: list[Mapping[str, Any]] = problem.get("errors", [])


@contextmanager
def known_form() -> Iterator[None]:
    """The reader of a response; InputError for another form, from a later version or from something else."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(
            "the answer has a form that this command does not know: is the address that of a Lakegate?"
        ) from None


class RemoteStack(StackFacade):
    """A stack behind the address of its HTTP API. Methods raise Refused, or InputError without an answer."""

    @abstractmethod
    def ask(self, method: str, path: str, document: object = None, *, query: Mapping[str, str] = NO_QUERY) -> Any:  # noqa: ANN401 - JSON
        """The JSON response, an object or a text. `document`: bytes are YAML. A POST has a key, by which the API knows it again.

        Raises Refused.
        """


def contract_path(contract: str) -> str:
    """The address of a contract."""
    return f"{CONTRACTS}/{quote(contract, safe='')}"


def workload_path(workload: str, contract: str | None) -> str:
    """The address of a workload; below its contract's, if that is given, which policies name."""
    below = f"{contract_path(contract)}/workload" if contract else "/api/v1/workload"
    return f"{below}/{quote(workload, safe='')}"


def remote_stack(address: str) -> RemoteStack:
    """The stack at an address, by the extension point `stacks`. InputError where it is no address, or there is no client."""
    if "http" not in names("stacks"):
        raise InputError("the HTTP API is a feature that is not installed: leave out --api (LAKEGATE_API)")
    found: RemoteStack = load_extension("stacks", "http")(address)
    return found
