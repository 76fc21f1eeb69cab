"""Contracts over HTTP: published, read, found by label."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final
from urllib.parse import quote as quote_url

from lakegate.base.errors import InputError, Problem
from lakegate.base.json_codec import encode, select_fields
from lakegate.base.text import quote
from lakegate.base.timestamps import beginning_of
from lakegate.features.http_api.registry_pages import page_of_registry
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.person_decisions import LONGEST_REASON
from lakegate.gate.registry.registry_rows import WITHDRAWN, Publication, RegistrySnapshot
from lakegate.library.http_messages import (
    JSON,
    VERSION,
    HttpProblem,
    HttpRequest,
    HttpResponse,
    media_type,
    published_contract,
    usable_contract,
)

if TYPE_CHECKING:
    from lakegate.gate.datasets.dataset_states import DatasetState
    from lakegate.library.published_contracts import PublicationEffects, PublishedVersion

PATH: Final = "/api/v1/data-contract"
YAML: Final = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})
LABELS: Final = ("tag", "producer", "consumer")
ACTORS: Final = ("producer", "consumer")
WARNINGS: Final = "lakegate-warnings"
"""The header of what lint warns of in a document that was published."""
LOCATION: Final = "$.access.location"
MOST_OF_HEADER: Final = 4_000
KEPT_DOCUMENTS: Final = 16
"""Whose actors a function remembers: reading one takes as long as everything else of the request."""


def publish(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """POST /api/v1/data-contract, PUT /api/v1/data-contract/{id}: lint, compile and publish; the contract's id, as DCM has it.

    Where the stack requires approval, a proposal is left (202).
    """
    from lakegate.gate.registry.bounded_compilation import compile_bounded  # noqa: PLC0415 - likewise
    from lakegate.gate.registry.parent_contracts import identity  # noqa: PLC0415 - likewise
    from lakegate.gate.registry.publish_contract import (  # noqa: PLC0415 - likewise
        DocumentRefused,
        IncompatibleVersion,
        referred_of,
    )
    from lakegate.library import published_contracts  # noqa: PLC0415 - the compiler, for this route alone

    body = document_in(request)
    try:
        if declared := identity(body)[0]:  # before what it refers to is read
            _refuse_another(request, declared)
        referred, unmeasured = referred_of(dependencies, body, request.own), request.flag("allowUnmeasured")
        compiled = compile_bounded(body, referred, allow_unmeasured=unmeasured)
        _refuse_another(request, compiled.contract)
        compiled = replace(compiled, inherited_from=_day(dependencies, request))
        confirm = None if request.flag("confirm") else _refuse_effects
        found = published_contracts.publish(dependencies, compiled, confirm, request.holder)
    except DocumentRefused as refused:
        detail = "The contract document has errors; each has its position and says what to do."
        if refused.unmeasured:
            detail = "Rules can never be measured: correct them, or repeat the request with `allowUnmeasured=true`."
        raise HttpProblem(
            400,
            "invalid-contract",
            detail,
            errors=_located(refused.examined.errors),
            warnings=_located(refused.examined.warnings),
        ) from None
    except IncompatibleVersion as refused:
        comparison = refused.comparison.to_json()
        raise HttpProblem(409, "incompatible-version", str(refused), comparison=comparison) from None
    if isinstance(found, published_contracts.PublishedVersion) and found.proposed:
        found = _routed(dependencies, request, found)
    details = request.details(lambda: found)
    warned = _warned(found.warnings)
    if isinstance(found, published_contracts.NewProposal):
        waiting = {"id": compiled.id, "version": found.version, "proposal": found.proposal, **details}
        return HttpResponse(202, {**waiting, "expiresAt": found.expires_at}, warned)
    place = {"location": f"{PATH}/{quote_url(compiled.id, safe='')}"}
    answer: object = {"id": compiled.id, **details} if details else compiled.id
    if found.proposed and not details:  # it was not added, so that the next call of a manager fails
        answer = {"id": compiled.id, "routes": [], "warnings": _located(found.warnings)}
    return HttpResponse(200, answer, {**place, **warned})


def _routed(dependencies: Dependencies, request: HttpRequest, found: PublishedVersion) -> PublishedVersion:
    """The publication with the route that it proposes, if that may be added; a warning says so, or why not."""
    from lakegate.gate.registry.routes import RouteOwner  # noqa: PLC0415 - for a first version alone
    from lakegate.library.published_contracts import DatasetRoute  # noqa: PLC0415 - likewise
    from lakegate.library.published_routes import add_proposed  # noqa: PLC0415 - likewise

    try:
        add_proposed(dependencies, found.proposed, found.contract, RouteOwner(request.own, request.prefixes))
    except InputError as error:
        text = f"No route delivers to the contract. It proposes {quote(found.proposed)}, which was not added: {error}."
        return replace(found, warnings=(*found.warnings, Problem("proposed-route", LOCATION, None, text)))
    text = (
        f"What lands below {quote(found.proposed)} is delivered to the contract: the route that it proposes was added."
    )
    routes = dependencies.registry.contract(found.contract).routes
    return replace(
        found,
        proposed="",
        routes=tuple(select_fields(DatasetRoute, route) for route in routes),
        warnings=(*found.warnings, Problem("proposed-route", LOCATION, None, text)),
    )


def _refuse_effects(found: PublicationEffects) -> None:
    """Raise HttpProblem where a publication has effects, which the request does not confirm."""
    if found.effects:
        detail = "Publishing has effects that may be unexpected: repeat the request with `confirm=true`."
        raise HttpProblem(409, "confirmation-needed", detail, **encode(found))


def _warned(warnings: Sequence[Problem]) -> Mapping[str, str]:
    """The header with what is warned of, as DCM's answer is the contract's id alone: how many, and the first ones, in ASCII."""
    shown = _located(warnings)
    while len(text := json.dumps({"count": len(warnings), "warnings": shown})) > MOST_OF_HEADER:
        shown = shown[:-1]
    return {WARNINGS: text} if warnings else {}


def contract(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """GET /api/v1/data-contract/{id}: DCM's representation of the highest version, or of the one that `version` names.

    With the parameter `inUse` it is the version by which deliveries are judged now.
    """
    name, wanted = request.path.get("id", ""), {request.path.get(VERSION), request.query.get(VERSION)} - {None}
    snapshot = usable_contract(dependencies, request, name)
    found = newest(version for version in snapshot.versions if wanted <= {version.version})
    is_used = found is not None and not wanted and request.flag("inUse")
    if is_used:
        from lakegate.gate.registry.version_in_use import version_in_use  # noqa: PLC0415 - for this parameter alone

        found = version_in_use(dependencies, snapshot, name)
    if found is None:
        raise HttpProblem(
            404, "not-found", "No contract is published with this id" + (" and version." if wanted else ".")
        )
    text = dependencies.read_lake(found.document)
    body = {**summary(found), **_actors(text), "content": text.decode("utf-8", "replace")}
    if request.flag("details"):
        from lakegate.library.published_contracts import document_in  # noqa: PLC0415 - for this parameter alone

        body["details"] = encode(document_in(dependencies, snapshot, found, is_used=is_used))
    return HttpResponse(200, body)


def contracts(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """GET /api/v1/data-contract: the newest versions with all given labels, in upper or lower case; one page of them.

    A page may have no contracts and a cursor: it holds what one bounded read of the registry found.
    """
    page, cursor = page_of_registry(dependencies, request)
    wanted = {name: request.query[name].casefold() for name in LABELS if name in request.query}
    fitting = []
    for contract in page.contracts:
        each = newest(contract.versions)
        if each is not None and request.allows(each.contract) and _has(each, wanted):
            fitting.append({**summary(each), **_details(dependencies, request, contract)})
    return HttpResponse(200, {"contracts": fitting, "cursor": cursor})


def retire(dependencies: Dependencies, request: HttpRequest) -> HttpResponse:
    """DELETE /api/v1/data-contract/{id}: begin the end of all its datasets, as `lakegate deprecate` does; what is known of each.

    Versions, accepted data and the ledger stay. A dataset whose days of sunset are over is retired.
    """
    from lakegate.gate.datasets.dataset_states import DatasetStatus, Ending  # noqa: PLC0415 - for this route alone
    from lakegate.gate.datasets.lifecycle import advance_end, change, lifecycle_of, side_effects  # noqa: PLC0415 - likewise
    from lakegate.gate.ledger.commit import is_one_line  # noqa: PLC0415 - likewise

    name = request.path["id"]
    seen = published_contract(dependencies, request, name)
    reason, replacement = (request.query.get(each, "").strip() for each in ("reason", "replacement"))
    if not (is_one_line(reason) and is_one_line(replacement)):
        detail = f"`reason` and `replacement` are each one line of at most {LONGEST_REASON} characters."
        raise HttpProblem(400, "invalid-parameter", detail)
    if dependencies.places.needs_approval:
        raise InputError("on this stack a contract is retired with rights in the account (lakegate deprecate)")
    ending, now = Ending(reason, replacement), dependencies.moment
    names = sorted({each.full_name(dataset) for each in seen.standing for dataset in each.datasets})
    before = [dependencies.datasets.get(each) for each in names]
    changes = [(each, advance_end(each, now, ending)) for each in before]
    effects = [
        text
        for old, new in changes
        if new.status_at(now) is DatasetStatus.RETIRED
        for text in side_effects(dependencies, old, new, now)
    ]
    if effects and not request.flag("confirm"):
        detail = "Deliveries would be refused: repeat the request with `confirm=true`."
        raise HttpProblem(409, "confirmation-needed", detail, effects=effects, children=[])
    after = [
        dependencies.run(change(dependencies, each.name, _act(each, now), partial(advance_end, ending=ending)))
        for each in before
    ]
    found = [encode(lifecycle_of(each, dependencies.moment)) for each in after]
    return HttpResponse(200, {"id": name, "lines": found})


def _act(dataset: DatasetState, now: str) -> str:
    """The act that the ledger records."""
    return "deprecate" if dataset.status_at(now) == "active" else "retire"


def _has(version: Publication, wanted: Mapping[str, str]) -> bool:
    """Whether a version has labels, which are in lower case."""
    return set(wanted.items()) <= {(label, text.casefold()) for label, text in version.labels}


def _details(dependencies: Dependencies, request: HttpRequest, contract: RegistrySnapshot) -> dict[str, object]:
    """With the parameter `details`, all versions of a contract, as commands print them."""
    if not request.flag("details"):
        return {}
    from lakegate.library.published_contracts import described  # noqa: PLC0415 - for this parameter alone

    return {"details": encode(described(dependencies, contract, {}))}


def _refuse_another(request: HttpRequest, contract: str) -> None:
    """Raise HttpProblem for a contract that is not the one of the address, or that the caller may not use."""
    if request.path.get("id", contract) != contract:
        detail = f"The document is of the contract {quote(contract)}, which is not the one that the address names."
        raise HttpProblem(400, "invalid-parameter", detail)
    if not request.allows(contract):
        raise HttpProblem(403, "another-contract", "The token is limited to other contracts.")


def _day(dependencies: Dependencies, request: HttpRequest) -> str:
    """The day from which contracts inherit from the version; empty for now. Raises HttpProblem for a text that is no day."""
    written = request.query.get("from")
    try:
        return "" if written is None else beginning_of(written, dependencies.now)
    except InputError as error:
        raise HttpProblem(400, "invalid-parameter", f"`from`: {error}.") from None


def newest(versions: Iterable[Publication]) -> Publication | None:
    """The version with the highest number; a withdrawn one only where there is no other."""
    return max(versions, key=lambda each: (each.status != WITHDRAWN, each.precedence), default=None)


def summary(publication: Publication) -> dict[str, object]:
    """A version without its document; producer and consumer are those that a DCM document names."""
    labels = dict(publication.labels)
    return {
        "id": publication.id,
        "version": publication.version,
        "status": publication.status,
        "tags": [value for name, value in publication.labels if name == "tag"],
        **{name: {"name": labels[name]} if name in labels else None for name in ACTORS},
    }


def document_in(request: HttpRequest) -> bytes:
    """The document: a text in JSON, or the body itself if it is YAML. Raises HttpProblem."""
    kind = media_type(request)
    if kind in YAML:
        return request.body
    if kind != JSON:
        detail = "Send the document as a JSON string (`application/json`) or as YAML (`application/yaml`)."
        raise HttpProblem(415, "unsupported-media-type", detail)
    try:
        text = json.loads(request.body)
        if isinstance(text, str):
            return text.encode()
    except (ValueError, RecursionError):
        pass
    raise HttpProblem(400, "invalid-body", "The body is not a JSON string that contains the document.")


@lru_cache(KEPT_DOCUMENTS)
def _actors(text: bytes) -> Mapping[str, object]:
    """Name and group of producer and consumer, as the document has them."""
    from lakegate.contract.documents.read_document import document_of  # noqa: PLC0415 - as above

    top = document_of(text).top
    return {
        name: {"name": top[name]["name"].text, "group": top[name]["group"].text} if top[name].entries else None
        for name in ACTORS
    }


def _located(problems: Iterable[Problem]) -> list[dict[str, object]]:
    return [asdict(problem) for problem in problems]
