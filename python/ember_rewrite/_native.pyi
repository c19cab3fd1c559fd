from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

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
) -> Native: ...
def command(words: Sequence[str]) -> None: ...
