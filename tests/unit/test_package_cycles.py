"""The layers of docs/architecture.md have an order."""

from __future__ import annotations

from graphlib import TopologicalSorter

from tests.unit.layers import covers, layer_of, layers, product


def test_the_layers_have_an_order() -> None:
    """No layer may import another one that may import it, directly or through others."""
    graph = {
        name: {
            other.name
            for other in {layer_of(file) for file in product() for each in layer.imports if covers(each, file)}
            if other.name != name
        }
        for name, layer in layers().items()
    }

    assert len(list(TopologicalSorter(graph).static_order())) >= len(layers()) > 20
