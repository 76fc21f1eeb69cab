"""Mermaid diagrams, drawn while the site is built: a page needs no script of another host."""

from __future__ import annotations

import mmdr


def fence(source: str, language: str, css_class: str, options: object, md: object, **_: object) -> str:  # noqa: ARG001 - given by pymdownx
    """The SVG of a code block in Mermaid; an error of mmdr ends the build."""
    return f'<div class="{css_class}">{mmdr.render(source).svg()}</div>'
