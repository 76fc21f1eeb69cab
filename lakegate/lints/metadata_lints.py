"""Owner, team, personal data, classification, servers, tags, links, price."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lakegate.base.text import did_you_mean, for_python, quote
from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.dcs import SCHEMAS
from lakegate.contract.documents.document_tree import Document, address, steps_of
from lakegate.contract.documents.schema_validation import server_messages
from lakegate.lints.findings import Finding, fields_of, find_repeated
from lakegate.rules.field_constraints import TEXT_FORMS

# ---- Keys, links, tags, servers, team and price ----


LINK = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:\S+|\$\{.*)")
LINK_KEYS = ("url", "migration_guide", "invitationUrl", "endpointUrl")
EMAIL = re.compile(for_python(TEXT_FORMS["email"].pattern))
TRANSFORMATIONS = {
    "DIRECT": ("IDENTITY", "TRANSFORMATION", "AGGREGATION"),
    "INDIRECT": ("JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"),
}
"""The subtypes of each type of transformation (DCS `lineage`)."""
LOCATIONS = {"s3": ("s3://",), "sftp": ("sftp://",), "azure": ("az://", "abfss://", "https://"), "gcs": ("gs://",)}
"""The URL schemes of server types."""
CURRENCY = re.compile(r"[A-Z]{3}")


def not_a_link(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A link has a scheme."""
    links = (entry for place in document.named("links") for entry in place.entries.values())
    for place in (*document.named(*LINK_KEYS), *links):
        if place.text and not LINK.fullmatch(place.text.strip()):
            yield place.path, f"{quote(place.text)} is not a link: write its scheme, e.g. `https://`."


def not_an_email(_contract: Contract, document: Document) -> Iterator[Finding]:
    """The address of a contact is one of email."""
    place = document.top["info"]["contact"]["email"]
    if place.text and not EMAIL.fullmatch(place.text):
        yield place.path, f"{quote(place.text)} is not an email address: write e.g. `team@example.com`."


def unknown_transformation(contract: Contract, document: Document) -> Iterator[Finding]:
    """The type of a transformation is `DIRECT` or `INDIRECT`, and its subtype one of that type."""
    if not contract.format.startswith("DCS"):
        return
    for step in (step for place in document.named("transformations") for step in place.items):
        known = TRANSFORMATIONS.get(step["type"].text or "")
        subtype = step["subtype"].text
        if known is None:
            place, words = step["type"], tuple(TRANSFORMATIONS)
        elif subtype and subtype.upper() not in known:
            place, words = step["subtype"], known
        else:
            continue
        if place.text:
            yield place.path, f"{quote(place.text)} is not known: write {', '.join(words[:-1])} or {words[-1]}."


def repeated_tag(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A tag is written once in its list."""
    for place in document.named("tags"):
        for item in find_repeated(place.items, lambda item: (item.text or "").casefold() or None):
            yield item.path, f"The tag {quote(item.text)} is there already: remove it."


def repeated_server(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Every server has a name of its own."""
    for server in find_repeated(contract.about.servers, lambda server: server.name or None):
        message = f"Another server is called {quote(server.name)}: give each its own name."
        yield f"{server.origin.path}.server", message


def other_location(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The location of a server is of the server's type."""
    for server in contract.about.servers:
        beginnings, location = LOCATIONS.get(server.type.casefold(), ()), server.settings.get("location")
        if beginnings and isinstance(location, str) and not location.startswith((*beginnings, "${")):
            message = f"A location of {server.type} begins with {' or '.join(map(quote, beginnings))}."
            yield f"{server.origin.path}.location", message


def server_field(contract: Contract, document: Document) -> Iterator[Finding]:
    """A server has the fields that its type requires, of their types."""
    if contract.format.startswith("DCS"):
        for server in document.top["servers"].entries.values():
            for _, steps, message in server_messages(server, SCHEMAS[contract.format.split()[1]]):
                place = document.at(address((*steps_of(server.path), *steps)))
                if not (place.text or "").startswith("${"):
                    yield place.path, message


def unknown_member(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A replacement of a team member is a member of the team."""
    team = document.top["team"]
    members = team["members"].items or team.items
    names = {member["username"].text for member in members}
    for member in members:
        follower = member["replacedByUsername"].text
        if follower and follower not in names:
            hint = did_you_mean(follower, [name for name in names if name])
            yield f"{member.path}.replacedByUsername", f"{quote(follower)} is not a member of the team.{hint}"


def reversed_membership(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A member leaves after coming."""
    team = document.top["team"]
    for item in team["members"].items or team.items:
        came, left = item["dateIn"].text, item["dateOut"].text
        if came and left and len(came) == len(left) and left < came:
            yield f"{item.path}.dateOut", "The member would leave before coming: correct one of the dates."


def not_a_currency(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A currency is its code of three letters."""
    for place in (document.top["price"]["priceCurrency"], document.top["pricing"]["priceCurrency"]):
        if place.text and not CURRENCY.fullmatch(place.text):
            yield place.path, f"{quote(place.text)} is not a currency: write its code, e.g. `EUR`."


PUBLIC = "public"
PERSONAL = re.compile(
    r"e_?mail|(?:first|last|full|sur|maiden)_?name|phone|mobile|ssn|cpf|passport|birth|iban|credit_?card|ip_?address",
    re.IGNORECASE,
)


def unclassified(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A field with personal data, or with a name that suggests it, has a classification."""
    if contract.format.startswith("DCM"):
        return
    for field in fields_of(contract):
        sounds = field.personal is None and PERSONAL.search(field.own_name) is not None
        if (field.personal or sounds) and not field.classification and not field.parts:
            message = f"{quote(field.name)} {'sounds like' if sounds else 'is'} personal data: add a `classification`."
            yield field.origin.path, message


def personal_but_public(contract: Contract, document: Document) -> Iterator[Finding]:
    """Personal data is not public: samples of public fields show raw values."""
    for field in fields_of(contract):
        if field.personal and (field.classification or "").casefold() == PUBLIC:
            place = document.at(field.origin.path)["classification"]
            yield place.path, f"{quote(field.name)} is personal data: its values would be shown in samples."


# ---- What a contract or its parent requires ----


OWNER, CLASSIFIED = "owner", "classified-personal-data"
OWNER_KEYS = {"ODCS": "$.team.name", "DCS": "$.info.owner", "DCM": "$.ownerGroup"}


def required_owner(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A contract has an owner, if it or a contract that it inherits from requires one."""
    if OWNER in contract.require and not (contract.about.owner or "").strip():
        path = OWNER_KEYS[contract.format.split()[0]]
        yield path, f"An owner is required: write the team into `{path.removeprefix('$.')}`."


def required_classification(contract: Contract, document: Document) -> Iterator[Finding]:
    """Personal data is classified, if the contract or one that it inherits from requires it."""
    if CLASSIFIED in contract.require:
        for path, message in unclassified(contract, document):
            yield path, f"Personal data must be classified. {message}"
