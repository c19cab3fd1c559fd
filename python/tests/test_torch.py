"""Modules of PyTorch, and the backend of `torch.compile`. Needs PyTorch."""

import importlib.util
import logging
from pathlib import Path

import ember_rewrite
import pytest

torch = pytest.importorskip("torch")

IMPORTS = Path(__file__).parents[2] / "tests" / "imports"


def modules():
    """Returns the modules of which the committed exports were made."""
    spec = importlib.util.spec_from_file_location("make_torch", IMPORTS / "make_torch.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return {name: (module.eval(), inputs) for name, (module, inputs) in made.MODELS.items()}


MODULES = modules()


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def close(got, expected):
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", MODULES)
def test_modules_compile(name):
    module, inputs = MODULES[name]
    program = ember_rewrite.compile(module, inputs)
    with torch.no_grad():
        close(program(*inputs), module(*inputs))


@pytest.mark.parametrize("name", MODULES)
def test_the_backend_agrees_with_eager(name, caplog):
    module, inputs = MODULES[name]
    caplog.set_level(logging.INFO, "ember_rewrite")
    fast = torch.compile(module, backend="ember", dynamic=False)
    with torch.no_grad():
        close(fast(*inputs), module(*inputs))
    assert not caplog.records, "it is not PyTorch that ran it"


def test_what_has_no_counterpart_stays_pytorchs(caplog):
    fast = torch.compile(lambda x: torch.fft.fft(x).real, backend="ember")
    x = torch.randn(8)
    with torch.no_grad():
        close(fast(x), torch.fft.fft(x).real)
    assert "PyTorch runs a graph" in caplog.text and "fft" in caplog.text


class Mixed(torch.nn.Module):
    """Lookups and layers around operators without a counterpart."""

    def __init__(self):
        super().__init__()
        self.table, self.layer = torch.nn.Embedding(50, 8), torch.nn.Linear(8, 4)

    def forward(self, indices, x):
        rows = self.table(indices)
        greatest, places = torch.topk(rows, 3)
        return self.layer(rows) + greatest.sum(-1, keepdim=True), torch.cumsum(x, 0).relu() @ x.t(), places


def changed_in_place(x):
    y = x * 2
    y[0].add_(1)
    return torch.cumsum(y, 0) + y


def split(x):
    first, second = x.chunk(2, -1)
    left, right = torch.cumsum(first, 0).split(2, -1)
    return left * right + second[:, :2]


def masked(x):
    above = x > x.mean()
    return torch.where(above, torch.cumsum(x, 0), -x), above


PARTS = {
    "mixed": (Mixed().eval(), (torch.arange(5), torch.randn(5, 8)), {"topk", "cumsum"}),
    "in place": (changed_in_place, (torch.randn(4, 8),), {"cumsum"}),
    "split": (split, (torch.randn(4, 8),), {"cumsum"}),
    "masked": (masked, (torch.randn(4, 8),), {"cumsum"}),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_a_graph_are_compiled(name, caplog):
    module, inputs, missing = PARTS[name]
    caplog.set_level(logging.INFO, "ember_rewrite")
    fast = torch.compile(module, backend="ember", dynamic=False)
    with torch.no_grad():
        got, expected = fast(*inputs), module(*inputs)
    close(got, expected)
    said = [record.getMessage() for record in caplog.records]
    assert any("of a graph are compiled" in line for line in said), said
    for operator in missing:
        assert any(f"PyTorch runs `{operator}" in line and "no counterpart" in line for line in said), said
    assert not any("runs a part" in line or "runs a graph" in line for line in said), said


def test_truth_values_are_no_numbers():
    """A mask that a compiled part computes selects what PyTorch takes."""
    fast = torch.compile(lambda x, y: x[(x * 2) > y], backend="ember", dynamic=False)
    x, y = torch.randn(32), torch.randn(32)
    with torch.no_grad():
        close(fast(x, y), x[(x * 2) > y])


def test_gradients_stay_pytorchs(caplog):
    caplog.set_level(logging.INFO, "ember_rewrite")
    module = torch.nn.EmbeddingBag(50, 8, mode="sum")
    fast = torch.compile(module, backend="ember")
    fast(torch.arange(10), torch.tensor([0, 5])).sum().backward()
    assert module.weight.grad is not None
    assert "needs gradients" in caplog.text


def test_changed_weights_are_seen():
    module = torch.nn.EmbeddingBag(50, 8, mode="sum").eval()
    fast = torch.compile(module, backend="ember")
    inputs = (torch.arange(10), torch.tensor([0, 5]))
    with torch.no_grad():
        close(fast(*inputs), module(*inputs))
        module.weight.mul_(2)
        close(fast(*inputs), module(*inputs))


def test_options():
    module = torch.nn.EmbeddingBag(50, 8, mode="sum").eval()
    inputs = (torch.arange(10), torch.tensor([0, 5]))
    fast = torch.compile(module, backend="ember", options={"schedule": "emb-opt0"})
    with torch.no_grad():
        close(fast(*inputs), module(*inputs))
