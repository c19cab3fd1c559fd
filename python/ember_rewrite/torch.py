"""The backend "ember" of `torch.compile`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import EmberError, compile

log = logging.getLogger("ember_rewrite")


class Closed(torch.nn.Module):
    """A graph whose parameters and buffers are held instead of passed."""

    def __init__(self, graph: torch.fx.GraphModule, held: dict[int, torch.Tensor]):
        super().__init__()
        self.graph_module = graph
        self.places = sorted(held)
        for place in self.places:
            self.register_buffer(f"held_{place}", held[place].detach())

    def forward(self, *free: torch.Tensor) -> Any:
        passed = list(free)
        for place in self.places:
            passed.insert(place, getattr(self, f"held_{place}"))
        return self.graph_module(*passed)


class Compiled:
    """A graph that is compiled when it is first called with data."""

    def __init__(self, graph: torch.fx.GraphModule, options: dict[str, Any]):
        self.graph = graph
        self.options = options
        names = [node.target for node in graph.graph.nodes if node.op == "placeholder"]
        self.belongs = ["_parameters_" in name or "_buffers_" in name for name in names]
        self.program: Any = None
        self.version: list[tuple[int, int]] | None = None
        """The addresses and versions of the held tensors; None before the first call."""

    def __call__(self, *inputs: Any) -> Any:
        if torch.is_grad_enabled() and any(
            isinstance(value, torch.Tensor) and value.requires_grad for value in inputs
        ):
            log.info("a call needs gradients, so PyTorch runs it; `torch.no_grad()` turns them off")
            return self.graph(*inputs)
        held = {place: inputs[place] for place, own in enumerate(self.belongs) if own}
        free = [value for place, value in enumerate(inputs) if place not in held]
        version = [(value.data_ptr(), value._version) for value in held.values()]
        if version != self.version:
            self.version = version
            self.program = self._compiled(held, free)
        if self.program is None:
            return self.graph(*inputs)
        results = self.program(*free)
        return results if isinstance(results, tuple) else (results,)

    def _compiled(self, held: dict[int, torch.Tensor], free: Sequence[Any]) -> Any:
        """Compiles the graph; returns None, and says why, if it has no counterpart."""
        if not all(isinstance(value, torch.Tensor) for value in free):
            log.warning("PyTorch runs a graph: it takes numbers; compile with `dynamic=False`")
            return None
        try:
            return compile(Closed(self.graph, held), free, **self.options)
        except EmberError as error:
            log.warning("PyTorch runs a graph: %s", error)
        except Exception as error:  # `torch.export` raises exceptions of many types.
            log.warning("PyTorch runs a graph that cannot be exported: %s", error)
        return None


def backend(
    graph: torch.fx.GraphModule, example_inputs: Sequence[Any], **settings: Any
) -> Callable[..., Any]:
    """Compiles a graph of `torch.compile`; `options` are keywords of `ember_rewrite.compile`."""
    return Compiled(graph, dict(settings.get("options") or {}))
