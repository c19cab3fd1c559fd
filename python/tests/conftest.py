"""Exports of PyTorch that the compiler's own tests use, with their inputs and outputs; a cluster."""

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


def client(workers):
    """Yields a client of a cluster of worker processes."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    options = dict(threads_per_worker=1, processes=True, dashboard_address=None)
    with distributed.LocalCluster(n_workers=workers, **options) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.fixture
def cluster():
    """A cluster of two worker processes."""
    yield from client(2)


@pytest.fixture
def one_worker():
    """A cluster of one worker process."""
    yield from client(1)
