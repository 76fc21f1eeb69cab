"""The ports of the gate and of features: the Protocols that adapters and their doubles in memory fulfil."""

from __future__ import annotations

import ast
import re

from tests.unit.repository.layers import ROOT, nodes_of, product

PORTS = {
    node.name: (file, node)
    for file in product()
    if file.parts[:2] in {("lakegate", "gate"), ("lakegate", "features")}
    for node in nodes_of(file)
    if isinstance(node, ast.ClassDef) and any(ast.unparse(base).startswith("Protocol") for base in node.bases)
}


def test_every_method_of_a_port_is_documented() -> None:
    """What a method guarantees is written at the port: its adapters and doubles follow it."""
    methods = [
        (name, each) for name, (_, port) in PORTS.items() for each in port.body if isinstance(each, ast.FunctionDef)
    ]

    assert len(methods) > len(PORTS)
    assert [
        f"{name}.{each.name}" for name, each in methods if each.name[0] != "_" and not ast.get_docstring(each)
    ] == []


def test_the_architecture_lists_every_port_of_the_gate() -> None:
    """Section 7 has each port of the gate, and no others; a feature's ports stand in its folder."""
    section = (ROOT / "docs/architecture.md").read_text().partition("\n## 7. ")[2].partition("\n\nEvery writing")[0]
    rows = "".join(re.findall(r"^\| [^|]+\|(.*)\|$", section, re.MULTILINE))

    assert set(re.findall(r"`(\w+)`", rows)) == {name for name, (file, _) in PORTS.items() if file.parts[1] == "gate"}
