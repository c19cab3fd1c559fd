"""Models compiled for this machine: calls of a native function on the memory of arrays and tensors."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from ._calls import TYPES, Misfit, shown, written
from ._native import Direct, EmberError
from ._native import large_pages as _large_pages

class NativeProgram:
    """A model compiled for this machine. Calling it runs its native function on the arguments' own memory.

    Attributes:
        report: what the compilation found: `model`, `target`, `compiler`, `time_ms`, `threads`, and `text` and
            `header`, the program in C.
    """

    def __init__(self, layout: dict[str, Any], constants: Mapping[str, Any], module: Any = None):
        described = ("model", "target", "compiler", "time_ms", "threads", "text", "header")
        self.report = {name: layout[name] for name in described}
        self._layout = layout
        self._module = module
        self._constants = {name: _own(name, value, module) for name, value in constants.items()}
        self._arrays = {name: value for name, value in constants.items() if value.dtype.kind in "iu"}
        self.copies = [name for name, value in self._constants.items() if isinstance(value, np.ndarray)]
        """The constants that are copies: parameters whose changes the program does not see."""
        self._library = ctypes.CDLL(layout["path"])
        for symbol, address in layout["replaceable"]:
            ctypes.c_void_p.in_dll(self._library, symbol).value = address
        self._functions = {True: self._function(""), False: self._function("_unchecked")}
        self._calls: dict[Any, Callable[..., Any]] = {}
        self.direct: Direct | None = None
        """The call without a line of Python for each tensor: inputs, outputs, and if they are checked, to the status."""
        self.make: Callable[[], Any] | None = None
        """Makes tensors for the outputs like those of the last call: the shapes of the next are very likely the same."""
        self._local = threading.local()

    @property
    def arguments(self) -> list[str]:
        """The names of the model's arguments, in order."""
        return [argument["name"] for argument in self._layout["arguments"]]

    def __call__(self, *inputs: Any, out: Any = None, check: bool = True, **named: Any) -> Any:
        """Runs the function on PyTorch tensors or NumPy arrays, in the order of the arguments or by name.

        Tensors that are contiguous and have the model's types are read where they are; others are copied first.

        Args:
            out: the tensor or array that the output is written to, or a tuple of them; without it they are made. It
                shares no memory with the arguments.
            check: False to vouch for indices and offsets, which are then not looked at. Wrong ones make the function
                read or write anywhere.

        Returns:
            The output, or a tuple of them: tensors if the first argument is one, else arrays. A call whose inputs need
            gradients is PyTorch's.

        Raises:
            EmberError: if the arguments do not fit the model, or indices or offsets are out of range.
        """
        if self.direct is not None and not named:
            results = self.make() if out is None and self.make is not None else out
            if results is not None:
                status = self.direct(inputs, results, check)
                if status == 0:
                    return results
                if status is not None:
                    self._refused(status)
        if not named:
            try:
                results = self._calls[type(inputs[0]), check](inputs, out)
            except (KeyError, IndexError, AttributeError, ValueError, Misfit) as error:
                if isinstance(error, EmberError):
                    raise
            else:
                if out is None and self.direct is not None:
                    self.make = _made_like(results)
                return results
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
        except Misfit as misfit:
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
                    wanted = shown(places[name]["shape"])
                    own = f"the array for `{argument['name']}` has the shape {tuple(value.shape)}"
                    return f"{own}, which does not fit ({wanted})"
        return "the arrays do not fit the model"

    def _function(self, suffix: str) -> Any:
        function = self._library[self._layout["symbol"] + suffix]
        sizes, tensors = len(self._layout["sizes"]), len(self._layout["tensors"])
        function.argtypes = [ctypes.c_int64] * sizes + [ctypes.c_void_p] * tensors
        function.restype = None if suffix else ctypes.c_int
        return function

    def _specialised(self, tensors: bool, check: bool) -> Callable[..., Any]:
        """Returns the call for this model as a Python function of its own: a few tests for each argument."""
        text, names = written(self._layout, tensors, check)
        names |= {
            "function": self._functions[check],
            "refused": self._refused,
            "between": self._between,
            "constants": {name: _address(value) for name, value in self._constants.items()},
            "arrays": self._arrays,
            "apart": self._apart,
            "with_gradients": self._with_gradients,
        }
        exec(compile(text, f"<call of {self._layout['model']}>", "exec"), names)
        if tensors and self.direct is None:
            self.direct = self._without_python(names["constants"])
        return names["call"]

    def _without_python(self, constants: Mapping[str, int]) -> Direct | None:
        """Returns the call for tensors and given outputs that needs no line of Python for each of them; `None` if an
        argument is more than one input, or less, or inputs are prepared of others."""
        import torch

        layout = self._layout
        held = [argument["held"] for argument in layout["arguments"]]
        if layout["prepared"] or any(len(own) != 1 or own[0][1] for own in held):
            return None
        places = {place["name"]: place for place in [*layout["inputs"], *layout["tensors"]]}
        numbers: dict[str, int] = {}

        def extent(own: Any) -> tuple[int | None, int]:
            if isinstance(own, int):
                return None, own
            return numbers.setdefault(own["size"], len(numbers)), own["plus"]

        def formed(name: str, shape: Sequence[Any]) -> tuple[int, int, list[tuple[int | None, int]]]:
            dtype = np.dtype(TYPES[places[name]["dtype"]])
            return "iuf".index(dtype.kind), 8 * dtype.itemsize, [extent(own) for own in shape]

        inputs = [own[0][0] for own in held]
        outputs = [output["name"] for output in layout["outputs"]]
        arguments = {name: number for number, name in enumerate([*inputs, *outputs])}
        try:
            forms = [formed(name, places[name]["shape"]) for name in inputs]
            made = [formed(output["name"], output["shape"]) for output in layout["outputs"]]
            parameters: list[tuple[str, int, list[tuple[int | None, int]]]] = []
            for place in layout["tensors"]:
                name = place["name"]
                if name in arguments:
                    parameters.append(("argument", arguments[name], []))
                elif place["written"]:
                    _, bits, shape = formed(name, place["shape"])
                    parameters.append(("between", bits // 8, shape))
                else:
                    parameters.append(("constant", constants[name], [(None, self._constants[name].nbytes)]))
        except KeyError:
            return None
        sizes = [extent(size) for size in layout["sizes"]]
        symbol = layout["symbol"] + "_call"
        kind, enabled = torch.Tensor, torch.is_grad_enabled
        return Direct.of(layout["path"], symbol, kind, enabled, forms, made, sizes, parameters)

    def _apart(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Refuses outputs that share memory with an argument, with a parameter or with each other."""
        names = [(f"`{name}`", value) for name, value in zip(self.arguments, inputs)]
        names += [(f"`{name}`", value) for name, value in self._constants.items()]
        for number, out in enumerate(outputs):
            others = [("another output", own) for own in outputs[:number]]
            for name, value in [*names, *others]:
                if _share(out, value):
                    raise Misfit(f"`out` shares memory with {name}; give it memory of its own")

    def _refused(self, status: int) -> None:
        for line in self.report["header"].splitlines():
            number, _, message = line.removeprefix("//").strip().partition(": ")
            if number == str(status):
                raise EmberError(message)
        raise EmberError(f"requirement {status} of the program does not hold")

    def _with_gradients(self, inputs: Sequence[Any]) -> Any:
        if self._module is None:
            message = "the inputs need gradients, which a model in a file does not have; use `torch.no_grad()`"
            raise EmberError(message)
        return self._module(*inputs)

    def _between(self, name: str, dtype: Any, *shape: int) -> int:
        """Returns the address of memory for a tensor that is computed on the way; each thread has its own."""
        held = self._local.__dict__
        own = held.get(name)
        if own is None or own.shape != shape:
            own = held[name] = np.empty(shape, dtype)
        return own.ctypes.data


def large_pages(value: Any) -> bool:
    """Asks the system to hold a contiguous array or tensor in large pages, for which reads of rows at random are faster.

    Its elements stay where they are. Returns False if the system has no large pages, or for less than 8 MiB.
    """
    from ._program import shared

    return _large_pages(shared(value))


def _made_like(results: Any) -> Callable[[], Any] | None:
    """Returns a function that makes tensors like these, without values; None if some are no contiguous tensors."""
    import torch

    if isinstance(results, tuple):
        makers = [_made_like(own) for own in results]
        return (lambda: tuple(make() for make in makers)) if all(makers) else None  # type: ignore[misc]
    if type(results) is not torch.Tensor or not results.is_contiguous():
        return None
    # The function that programs of `inductor` call; it takes a quarter of the time of `torch.empty`.
    strided = getattr(getattr(torch._C._dynamo, "guards", None), "_empty_strided_cpu", None)
    if strided is None:
        return partial(torch.empty, results.shape, dtype=results.dtype)
    return partial(strided, tuple(results.shape), results.stride(), results.dtype)


def _own(name: str, value: np.ndarray, module: Any) -> Any:
    """Returns the module's parameter or buffer that a constant is a copy of, or else the constant."""
    if module is not None:
        for own, tensor in module.state_dict().items():
            if name not in (own, own.replace(".", "_")) or tensor.numel() != value.size:
                continue
            if tensor.is_contiguous() and tensor.is_cpu and _torch_types().get(tensor.dtype) == value.dtype:
                array = tensor.detach().numpy()
                if np.array_equal(array.reshape(-1), value.reshape(-1), equal_nan=True):
                    return tensor
    if value.nbytes >= 8 << 20:
        _large_pages(value)
    return value


def _share(a: Any, b: Any) -> bool:
    """Returns True if two contiguous tensors or arrays share memory. What the program does not read may be anything."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.may_share_memory(a, b)
    if not (hasattr(a, "nbytes") and hasattr(b, "nbytes") and a.nbytes and b.nbytes):
        return False
    first, other = _address(a), _address(b)
    return first < other + b.nbytes and other < first + a.nbytes


def _address(value: Any) -> int:
    return value.data_ptr() if hasattr(value, "data_ptr") else value.ctypes.data


@cache
def _torch_types() -> dict[Any, Any]:
    import torch

    return {getattr(torch, np.dtype(dtype).name): dtype for dtype in TYPES.values()}


def _contiguous(value: Any, tensors: bool) -> Any:
    """Returns an argument in the memory of this processor, row by row."""
    if tensors:
        import torch

        return torch.as_tensor(value).to(device="cpu").contiguous()
    return np.require(np.asarray(value), None, ["C", "A"])


def _fitted(argument: dict[str, Any], value: Any, layout: dict[str, Any], tensors: bool) -> Any:
    """Returns an argument as a contiguous tensor or array of the model's type and rank."""
    if not argument["held"]:
        return value
    name, steps = argument["held"][0]
    place = next(own for own in layout["inputs"] if own["name"] == name)
    dtype, rank = TYPES[place["dtype"]], len(place["shape"])
    if len(argument["held"]) > 1:
        # Each input takes its own type of it.
        return _contiguous(value, tensors)
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
