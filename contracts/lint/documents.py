"""Lints of a document except its datasets: keys without effect, links, tags, servers, team and price."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.contracts.documents.odcs import WITH_VARIABLES
from lakegate.contracts.lint.walk import extensions_of, settings_of
from lakegate.contracts.model.placeholders import PLACEHOLDERS, VARIABLE
from lakegate.contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract

LINK = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:\S+|\$\{.*)")
LINK_KEYS = ("url", "migration_guide", "invitationUrl", "endpointUrl")
LOCATIONS = {"s3": ("s3://",), "sftp": ("sftp://",), "azure": ("az://", "abfss://", "https://"), "gcs": ("gs://",)}
"""The URL schemes of server types."""
CURRENCY = re.compile(r"[A-Z]{3}")


def not_a_link(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A link has a scheme."""
    links = (each for place in document.named("links") for each in place.entries.values())
    for place in (*document.named(*LINK_KEYS), *links):
        if place.text and not LINK.fullmatch(place.text.strip()):
            yield place.path, f"{shown(place.text)} is not a link: write its scheme, e.g. `https://`."


def repeated_tag(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A tag is written once in its list."""
    for place in document.named("tags"):
        seen: set[str] = set()
        for each in place.items:
            if each.text and each.text.casefold() in seen:
                yield each.path, f"The tag {shown(each.text)} is there already: remove it."
            seen.add((each.text or "").casefold())


def repeated_server(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Every server has a name of its own."""
    seen: set[str] = set()
    for server in contract.about.servers:
        if server.name and server.name in seen:
            message = f"Another server is called {shown(server.name)}: give each its own name."
            yield f"{server.origin.path}.server", message
        seen.add(server.name)


def other_location(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The location of a server is of the server's type."""
    for server in contract.about.servers:
        beginnings, location = LOCATIONS.get(server.type.casefold(), ()), server.settings.get("location")
        if beginnings and isinstance(location, str) and not location.startswith((*beginnings, "${")):
            message = f"A location of {server.type} begins with {' or '.join(map(shown, beginnings))}."
            yield f"{server.origin.path}.location", message


def unknown_member(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A replacement of a team member is a member of the team."""
    team = document.top["team"]
    members = team["members"].items or team.items
    names = {each["username"].text for each in members}
    for each in members:
        follower = each["replacedByUsername"].text
        if follower and follower not in names:
            hint = did_you_mean(follower, [name for name in names if name])
            yield f"{each.path}.replacedByUsername", f"{shown(follower)} is not a member of the team.{hint}"


def reversed_membership(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A member leaves after coming."""
    team = document.top["team"]
    for each in team["members"].items or team.items:
        came, left = each["dateIn"].text, each["dateOut"].text
        if came and left and len(came) == len(left) and left < came:
            yield f"{each.path}.dateOut", "The member would leave before coming: correct one of the dates."


def not_a_currency(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A currency is its code of three letters."""
    for place in (document.top["price"]["priceCurrency"], document.top["pricing"]["priceCurrency"]):
        if place.text and not CURRENCY.fullmatch(place.text):
            yield place.path, f"{shown(place.text)} is not a currency: write its code, e.g. `EUR`."


def unread_variable(contract: Contract, document: Document) -> Iterator[Finding]:
    """Variables stand in documents of a version that knows them: in others they are plain text."""
    if contract.format.removeprefix("ODCS ") in WITH_VARIABLES:
        return
    for place in (each for key, places in document.places.items() if key != "query" for each in places):
        found = VARIABLE.search(place.text or "")
        if found and found["name"] not in PLACEHOLDERS:
            yield place.path, f"{shown(found[0])} stays as it is: variables are replaced since ODCS 3.2."


def csv_conflict(_contract: Contract, document: Document) -> Iterator[Finding]:
    """What parts the values of a line is not what encloses them, and what parts thousands stands in no other place."""
    for place in extensions_of(document):
        csv = place["csv"]
        delimiter, quote = csv["delimiter"].text or ",", csv["quote"].text or '"'
        if csv.present and delimiter == quote:
            message = f"{shown(delimiter)} cannot part values and enclose them: choose another for one of the two."
            yield csv.path, message
        decimal, thousands = csv["decimalSeparator"].text or ".", csv["thousandsSeparator"].text
        if thousands == decimal:
            other = "," if decimal == "." else "."
            words = f"{shown(decimal)} cannot part thousands and the fraction of a number"
            yield csv.path, f"{words}: declare `decimalSeparator: {other!r}`, or another `thousandsSeparator`."
        if quote in {decimal, thousands}:
            message = f"{shown(quote)} cannot stand in numbers and enclose values: choose another for one of the two."
            yield csv.path, message


def idle_share(contract: Contract, document: Document) -> Iterator[Finding]:
    """How many rows may be refused matters only where rows are refused one by one."""
    for place, datasets in settings_of(contract, document, "maxRejectedShare"):
        if all(each.policy.on_reject.value != "rows" for each in datasets):
            yield place.path, "Whole files are refused, so no share counts: add `onReject: rows`."


def rewritten_rows(contract: Contract, document: Document) -> Iterator[Finding]:
    """Accepted and rejected rows are written to new files in UTF-8, so consumers would decode them wrongly."""
    for place, datasets in settings_of(contract, document, "csv", "encoding"):
        apart = {each.csv.encoding for each in datasets if each.policy.on_reject.value == "rows"}
        if not apart <= {"utf-8", "us-ascii"}:
            yield place.path, "Rows refused one by one are written in UTF-8: declare that, or refuse whole files."
