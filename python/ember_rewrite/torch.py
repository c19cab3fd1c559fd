"""The backend "ember" of `torch.compile`."""

from __future__ import annotations

import logging
import operator
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.fx.passes.split_module import split_module

from . import EmberError, NativeProgram, _native, compile
from ._native import Graph

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


class Part(torch.nn.Module):
    """A part of a graph that is compiled when it is first called with data; PyTorch runs it if that fails."""

    def __init__(self, graph: torch.fx.GraphModule, options: dict[str, Any]):
        super().__init__()
        self.graph = graph
        self.options = options
        self.program: Any = None
        self.shapes: list[torch.Size] | None = None
        self.is_tuple, self.dtypes = _results(graph)

    def forward(self, *inputs: torch.Tensor) -> Any:
        shapes = [value.shape for value in inputs]
        if shapes != self.shapes:
            self.shapes = shapes
            self.program = self._compiled(inputs)
        if self.program is None:
            return self.graph(*inputs)
        results = self.program(*inputs)
        results = _as_dtypes(results, self.dtypes)
        return results if self.is_tuple else results[0]

    def _compiled(self, inputs: Sequence[torch.Tensor]) -> Any:
        try:
            return compile(self.graph, inputs, **self.options)
        except EmberError as error:
            log.warning("PyTorch runs a part of a graph: %s", error)
        except Exception as error:  # `torch.export` raises exceptions of many types.
            log.warning("PyTorch runs a part of a graph that cannot be exported: %s", error)
        return None


def partitioned(module: torch.nn.Module, inputs: Sequence[torch.Tensor], options: dict[str, Any]) -> Any:
    """Returns a module as one to call, whose parts with counterparts are compiled; None if there are none.

    Operators without a counterpart are those that the importer does not know, by the rows of `rules/import/torch.rows`.
    An operator's level is the number of changes between the compiled parts and PyTorch's on the way to it, so that what
    has one level can run together, and levels in order keep the flow of data.
    """
    exported = torch.export.export(module, tuple(inputs)).run_decompositions({})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.pt2")
        torch.export.save(exported, path)
        missing = dict(_native.missing(str(path)))
    for name, reason in missing.items():
        log.warning("PyTorch runs `%s`: %s", name, reason)
    graph = exported.module()
    levels: dict[torch.fx.Node, int] = {}
    computes: set[int] = set()
    for node in graph.graph.nodes:
        if node.op not in ("call_function", "call_module", "call_method"):
            continue
        before = [levels[operand] for operand in node.all_input_nodes if operand in levels]
        level = max(before, default=0)
        # Elements of a list of results stay with what computes it.
        if node.target is not operator.getitem:
            is_pytorchs = node.name in missing or not _is_aten(node.target)
            level += is_pytorchs if level % 2 == 0 else not is_pytorchs
            if level % 2 == 0 and not getattr(node.target, "is_view", False):
                computes.add(level)
        levels[node] = level
    if not computes:
        return None
    whole = split_module(graph, graph, levels.__getitem__)
    compiled = 0
    for name, part in list(whole.named_children()):
        level = name.removeprefix("submod_")
        if level.isdigit() and int(level) in computes and _takes_tensors(part):
            setattr(whole, name, Part(part, options))
            compiled += 1
    if not compiled:
        return None
    log.info("%d parts of a graph are compiled; PyTorch runs %d operators", compiled, len(missing))
    return whole


def _results(graph: torch.fx.GraphModule) -> tuple[bool, list[torch.dtype | None]]:
    """Returns True if a graph returns a tuple, and the types of what it returns, as far as it says them."""
    (results,) = next(node for node in graph.graph.nodes if node.op == "output").args
    is_tuple = isinstance(results, (tuple, list))
    known = [
        node.meta.get("val", node.meta.get("example_value")) if isinstance(node, torch.fx.Node) else None
        for node in (results if is_tuple else [results])
    ]
    return is_tuple, [value.dtype if isinstance(value, torch.Tensor) else None for value in known]


def _as_dtypes(results: Any, dtypes: Sequence[torch.dtype | None]) -> tuple[Any, ...]:
    """Returns results as tensors of these types, where they are known."""
    results = results if isinstance(results, (tuple, list)) else (results,)
    return tuple(value if dtype is None else value.to(dtype) for value, dtype in zip(results, dtypes))


def _is_aten(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target.namespace == "aten"


def _takes_tensors(part: torch.nn.Module) -> bool:
    """Returns True if all that a part takes and returns are tensors."""
    if not isinstance(part, torch.fx.GraphModule):
        return False
    ends: list[Any] = []
    for node in part.graph.nodes:
        if node.op == "placeholder":
            ends.append(node)
        elif node.op == "output":
            ends += node.all_input_nodes
    return all(isinstance(node.meta.get("val"), torch.Tensor) for node in ends)


class Compiled:
    """A graph that is compiled when it is first called with data."""

    def __init__(self, graph: torch.fx.GraphModule, options: dict[str, Any]):
        self.graph = graph
        self.options = options
        names = [node.target for node in graph.graph.nodes if node.op == "placeholder"]
        self.belongs = ["_parameters_" in name or "_buffers_" in name for name in names]
        _, self.dtypes = _results(graph)
        self.program: Any = None
        self.version: list[tuple[int, int]] | None = None
        """The addresses and versions of the held tensors; None before the first call."""
        self.as_is = torch.bool not in self.dtypes
        """True if the graph returns what a program does; a program has numbers for truth values."""
        self.call = Graph(self._slowly, torch.is_grad_enabled)
        """The function to call."""

    def _slowly(self, *inputs: Any) -> Any:
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
            self.call.rest()
        if self.program is None:
            return self.graph(*inputs)
        results = self.program(*free)
        if self.as_is and isinstance(self.program, NativeProgram) and not self.program.copies:
            direct, make = self.program.direct, self.program.make
            if direct is not None and make is not None:
                addresses = [(place, value.data_ptr()) for place, value in held.items()]
                self.call.serve(direct, make, addresses, [place for place in range(len(inputs)) if place not in held])
        return _as_dtypes(results, self.dtypes)

    def _compiled(self, held: dict[int, torch.Tensor], free: Sequence[Any]) -> Any:
        """Compiles the graph, or its parts; returns None, and says why, if nothing has a counterpart."""
        if not all(isinstance(value, torch.Tensor) for value in free):
            log.warning("PyTorch runs a graph: it takes numbers; compile with `dynamic=False`")
            return None
        closed = Closed(self.graph, held)
        try:
            return compile(closed, free, **self.options)
        except EmberError as error:
            reason = str(error)
        except Exception as error:  # `torch.export` raises exceptions of many types.
            log.warning("PyTorch runs a graph that cannot be exported: %s", error)
            return None
        try:
            with torch.no_grad():
                parts = partitioned(closed, free, self.options)
        except Exception as error:
            parts, reason = None, f"{reason}; in parts: {error}"
        if parts is None:
            log.warning("PyTorch runs a graph: %s", reason)
        return parts


def backend(
    graph: torch.fx.GraphModule, example_inputs: Sequence[Any], **settings: Any
) -> Callable[..., Any]:
    """Compiles a graph of `torch.compile`; `options` are keywords of `ember_rewrite.compile`."""
    return Compiled(graph, dict(settings.get("options") or {})).call
