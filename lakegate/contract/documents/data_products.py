"""Contracts found by file name, or generated from product ports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

import yaml

from lakegate.base.errors import ContractError, Problem
from lakegate.base.text import did_you_mean, quote
from lakegate.contract.documents.dcs import TYPES
from lakegate.contract.documents.document_tree import Place
from lakegate.contract.documents.key_table import ODCS_TYPES
from lakegate.contract.documents.read_document import parse
from lakegate.contract.physical_types import PHYSICAL

# ---- Contracts by file name ----


CONTRACT = re.compile(
    r"(?:.*[-.])?datacontract\.(?:ya?ml|json)|datacontract-.*\.ya?ml|.*\.(?:odcs|dcs|dcm)\.(?:ya?ml|json)"
)
PRODUCT = re.compile(r"floe\.ya?ml")


def is_contract_name(name: str) -> bool:
    """Whether the name of a file says that it is a contract, whatever is in it."""
    return CONTRACT.fullmatch(PurePosixPath(name).name) is not None


# ---- A contract from the ports of a data product ----
#     metadata: {name: customer-360, version: 1.2.0, owner: sales-data, domain: sales, description: …}
#     output_ports:
#       - name: customers
#         description: One row per customer.
#         columns:
#           - {name: id, type: bigint, required: true, primary_key: true, description: …, classification: internal,
#           pii: false}
#
#     input_ports:
#       - {name: orders, contractId: shop.orders, version: 1.0.0}
#
# becomes an ODCS 3.1 document with status `draft`: it is a proposal until its owner activates it. `outputPorts` and
# `primaryKey` are accepted too, `schema` or `fields` for `columns`, and `contract` for `contractId`. A product of ODPS 1.0 has
# the same keys at its root. A port that names its contract, and no columns, is no part of this one.


PORTS = ("output_ports", "outputPorts")
INPUTS = ("input_ports", "inputPorts")
COLUMNS = ("columns", "schema", "fields")
KEYS = ("primary_key", "primaryKey")
CONTRACTS = ("contractId", "contract_id", "contract")
INPUT_CONTRACTS = "inputContracts"
"""The key of ODPS for the contracts that an output port relies on, and of the generated contract for those of the product."""
ODPS = re.compile(rb"(?m)^kind[ \t]*:[ \t]*[\"']?DataProduct\b")
FIRST_VERSION = "0.1.0"
LOGICAL = {**PHYSICAL, **TYPES}


@dataclass(frozen=True, slots=True)
class NamedContract:
    """A contract that a port names."""

    id: str
    version: str | None
    port: str
    place: Place


def is_product(name: str, text: bytes) -> bool:
    """Whether a file describes a data product: by its name, or as ODPS says it."""
    return PRODUCT.fullmatch(PurePosixPath(name).name) is not None or ODPS.search(text) is not None


def named_contracts(text: bytes) -> tuple[tuple[NamedContract, ...], tuple[NamedContract, ...]]:
    """The contracts that the input ports of a product rely on, and those that its output ports have. Raises ContractError."""
    top = parse(text).top
    outputs = _first(top, PORTS).items
    inputs = [*_first(top, INPUTS).items, *(item for port in outputs for item in port[INPUT_CONTRACTS].items)]
    return tuple(filter(None, map(_read_port, inputs))), tuple(filter(None, map(_read_port, outputs)))


def _read_port(port: Place) -> NamedContract | None:
    place = _first(port, (*CONTRACTS, "id"))
    if not place.text:
        return None
    return NamedContract(place.text, port["version"].written or None, port["name"].text or place.text, place)


def has_ports_to_generate(text: bytes) -> bool:
    """Whether a product has an output port that does not only name its contract, or none at all. Raises ContractError."""
    ports = _first(parse(text).top, PORTS).items
    return not ports or any(_is_described(port) for port in ports)


def _is_described(port: Place) -> bool:
    return bool(_first(port, COLUMNS).items) or _read_port(port) is None


def generate_contract(text: bytes) -> bytes:
    """The contract of a product's document, as YAML; ContractError with all problems of the ports."""
    top, problems = parse(text).top, list[Problem]()
    metadata, ports = top["metadata"], _first(top, PORTS)
    name = metadata["name"].text or top["name"].text
    if not name:
        problems.append(_problem("missing-key", metadata, "The product has no name: add `metadata.name`."))
    if not ports.items:
        problems.append(_problem("no-dataset", ports, "The product declares no port: add `output_ports`."))
    described = [port for port in ports.items if _is_described(port)]
    if ports.items and not described:
        problems.append(
            _problem("no-dataset", ports, "Each port names a contract of its own: describe `columns` instead.")
        )
    objects = [_object(port, problems) for port in described]
    if problems:
        raise ContractError(tuple(problems))
    version, domain, description = (
        metadata[key] if metadata[key].present else top[key] for key in ("version", "domain", "description")
    )
    purpose, owner = description.text or description["purpose"].text, metadata["owner"].text or top["team"]["name"].text
    relied = [_present({"id": entry.id, "version": entry.version}) for entry in named_contracts(text)[0]]
    contract: dict[str, object] = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": name,
        "name": name,
        "version": version.written or FIRST_VERSION,
        "status": "draft",
        "domain": domain.text,
        "description": {"purpose": purpose} if purpose else None,
        "team": {"name": owner} if owner else None,
        "schema": objects,
        "customProperties": [{"property": INPUT_CONTRACTS, "value": relied}] if relied else None,
    }
    return yaml.safe_dump(_present(contract), sort_keys=False, allow_unicode=True, width=120).encode()


def _object(port: Place, problems: list[Problem]) -> dict[str, object]:
    if not port["name"].text:
        problems.append(_problem("missing-key", port, "The port has no name: add `name`."))
    columns = _first(port, COLUMNS)
    if not columns.items:
        problems.append(_problem("no-field", port, "The port names no columns: add `columns`."))
    return _present(
        {
            "name": port["name"].text,
            "description": port["description"].text,
            "properties": [_property(column, problems) for column in columns.items],
        }
    )


def _property(column: Place, problems: list[Problem]) -> dict[str, object]:
    declared = column["type"].text or ""
    logical = LOGICAL.get(declared.partition("(")[0].strip().lower())
    if not column["name"].text:
        problems.append(_problem("missing-key", column, "The column has no name: add `name`."))
    if logical is None:
        hint = did_you_mean(declared, LOGICAL)
        problems.append(_problem("unknown-type", column["type"], f"{quote(declared)} is not a known type.{hint}"))
    written = ODCS_TYPES[logical][0] if logical else None
    return _present(
        {
            "name": column["name"].text,
            "logicalType": written,
            "physicalType": declared if declared.lower() != (written or "") else None,
            "description": column["description"].text,
            "required": column["required"].flag or None,
            "unique": column["unique"].flag or None,
            "primaryKey": _first(column, KEYS).flag or None,
            "classification": column["classification"].text,
            "customProperties": [{"property": "pii", "value": True}] if column["pii"].flag else None,
        }
    )


def _first(place: Place, keys: tuple[str, ...]) -> Place:
    return next((place[key] for key in keys if place[key].present), place[keys[0]])


def _present(document: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if value is not None}


def _problem(code: str, place: Place, message: str) -> Problem:
    return Problem(code, place.path, place.mark.line, message)
