"""Calls of a native function as Python functions of their own: a few tests for each argument, and no loop over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._native import EmberError

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


class Misfit(Exception):
    """Raised for arguments that are not as the function takes them."""


def shown(extents: Sequence[Extent]) -> str:
    """Returns extents as a model writes them."""
    plus = lambda extent: f"+{extent['plus']}" if extent["plus"] else ""
    return " ".join(str(own) if isinstance(own, int) else own["size"] + plus(own) for own in extents)


def written(layout: dict[str, Any], tensors: bool, check: bool) -> tuple[str, dict[str, Any]]:
    """Returns the text of a function `call(inputs, out)` on tensors or arrays, and the names that it uses.

    The caller adds the names `function`, `refused`, `with_gradients`, `between`, `constants` and `apart`.
    """
    writer = _Writer(layout, tensors)
    writer.arguments()
    writer.prepared()
    writer.closed()
    writer.outputs()
    writer.call(check)
    return "def call(inputs, out):\n" + "".join(f"    {line}\n" for line in writer.lines), writer.names


class _Writer:
    """The text in progress. No word of the model stands in it: texts are looked up by numbers."""

    def __init__(self, layout: dict[str, Any], tensors: bool):
        self.layout = layout
        self.tensors = tensors
        self.lines: list[str] = []
        self.messages: list[str] = []
        self.names: dict[str, Any] = {"np": np, "Misfit": Misfit, "messages": self.messages, "misfit": self._misfit}
        self.names |= {"sorted_by": _sorted_by, "order_of": _order_of, "ends_of": _ends_of}
        self.names |= {"as_positions": _as_positions, "whole": WHOLE, "as_input": _as_input}
        self.names |= {"element": _element}
        self.arrays: set[str] = set()
        """The variables that are arrays, whatever the arguments are."""
        if tensors:
            import torch

            self.names |= {"torch": torch, "grad": torch.is_grad_enabled}
        self.places = {place["name"]: place for place in [*layout["inputs"], *layout["tensors"]]}
        self.sizes: dict[str, str] = {}
        """The variable of each size."""
        self.values: dict[str, str] = {}
        """The variable of each input."""
        self.addresses: dict[str, str] = {}
        """The expression of each tensor's address."""
        self.ends: list[tuple[str, str, Extent]] = []
        """The inputs that end with a number that the argument lacks: variable, name and number."""

    def message(self, text: str) -> str:
        self.messages.append(text)
        return f"messages[{len(self.messages) - 1}]"

    def _misfit(self, number: int, value: Any) -> Misfit:
        own, wanted = self.messages[number].split("\n")
        return Misfit(f"the array for `{own}` has the shape {tuple(value.shape)}, which does not fit ({wanted})")

    def line(self, text: str) -> None:
        self.lines.append(text)

    def dtype(self, name: str) -> str:
        own = TYPES.get(self.places[name]["dtype"])
        if own is None:
            raise EmberError(f"`{name}` has elements of {self.places[name]['dtype']}, which arrays do not have")
        dtype = np.dtype(own)
        self.names[f"dtype_{dtype.name}"] = getattr(self.names["torch"], dtype.name) if self.tensors else dtype
        return f"dtype_{dtype.name}"

    def number(self, extent: Extent) -> str:
        if isinstance(extent, int):
            return str(extent)
        if extent["size"] not in self.sizes:
            raise EmberError(f"the size `{extent['size']}` is no extent of an argument")
        return self.sizes[extent["size"]] + (f" + {extent['plus']}" if extent["plus"] else "")

    def shape(self, extents: Sequence[Extent]) -> str:
        return "(" + "".join(f"{self.number(extent)}, " for extent in extents) + ")"

    def address(self, value: str, tensor: bool) -> str:
        return f"{value}.data_ptr()" if tensor else f"{value}.ctypes.data"

    def as_it_is(self, value: str, name: str, also: str) -> str:
        """Returns the test that a value is in memory as the function takes it."""
        if self.tensors:
            return f"{value}.dtype is {self.dtype(name)} and {value}.is_contiguous() and {value}.is_cpu"
        return f"{value}.dtype == {self.dtype(name)} and {value}.flags.c_contiguous and {value}.flags.{also}"

    def arguments(self) -> None:
        """Writes the tests of arguments, and what they say of sizes."""
        arguments = self.layout["arguments"]
        variables = [f"a{n}" for n in range(len(arguments))]
        wrong = self.message("another number of arguments")
        self.line(f"if len(inputs) != {len(arguments)}: raise Misfit({wrong})")
        if variables:
            self.line(f"{', '.join(variables)}, = inputs")
        if variables and self.tensors:
            needs = " or ".join(f"{own}.requires_grad" for own in variables)
            self.line(f"if grad() and ({needs}): return with_gradients(inputs)")
        for own, argument in zip(variables, arguments):
            for name, steps in argument["held"]:
                as_input = len(argument["held"]) > 1 or any("part" in step for step in steps)
                self.input(own, argument["name"], name, steps, as_input)

    def input(self, value: str, argument: str, name: str, steps: list[dict[str, Any]], as_input: bool) -> None:
        """Writes the steps from an argument to an input, and what its shape says; `as_input` says that the argument may
        have another type and other dimensions than the input."""
        extents, less = self.places[name]["shape"], 0
        number = len(self.messages)
        self.message(f"{argument}\n{shown(extents)}")
        for step in steps:
            if "part" in step:
                axis, first, count = step["part"]
                part = f"v{len(self.values)}"
                self.line(f"if {value}.shape[{axis}] < {first + count}: raise misfit({number}, {value})")
                source = f"{value}[{':, ' * axis}{first}:{first + count}]"
                self.line(f"{part} = " + (f"{source}.contiguous()" if self.tensors else f"np.ascontiguousarray({source})"))
                value = part
            elif "closed" in step:
                self.ends.append((value, name, step["closed"]))
                less = 1
        wrong = self.message(f"`{argument}` has elements of another type")
        if as_input:
            own = f"w{len(self.values)}"
            unknown = [extent for extent in extents if not isinstance(extent, int) and extent["size"] not in self.sizes]
            known = [f"{self.number(extent)}" if extent not in unknown else "-1" for extent in extents]
            shape = f"({', '.join(known)},)" if len(unknown) < 2 and not less else "None"
            self.line(f"{own} = as_input({value}, {self.dtype(name)}, {len(extents)}, {shape}, {wrong})")
            value = own
        self.line(f"if not ({self.as_it_is(value, name, 'aligned')}): raise Misfit({wrong})")
        # A shape of another rank is an error of the assignment.
        there, tests, after = [], [], []
        for axis, extent in enumerate(extents):
            plus = 0 if isinstance(extent, int) else extent["plus"] - less
            if not isinstance(extent, int) and extent["size"] not in self.sizes:
                size = self.sizes[extent["size"]] = f"n{len(self.sizes)}"
                there.append(size)
                if plus:
                    after.append(f"{size} -= {plus}")
                if plus > 0:
                    after.append(f"if {size} < 0: raise misfit({number}, {value})")
                continue
            there.append(f"s{axis}")
            wanted = str(extent - less) if isinstance(extent, int) else self.sizes[extent["size"]]
            tests.append(f"s{axis} != {wanted}" + (f" + {plus}" if plus else ""))
        if there:
            self.line(f"{', '.join(there)}, = {value}.shape")
        self.lines += after
        if tests:
            self.line(f"if {' or '.join(tests)}: raise misfit({number}, {value})")
        self.values[name] = value
        self.addresses[name] = self.address(value, self.tensors)

    def prepared(self) -> None:
        """Writes the computing of positions, and the sorting of edges into rows."""
        orders: dict[str, str] = {}
        for n, made in enumerate(self.layout["prepared"]):
            name, own, tensor = made["input"], f"p{n}", False
            if "computed" in made:
                shape = self.shape(self.places[name]["shape"])
                self.line(f"{own} = as_positions({self.whole(made['computed'])}, {shape}, {self.dtype_name(name)!r})")
            elif "sums" in made:
                self.line(f"{own} = ends_of({self.array(made['sums']['lengths'])}, {self.dtype_name(name)!r})")
            else:
                sort = made["sorted"]
                positions = self.values[sort["positions"]]
                if sort["values"] is None:
                    rows = self.number(self.places[name]["shape"][0])
                    orders[positions] = f"order{n}"
                    self.line(f"order{n}, {own} = sorted_by({positions}, {rows} - 1)")
                else:
                    if positions not in orders:
                        orders[positions] = f"order{n}"
                        self.line(f"order{n} = order_of({positions})")
                    values = self.values[sort["values"]]
                    tensor, order = self.tensors and values not in self.arrays, orders[positions]
                    if self.tensors and not tensor and positions not in self.arrays:
                        order += ".numpy()"
                    self.line(f"{own} = {values}[{order}]")
            if not tensor:
                self.arrays.add(own)
            self.values[name] = own
            self.addresses[name] = self.address(own, tensor)

    def array(self, name: str) -> str:
        """Returns an input as an array."""
        if name not in self.values:
            return f"arrays[{name!r}]"
        value = self.values[name]
        return f"{value}.numpy()" if self.tensors and value not in self.arrays else value

    def dtype_name(self, name: str) -> str:
        return np.dtype(TYPES[self.places[name]["dtype"]]).name

    def whole(self, expression: Any) -> str:
        """Returns the expression of whole numbers of 64 bits."""
        if isinstance(expression, int):
            return f"np.int64({expression})"
        if isinstance(expression, str):
            return f"{self.array(expression)}.astype(np.int64)"
        if isinstance(expression, dict):
            place = self.whole(expression["place"])
            return f"element({self.array(expression['element'])}, {place}, {expression['element']!r})"
        word, operands = expression
        return f"whole[{word!r}]({', '.join(map(self.whole, operands))})"

    def closed(self) -> None:
        """Writes copies of inputs with a last number."""
        for n, (value, name, end) in enumerate(self.ends):
            dtype = np.dtype(TYPES[self.places[name]["dtype"]]).name
            self.line(f"whole{n} = np.empty({value}.shape[0] + 1, {dtype!r})")
            self.line(f"whole{n}[:-1] = {value}{'.numpy()' if self.tensors else ''}")
            self.line(f"whole{n}[-1] = {self.number(end)}")
            self.addresses[name] = self.address(f"whole{n}", False)

    def outputs(self) -> None:
        """Writes the making of outputs, or the tests of those that are given."""
        outputs = [(f"o{n}", output["name"], self.shape(output["shape"])) for n, output in enumerate(self.layout["outputs"])]
        empty = "torch.empty" if self.tensors else "np.empty"
        self.line("if out is None:")
        self.lines += [f"    {own} = {empty}({shape}, dtype={self.dtype(name)})" for own, name, shape in outputs]
        self.line("else:")
        if len(outputs) == 1:
            self.line("    o0 = out")
        else:
            wrong = self.message("`out` has another number of outputs")
            self.line(f"    if len(out) != {len(outputs)}: raise Misfit({wrong})")
            self.line(f"    {', '.join(own for own, _, _ in outputs)}, = out")
        for own, name, shape in outputs:
            wrong = self.message(f"`out` is not contiguous, or has another type or shape than `{name}`")
            self.line(f"    if not ({self.as_it_is(own, name, 'writeable')} and {own}.shape == {shape}): raise Misfit({wrong})")
            self.addresses[name] = self.address(own, self.tensors)
        self.line(f"    apart(inputs, ({', '.join(own for own, _, _ in outputs)},))")

    def call(self, check: bool) -> None:
        """Writes the call and the result."""
        words = [self.number(size) for size in self.layout["sizes"]]
        for place in self.layout["tensors"]:
            name = place["name"]
            if name in self.addresses:
                words.append(self.addresses[name])
            elif place["written"]:
                own = f"type_{place['dtype']}"
                self.names[own] = TYPES[place["dtype"]]
                words.append(f"between({', '.join([repr(name), own, *map(self.number, place['shape'])])})")
            else:
                words.append(f"constants[{name!r}]")
        if check:
            self.line(f"status = function({', '.join(words)})")
            self.line("if status: refused(status)")
        else:
            self.line(f"function({', '.join(words)})")
        made = [f"o{n}" for n in range(len(self.layout["outputs"]))]
        self.line(f"return {made[0] if len(made) == 1 else '(' + ', '.join(made) + ')'}")


def _as_input(value: Any, dtype: Any, rank: int, shape: tuple[int, ...] | None, wrong: str) -> Any:
    """Returns an argument that several inputs hold, or parts of it, as one of them has it."""
    if value.dtype != dtype:
        tensor = hasattr(value, "data_ptr")
        is_float = lambda own: own.is_floating_point if tensor else own.kind == "f"
        if is_float(value.dtype) and not is_float(dtype):
            raise Misfit(wrong)
        value = value.to(dtype) if tensor else value.astype(dtype)
    return value if shape is None or value.ndim == rank else value.reshape(shape)


def _as_positions(numbers: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Returns computed numbers as the function takes them."""
    return np.ascontiguousarray(numbers, dtype).reshape(shape)


def _ends_of(lengths: np.ndarray, dtype: str) -> np.ndarray:
    """Returns where bags of these lengths start, and the end of the last one."""
    ends = np.zeros(len(lengths) + 1, dtype)
    np.cumsum(lengths, out=ends[1:])
    return ends


def _element(numbers: np.ndarray, places: np.ndarray, name: str) -> np.ndarray:
    """Returns whole numbers at places in row-major order."""
    outside = (places < 0) | (places >= numbers.size)
    if outside.any():
        raise EmberError(f"`{name}` has no element {places[outside].flat[0]}")
    return numbers.reshape(-1)[places].astype(np.int64)


def _floordiv(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the quotient rounded down; 0 where the divisor is."""
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b))


def _div(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the quotient without what is behind the point; 0 where the divisor is."""
    down = _floordiv(a, b)
    return down + ((down < 0) & (down * b != a))


WHOLE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _div,
    "mod": lambda a, b: a - _div(a, b) * b,
    "floordiv": _floordiv,
    "floormod": lambda a, b: a - _floordiv(a, b) * b,
    "max": np.maximum,
    "min": np.minimum,
    "lt": lambda a, b: (a < b).astype(np.int64),
    "le": lambda a, b: (a <= b).astype(np.int64),
    "select": lambda condition, a, b: np.where(condition != 0, a, b),
}
"""The operations on whole numbers that positions are computed by."""


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
