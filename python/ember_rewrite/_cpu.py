"""Models compiled for this machine: calls of a native function on the memory of arrays and tensors."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ._native import EmberError
from ._native import large_pages as _large_pages

Extent = Any
"""An extent as the description of a library has it: a number, or a dict with a size's name and what is added."""

TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "u8": np.uint8,
    "i8": np.int8,
}


class NativeProgram:
    """A model compiled for this machine. Calling it runs its native function on the arguments' own memory.

    Attributes:
        report: what the compilation found: `model`, `target`, `compiler`, `time_ms`, `threads`, and `text` and
            `header`, the program in C.
    """

    def __init__(self, layout: dict[str, Any], constants: Mapping[str, Any], module: Any = None):
        self.report = {name: layout[name] for name in ("model", "target", "compiler", "time_ms", "threads", "text", "header")}
        self._layout = layout
        self._module = module
        self._constants = {name: _own(name, value, module) for name, value in constants.items()}
        self.copies = [name for name, value in self._constants.items() if isinstance(value, np.ndarray)]
        """The constants that are copies: parameters whose changes the program does not see."""
        self._library = ctypes.CDLL(layout["path"])
        for symbol, address in layout["replaceable"]:
            ctypes.c_void_p.in_dll(self._library, symbol).value = address
        self._functions = {True: self._function(""), False: self._function("_unchecked")}
        self._calls: dict[Any, Callable[..., Any]] = {}
        self._local = threading.local()

    @property
    def arguments(self) -> list[str]:
        """The names of the model's arguments, in order."""
        return [argument["name"] for argument in self._layout["arguments"]]

    def __call__(self, *inputs: Any, out: Any = None, check: bool = True, **named: Any) -> Any:
        """Runs the function on PyTorch tensors or NumPy arrays, in the order of the arguments or by name.

        Tensors that are contiguous and have the model's types are read where they are; others are copied first.

        Args:
            out: the tensor or array that the output is written to, or a tuple of them; without it they are made.
            check: False to vouch for indices and offsets, which are then not looked at. Wrong ones make the function
                read or write anywhere.

        Returns:
            The output, or a tuple of them: tensors if the first argument is one, else arrays. A call whose inputs need
            gradients is PyTorch's.

        Raises:
            EmberError: if the arguments do not fit the model, or indices or offsets are out of range.
        """
        if not named:
            try:
                return self._calls[type(inputs[0]), check](inputs, out)
            except (KeyError, IndexError, AttributeError, ValueError, _Misfit) as error:
                if isinstance(error, EmberError):
                    raise
        return self._slowly(inputs, out, check, named)

    def _slowly(self, inputs: Sequence[Any], out: Any, check: bool, named: Mapping[str, Any]) -> Any:
        """Runs the function on arguments that are not as it takes them."""
        from ._program import flattened, is_tensor

        flat = flattened(inputs)
        names = self.arguments
        unknown = [name for name in named if name not in names[len(flat) :]]
        if unknown:
            raise EmberError(f"`{unknown[0]}` is no further argument; those of the model are {', '.join(names)}")
        flat += [named[name] for name in names[len(flat) :] if name in named]
        if len(flat) != len(names):
            raise EmberError(f"the model takes {len(names)} arguments ({', '.join(names)}), not {len(flat)}")
        tensors = any(is_tensor(value) for value in flat)
        fitting = [
            _fitted(argument, value, self._layout, tensors)
            for argument, value in zip(self._layout["arguments"], flat)
        ]
        key = (type(fitting[0]) if fitting else np.ndarray, check)
        if key not in self._calls:
            self._calls[key] = self._specialised(tensors, check)
        try:
            return self._calls[key](fitting, out)
        except _Misfit as misfit:
            raise EmberError(str(misfit)) from None
        except AttributeError:
            raise EmberError("`out` is no tensor or array like the arguments") from None
        except ValueError as error:
            raise error if isinstance(error, EmberError) else EmberError(self._misfit(fitting)) from None

    def _misfit(self, fitting: Sequence[Any]) -> str:
        """Returns the reason that shapes are not those of the model: one has another rank."""
        places = {place["name"]: place for place in self._layout["inputs"]}
        for argument, value in zip(self._layout["arguments"], fitting):
            for name, _ in argument["held"]:
                if name in places and len(value.shape) != len(places[name]["shape"]):
                    return f"the array for `{argument['name']}` has the shape {tuple(value.shape)}, which does not fit ({_written(places[name]['shape'])})"
        return "the arrays do not fit the model"

    def _function(self, suffix: str) -> Any:
        function = self._library[self._layout["symbol"] + suffix]
        function.argtypes = [ctypes.c_int64] * len(self._layout["sizes"]) + [ctypes.c_void_p] * len(self._layout["tensors"])
        function.restype = None if suffix else ctypes.c_int
        return function

    def _specialised(self, tensors: bool, check: bool) -> Callable[..., Any]:
        """Returns the call for this model as a Python function of its own: a few tests for each argument."""
        text, names = _text(self._layout, tensors, check)
        names |= {
            "function": self._functions[check],
            "refused": self._refused,
            "Misfit": _Misfit,
            "between": self._between,
            "constants": {name: _address(value) for name, value in self._constants.items()},
            "module": self._module,
        }
        exec(compile(text, f"<call of {self._layout['model']}>", "exec"), names)
        return names["call"]

    def _refused(self, status: int) -> None:
        for line in self.report["header"].splitlines():
            number, _, message = line.removeprefix("//").strip().partition(": ")
            if number == str(status):
                raise EmberError(message)
        raise EmberError(f"requirement {status} of the program does not hold")

    def _between(self, name: str, dtype: Any, *shape: int) -> int:
        """Returns the address of memory for a tensor that is computed on the way; each thread has its own."""
        held = self._local.__dict__
        own = held.get(name)
        if own is None or own.shape != shape:
            own = held[name] = np.empty(shape, dtype)
        return own.ctypes.data


class _Misfit(Exception):
    """Raised for arguments that are not as the function takes them."""


def large_pages(value: Any) -> bool:
    """Asks the system to hold a contiguous array or tensor in large pages, which makes reads of its rows at random faster.

    Its elements stay where they are. Returns False if the system has no large pages, or for less than 8 MiB.
    """
    from ._program import shared

    return _large_pages(shared(value))


def _written(extents: Sequence[Extent]) -> str:
    """Returns extents as a model writes them."""
    plus = lambda extent: f"+{extent['plus']}" if extent["plus"] else ""
    return " ".join(str(own) if isinstance(own, int) else own["size"] + plus(own) for own in extents)


def _own(name: str, value: np.ndarray, module: Any) -> Any:
    """Returns the module's parameter or buffer that a constant is a copy of, or else the constant."""
    if module is not None:
        for own, tensor in module.state_dict().items():
            same = own.replace(".", "_") == name or own == name
            if same and tensor.is_contiguous() and tensor.device.type == "cpu" and tensor.numel() == value.size:
                array = tensor.detach().numpy() if tensor.dtype in _torch_types() else None
                if array is not None and array.dtype == value.dtype and np.array_equal(array.reshape(-1), value.reshape(-1), equal_nan=True):
                    return tensor
    if value.nbytes >= 8 << 20:
        _large_pages(value)
    return value


def _address(value: Any) -> int:
    return value.data_ptr() if hasattr(value, "data_ptr") else value.ctypes.data


@cache
def _torch_types() -> dict[Any, Any]:
    import torch

    return {getattr(torch, np.dtype(dtype).name): dtype for dtype in TYPES.values()}


def _fitted(argument: dict[str, Any], value: Any, layout: dict[str, Any], tensors: bool) -> Any:
    """Returns an argument as a contiguous tensor or array of the model's type and rank."""
    if not argument["held"]:
        return value
    name, steps = argument["held"][0]
    place = next(own for own in layout["inputs"] if own["name"] == name)
    dtype, rank = TYPES[place["dtype"]], len(place["shape"])
    if tensors:
        import torch

        value = torch.as_tensor(value)
        own = getattr(torch, np.dtype(dtype).name)
        if value.is_floating_point() and not own.is_floating_point:
            raise EmberError(f"`{argument['name']}` has elements of {value.dtype}, not {own}")
        value = value.to(device="cpu", dtype=own).contiguous()
    else:
        value = np.asarray(value)
        if value.dtype.kind == "f" and np.dtype(dtype).kind != "f":
            raise EmberError(f"`{argument['name']}` has elements of {value.dtype}, not {np.dtype(dtype)}")
        value = np.require(value, dtype, ["C", "A"])
    if len(value.shape) != rank and not any("part" in step for step in steps):
        known = [extent for extent in place["shape"] if isinstance(extent, int)]
        if len(known) + 1 >= rank and (len(known) == rank or value.shape):
            extents = [extent if isinstance(extent, int) else -1 for extent in place["shape"]]
            try:
                value = value.reshape(extents)
            except (RuntimeError, ValueError):
                pass
    return value


def _text(layout: dict[str, Any], tensors: bool, check: bool) -> tuple[str, dict[str, Any]]:
    """Returns the text of a function `call(inputs, out)`, and the names that it uses."""
    names: dict[str, Any] = {"np": np}
    if tensors:
        import torch

        names |= {"torch": torch, "grad": torch.is_grad_enabled}
    lines: list[str] = []
    known: dict[str, str] = {}
    addresses: dict[str, str] = {}
    places = {place["name"]: place for place in [*layout["inputs"], *layout["tensors"]]}
    values: dict[str, str] = {}

    def dtype(name: str) -> str:
        own = TYPES.get(places[name]["dtype"])
        if own is None:
            raise EmberError(f"`{name}` has elements of {places[name]['dtype']}, which arrays do not have")
        key = f"dtype_{np.dtype(own).name}"
        names[key] = getattr(torch, np.dtype(own).name) if tensors else np.dtype(own)
        return key

    def number(extent: Extent) -> str:
        if isinstance(extent, int):
            return str(extent)
        if extent["size"] not in known:
            raise EmberError(f"the size `{extent['size']}` is no extent of an argument")
        size = known[extent["size"]]
        return f"{size} + {extent['plus']}" if extent["plus"] else size

    def shape(extents: list[Extent]) -> str:
        return "(" + "".join(f"{number(extent)}, " for extent in extents) + ")"

    def misfit(argument: str, name: str) -> str:
        wanted = _written(places[name]["shape"])
        return f"raise Misfit(f'the array for `{argument}` has the shape {{tuple(X.shape)}}, which does not fit ({wanted})')"

    arguments = layout["arguments"]
    variables = [f"a{n}" for n in range(len(arguments))]
    lines.append(f"if len(inputs) != {len(arguments)}: raise Misfit('the number of arguments')")
    if variables:
        lines.append(f"{', '.join(variables)}, = inputs")
    if tensors and variables:
        needs = " or ".join(f"{own}.requires_grad" for own in variables)
        lines.append(f"if grad() and ({needs}): return module_call(inputs)")
        names["module_call"] = lambda inputs: _with_gradients(names["module"], inputs)
    closed: list[tuple[str, str, Extent]] = []
    for own, argument in zip(variables, arguments):
        for name, steps in argument["held"]:
            value = own
            for n, step in enumerate(steps):
                if "part" in step:
                    axis, first, count = step["part"]
                    value = f"{own}_{name}"
                    slices = ":, " * axis + f"{first}:{first + count}"
                    contiguous = ".contiguous()" if tensors else ""
                    lines.append(f"if {own}.shape[{axis}] < {first + count}: {misfit(argument['name'], name).replace('X', own)}")
                    source = f"{own}[{slices}]"
                    lines.append(f"{value} = {source}{contiguous}" if tensors else f"{value} = np.ascontiguousarray({source})")
                elif "closed" in step:
                    closed.append((value, name, step["closed"]))
            own_type = dtype(name)
            if tensors:
                fits = f"{value}.dtype is {own_type} and {value}.is_contiguous() and {value}.is_cpu"
            else:
                fits = f"{value}.dtype == {own_type} and {value}.flags.c_contiguous and {value}.flags.aligned"
            lines.append(f"if not ({fits}): raise Misfit('`{argument['name']}` has elements of another type')")
            extents = places[name]["shape"]
            wrong = misfit(argument["name"], name).replace("X", value)
            less = 1 if steps and "closed" in steps[-1] else 0
            # A shape of another rank is an error of the assignment.
            there, tests, after = [], [], []
            for axis, extent in enumerate(extents):
                plus = 0 if isinstance(extent, int) else extent["plus"] - less
                if not isinstance(extent, int) and extent["size"] not in known:
                    known[extent["size"]] = f"n{len(known)}"
                    there.append(known[extent["size"]])
                    if plus:
                        after.append(f"{there[-1]} -= {plus}")
                    if plus > 0:
                        after.append(f"if {there[-1]} < 0: {wrong}")
                    continue
                there.append(f"s{axis}")
                wanted = extent - less if isinstance(extent, int) else known[extent["size"]]
                tests.append(f"s{axis} != {wanted}" + (f" + {plus}" if plus else ""))
            if there:
                lines.append(f"{', '.join(there)}, = {value}.shape")
            lines += after
            if tests:
                lines.append(f"if {' or '.join(tests)}: {wrong}")
            values[name] = value
            addresses[name] = f"{value}.data_ptr()" if tensors else f"{value}.ctypes.data"
    for n, sort in enumerate(layout["prepared"]):
        positions, extents = values[sort["positions"]], places[sort["input"]]["shape"]
        if sort["values"] is None:
            if not isinstance(extents[0], int) and extents[0]["size"] not in known:
                raise EmberError(f"the size `{extents[0]['size']}` is no extent of an argument")
            lines.append(f"order{n}, p{n} = sorted_by({positions}, {number(extents[0])} - 1)")
        else:
            before = next(k for k, own in enumerate(layout["prepared"]) if own["positions"] == sort["positions"])
            if layout["prepared"][before]["values"] is not None and before == n:
                lines.append(f"order{n} = order_of({positions})")
            lines.append(f"p{n} = {values[sort['values']]}[order{before}]")
        names |= {"sorted_by": _sorted_by, "order_of": _order_of}
        addresses[sort["input"]] = f"p{n}.data_ptr()" if tensors and sort["values"] is not None else f"p{n}.ctypes.data"
    for value, name, end in closed:
        whole = f"whole_{len(addresses)}_{len(lines)}"
        lines.append(f"{whole} = np.empty({value}.shape[0] + 1, {TYPES[places[name]['dtype']].__name__!r})")
        lines.append(f"{whole}[:-1] = {value}{'.numpy()' if tensors else ''}")
        lines.append(f"{whole}[-1] = {number(end)}")
        addresses[name] = f"{whole}.ctypes.data"
    outputs = layout["outputs"]
    made = [f"o{n}" for n in range(len(outputs))]
    empty = "torch.empty" if tensors else "np.empty"
    lines.append("if out is None:")
    for own, output in zip(made, outputs):
        lines.append(f"    {own} = {empty}({shape(output['shape'])}, dtype={dtype(output['name'])})")
    lines.append("else:")
    if len(made) == 1:
        lines.append("    o0 = out")
    else:
        lines.append(f"    if len(out) != {len(made)}: raise Misfit('`out` has another number of outputs')")
        lines.append(f"    {', '.join(made)}, = out")
    for own, output in zip(made, outputs):
        own_type = dtype(output["name"])
        if tensors:
            fits = f"{own}.dtype is {own_type} and {own}.is_contiguous() and {own}.is_cpu"
        else:
            fits = f"{own}.dtype == {own_type} and {own}.flags.c_contiguous and {own}.flags.writeable"
        lines.append(f"    if not ({fits} and {own}.shape == {shape(output['shape'])}):")
        lines.append(f"        raise Misfit('`out` is not contiguous, or has another type or shape than `{output['name']}`')")
    for own, output in zip(made, outputs):
        addresses[output["name"]] = f"{own}.data_ptr()" if tensors else f"{own}.ctypes.data"
    words = [number(size) for size in layout["sizes"]]
    for place in layout["tensors"]:
        name = place["name"]
        if name in addresses:
            words.append(addresses[name])
        elif place["written"]:
            names[f"type_{place['dtype']}"] = TYPES[place["dtype"]]
            extents = "".join(f", {number(extent)}" for extent in place["shape"])
            words.append(f"between({name!r}, type_{place['dtype']}{extents})")
        else:
            words.append(f"constants[{name!r}]")
    if check:
        lines.append(f"status = function({', '.join(words)})")
        lines.append("if status: refused(status)")
    else:
        lines.append(f"function({', '.join(words)})")
    lines.append(f"return {made[0] if len(made) == 1 else '(' + ', '.join(made) + ')'}")
    return "def call(inputs, out):\n" + "".join(f"    {line}\n" for line in lines), names


def _order_of(positions: Any) -> Any:
    """Returns the order of edges by the rows that they lead to; those of one row stay in theirs."""
    return positions.argsort(stable=True) if hasattr(positions, "data_ptr") else np.argsort(positions, kind="stable")


def _sorted_by(positions: Any, rows: int) -> tuple[Any, np.ndarray]:
    """Returns the order of edges by the rows that they lead to, and the offsets of the rows."""
    where = positions.numpy() if hasattr(positions, "data_ptr") else positions
    if where.size and not 0 <= int(where.min()) <= int(where.max()) < rows:
        raise EmberError(f"an edge leads to a row that is negative, or not below {rows}")
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(where, minlength=rows), out=offsets[1:])
    return _order_of(positions), offsets


def _with_gradients(module: Any, inputs: Sequence[Any]) -> Any:
    if module is None:
        raise EmberError("the inputs need gradients, which a model in a file does not have; use `torch.no_grad()`")
    return module(*inputs)
