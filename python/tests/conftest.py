"""Exports of PyTorch that the compiler's own tests use, with their inputs and outputs."""

from pathlib import Path

import pytest
from safetensors.numpy import load_file

IMPORTS = Path(__file__).parents[2] / "tests" / "imports"


class Export:
    """A program that PyTorch exported."""

    def __init__(self, name):
        self.name = name
        self.path = IMPORTS / f"{name}.pt2"
        arrays = load_file(IMPORTS / f"{name}.safetensors")
        self.inputs = self._numbered(arrays, "input")
        self.outputs = self._numbered(arrays, "output")

    @staticmethod
    def _numbered(arrays, kind):
        count = sum(name.startswith(f"{kind}.") for name in arrays)
        return [arrays[f"{kind}.{n}"] for n in range(count)]


@pytest.fixture
def export():
    return Export
