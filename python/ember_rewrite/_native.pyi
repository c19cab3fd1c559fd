from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Progress = Callable[[str, int | None, int | None], None] | None

class EmberError(ValueError):
    """Raised for what ends in an error; its text names the place."""

class Native:
    def report(self) -> str: ...
    def arguments(self) -> list[str]: ...
    def dlc(self) -> str: ...
    def text(self, form: str) -> str: ...
    def call(
        self, arrays: Mapping[str, np.ndarray[Any, Any]]
    ) -> tuple[list[tuple[str, np.ndarray[Any, Any]]], int, float]: ...

Extent = tuple[int | None, int]
"""A size by its number, if there is one, and what is added."""

class Direct:
    @staticmethod
    def of(
        library: str,
        symbol: str,
        type: type,
        gradients: Callable[[], bool],
        inputs: Sequence[tuple[int, int, Sequence[Extent]]],
        outputs: Sequence[tuple[int, int, Sequence[Extent]]],
        sizes: Sequence[Extent],
        parameters: Sequence[tuple[str, int, Sequence[Extent]]],
    ) -> Direct | None: ...
    def __call__(self, inputs: tuple[Any, ...], out: Any, check: bool) -> int | None: ...

class Graph:
    def __init__(self, slowly: Callable[..., Any], gradients: Callable[[], bool]) -> None: ...
    def serve(
        self,
        direct: Direct,
        make: Callable[[], Any],
        held: Sequence[tuple[int, int]],
        free: Sequence[int],
    ) -> None: ...
    def rest(self) -> None: ...
    def __call__(self, *inputs: Any) -> tuple[Any, ...]: ...

class Sweep:
    def __init__(self, path: str | None, text: str, output: str, restart: bool) -> None: ...
    def missing(self) -> list[int]: ...
    def model(self, point: int) -> int: ...
    def task(self, point: int) -> str: ...
    def files(self, point: int) -> dict[str, bytes]: ...
    def put(self, point: int, result: str) -> None: ...
    def run(self, progress: Progress) -> None: ...
    def finish(self) -> tuple[str, str]: ...

def sweep_point(task: str, files: Mapping[str, bytes]) -> str: ...
def compile(
    path: str,
    arrays: Mapping[str, np.ndarray[Any, Any]] | None,
    *,
    rules: Sequence[str],
    target: str,
    schedule: str,
    exact: str,
    seed: int | None,
    compare: bool,
    threads: int,
    progress: Progress,
) -> Native: ...
def is_simulated(target: str) -> bool: ...
def callable(
    path: str,
    arrays: Mapping[str, np.ndarray[Any, Any]] | None,
    *,
    rules: Sequence[str],
    target: str,
    schedule: str,
    exact: str,
    seed: int | None,
    threads: int,
) -> tuple[str, dict[str, np.ndarray[Any, Any]]]: ...
def large_pages(array: np.ndarray[Any, Any]) -> bool: ...
def missing(path: str) -> list[tuple[str, str]]: ...
def command(words: Sequence[str], progress: Progress) -> None: ...
