"""Compiled models: what they report, and calls."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np

from . import _native
from ._cpu import NativeProgram
from ._progress import shown

PathLike = Union[str, "os.PathLike[str]"]


class Report:
    """What a compilation found, in the form of `ember-rewrite --json`; `data` holds all of it."""

    def __init__(self, data: dict[str, Any]):
        self.data = data

    @property
    def cycles(self) -> int:
        """Cycles of the chosen program on the data that it was compiled with."""
        return self.data["best"]["cycles"]

    @property
    def energy_j(self) -> float:
        """Energy of that run in joules."""
        return self.data["best"]["energy_j"]

    @property
    def bound_cycles(self) -> int | None:
        """Cycles that no program can go below on this machine; None for a kernel, of which no bound is known."""
        return self.data["best"].get("bound_cycles")

    @property
    def bound_by(self) -> str | None:
        """The resource of the machine that sets the bound; None for a kernel."""
        return self.data["best"].get("bound_by")

    @property
    def stalls(self) -> list[dict[str, Any]]:
        """Cycles of each unit by what it did."""
        return self.data["best"]["stalls"]

    @property
    def programs(self) -> list[dict[str, Any]]:
        """Every program that was run: with `compare=True` also those of the other schedules."""
        return self.data["programs"]

    def __repr__(self) -> str:
        of_bound = "" if self.bound_cycles is None else f"{self._of_bound(self.cycles)} of the bound, "
        return (
            f"<{self.data['model']} on {self.data['target']}: {self.cycles} cycles, {of_bound}{self.energy_j:.3g} J>"
        )

    def _of_bound(self, cycles: int | None) -> str:
        """Returns the share of the bound in a run of so many cycles."""
        return f"{self.bound_cycles / cycles:.1%}" if cycles and self.bound_cycles is not None else "-"

    def _repr_html_(self) -> str:
        def table(heads: list[str], rows: list[list[str]]) -> str:
            cells = lambda tag, row: "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
            body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
            return f"<table><thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table>"

        programs = [
            [
                program["name"],
                "no program" if program["cycles"] is None else f"{program['cycles']:,}",
                f"{program['energy_j']:.3g}",
                self._of_bound(program["cycles"]),
            ]
            for program in self.programs
        ]
        activities = ["busy", "memory", "full", "empty", "dispatch", "idle"]
        units = [
            [unit["name"], *(f"{unit[activity] / max(self.cycles, 1):.1%}" for activity in activities)]
            for unit in self.stalls
        ]
        title = html.escape(f"{self.data['model']} on {self.data['target']}")
        return (
            f"<h4>{title}</h4>"
            + table(["program", "cycles", "energy (J)", "of the bound"], programs)
            + table(["unit", *activities], units)
        )


class Program:
    """A compiled model or kernel. Calling it runs it in the simulator."""

    def __init__(self, native: _native.Native):
        self._native = native
        self.report = Report(json.loads(native.report()))
        self.cycles: int | None = None
        """Cycles of the last call; None before the first."""

    @property
    def dlc(self) -> str:
        """The decoupled program as DLC text."""
        return self._native.dlc()

    def mlir(self) -> str:
        """The model's loops as MLIR text, in the dialects scf, memref and arith."""
        return self.text("mlir")

    def text(self, form: str) -> str:
        """Returns the program in a form that `ember-rewrite --emit` names, such as "slc" or "mlir-dlc"."""
        return self._native.text(form)

    @property
    def arguments(self) -> list[str]:
        """The names of the model's arguments, in order."""
        return self._native.arguments()

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Runs the program on NumPy arrays or PyTorch tensors, in the order of the arguments or by name.

        Returns:
            The output, or a tuple of them: tensors if any input is one, else arrays.

        Raises:
            EmberError: if the arrays do not fit the model.
        """
        flat = flattened(inputs)
        arrays = {**numbered(flat), **{name: array(value) for name, value in named.items()}}
        outputs, self.cycles, _ = self._native.call(arrays)
        results = [value for _, value in outputs]
        if any(is_tensor(value) for value in [*flat, *named.values()]):
            import torch

            results = [torch.from_numpy(value) for value in results]
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"Program({self.report!r})"


def compile(
    model: Any,
    example_inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    target: PathLike = "tmu-cpu-plus",
    exact: str = "bitwise",
    schedule: str = "search",
    rules: Sequence[PathLike] = ("default",),
    seed: int | None = None,
    compare: bool = False,
    threads: int = 1,
) -> Program | NativeProgram:
    """Compiles a model.

    Args:
        model: a `torch.nn.Module`, or the path of a program that a framework exported, of a model's text, or of a kernel
            in MLIR text.
        example_inputs: arrays or tensors, in the order of the arguments (tuples and lists in them count one by one) or
            by name. A module needs them. Without them, a file's data is what it describes, made by `seed`, and that of a
            kernel is random. Of a kernel, what it writes may be left out, and is zero then.
        target: the name of a machine, or the file that describes it. One without an access unit, such as "cpu", stands
            for this machine: the result is a `NativeProgram`, which calls a compiled function.
        exact: "bitwise", "reassoc" (sums may be reordered) or "approx".
        schedule: the schedule of the rules that makes the program; for this machine "native" stands for "search".
        rules: files and folders of rules; "default" stands for those of the package.
        seed: the seed of data that is not given.
        compare: True to compile and run the programs of the other schedules, too.
        threads: the threads that share the rows of loops, on this machine.

    Raises:
        EmberError: if something is not well-formed or has no counterpart, with its place.
    """
    if example_inputs is None:
        arrays = None
    elif isinstance(example_inputs, Mapping):
        arrays = {name: array(value) for name, value in example_inputs.items()}
    else:
        arrays = numbered(flattened(example_inputs))
    settings = dict(
        rules=[os.fspath(path) for path in rules],
        target=os.fspath(target),
        schedule=schedule,
        exact=exact,
        seed=seed,
        compare=compare,
        threads=threads,
    )
    if isinstance(model, (str, os.PathLike)):
        return _compiled(os.fspath(model), arrays, settings)
    if not hasattr(model, "state_dict"):
        raise TypeError(f"a model is a torch.nn.Module or a path, not {type(model).__name__}")
    if example_inputs is None or isinstance(example_inputs, Mapping):
        raise TypeError("a module needs example inputs, in the order of its arguments")
    import torch

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{type(model).__name__.lower()}.pt2")
        with torch.no_grad():
            torch.export.save(torch.export.export(model.eval(), tuple(example_inputs)), path)
        return _compiled(str(path), arrays, settings, model)


def _compiled(
    path: str, arrays: dict[str, np.ndarray] | None, settings: dict[str, Any], module: Any = None
) -> Program | NativeProgram:
    if _native.is_simulated(settings["target"]):
        with shown("compile") as progress:
            return Program(_native.compile(path, arrays, **settings, progress=progress))
    if settings.pop("compare"):
        raise TypeError("`compare` is for simulated machines")
    if settings["schedule"] == "search":
        settings["schedule"] = "native"
    layout, constants = _native.callable(path, arrays, **settings)
    return NativeProgram(json.loads(layout), constants, module)


def is_tensor(value: Any) -> bool:
    """Returns True for a PyTorch tensor, without importing PyTorch."""
    return type(value).__module__.split(".")[0] == "torch" or hasattr(value, "detach")


def shared(value: Any) -> np.ndarray:
    """Returns a value as an array; the elements of a tensor on the CPU are shared."""
    if is_tensor(value):
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def array(value: Any) -> np.ndarray:
    """Returns a value as an array for a program, in which truth is 1.0 and 0.0."""
    value = shared(value)
    return value.astype(np.float32) if value.dtype == np.bool_ else value


def flattened(values: Any) -> list[Any]:
    """Returns the arrays in nested tuples, lists and dicts, in order."""
    if isinstance(values, (tuple, list)):
        return [one for value in values for one in flattened(value)]
    if isinstance(values, Mapping):
        return [one for value in values.values() for one in flattened(value)]
    return [values]


def numbered(values: Sequence[Any]) -> dict[str, np.ndarray]:
    """Returns arrays under the names that stand for the order of arguments."""
    return {f"input.{n}": array(value) for n, value in enumerate(values)}
