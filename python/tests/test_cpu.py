"""Models compiled for this machine, called on the memory of arrays and tensors."""

import importlib.util
from pathlib import Path

import ember_rewrite
import numpy as np
import pytest

IMPORTS = Path(__file__).parents[2] / "tests" / "imports"

BAG = """
(model bag
  (input table f32 (rows 16)) (input indices i64 (lookups)) (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (data (size rows 50) (size bags 4)
    (table (uniform -1 1)) (offsets (fixed 5)) (indices (zipf 0.8))))
"""


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp("cpu") / "bag.sexp"
    path.write_text(BAG)
    return ember_rewrite.compile(path, target="cpu")


def batch(rows=50, bags=3, seed=0):
    draw = np.random.default_rng(seed)
    lengths = draw.integers(0, 7, bags)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return draw.random((rows, 16), np.float32), draw.integers(0, rows, offsets[-1]), offsets


def summed(table, indices, offsets):
    out = np.zeros((len(offsets) - 1, table.shape[1]), np.float32)
    for bag, (first, end) in enumerate(zip(offsets, offsets[1:])):
        for row in indices[first:end]:
            out[bag] += table[row]
    return out


def test_arrays_of_any_sizes(bag):
    assert bag.arguments == ["table", "indices", "offsets"]
    assert "bag_unchecked" in bag.report["text"]
    for seed, (rows, bags) in enumerate([(50, 3), (7, 1), (1000, 40), (3, 0)]):
        inputs = batch(rows, bags, seed)
        np.testing.assert_array_equal(bag(*inputs), summed(*inputs))


def test_the_output_is_written_where_it_is_asked_for(bag):
    inputs = batch()
    out = np.full((3, 16), np.nan, np.float32)
    assert bag(*inputs, out=out) is out
    np.testing.assert_array_equal(out, summed(*inputs))
    np.testing.assert_array_equal(bag(*inputs, check=False), out)
    for wrong in [np.empty((3, 15), np.float32), np.empty((3, 16)), np.empty((16, 3), np.float32).T, 1]:
        with pytest.raises(ember_rewrite.EmberError, match="out"):
            bag(*inputs, out=wrong)


def test_what_is_not_as_the_function_takes_it_is_copied(bag):
    table, indices, offsets = batch()
    expected = summed(table, indices, offsets)
    strided = np.asfortranarray(table)
    unaligned = np.frombuffer(b"x" + table.tobytes(), np.float32, offset=1).reshape(table.shape)
    assert not unaligned.flags.aligned
    np.testing.assert_array_equal(bag(strided, indices.astype(np.int32), offsets), expected)
    np.testing.assert_array_equal(bag(unaligned, indices, offsets), expected)
    np.testing.assert_array_equal(bag(table, offsets=offsets, indices=indices), expected)


def test_wrong_arguments_are_errors(bag):
    table, indices, offsets = batch()
    with pytest.raises(ember_rewrite.EmberError, match="not below rows"):
        bag(table, indices + 50, offsets)
    with pytest.raises(ember_rewrite.EmberError, match="negative"):
        bag(table, indices - 50, offsets)
    with pytest.raises(ember_rewrite.EmberError, match="offsets does not start at 0"):
        bag(table, indices, offsets[::-1].copy())
    with pytest.raises(ember_rewrite.EmberError, match="fit"):
        bag(table[:, :8].copy(), indices, offsets)
    with pytest.raises(ember_rewrite.EmberError, match="3 arguments"):
        bag(table, indices)
    with pytest.raises(ember_rewrite.EmberError, match="no further argument"):
        bag(table, indices, offsets, weights=table)
    with pytest.raises(ember_rewrite.EmberError, match="float"):
        bag(table, indices.astype(np.float32), offsets)


def test_threads_and_what_is_computed_on_the_way(tmp_path):
    path = tmp_path / "layers.sexp"
    path.write_text(
        """
        (model layers
          (input x f32 (n 8)) (input w f32 (8 16)) (input b f32 (16))
          (let h (nn.relu (nn.bias (nn.matmul x w) b)))
          (output out (nn.tanh h))
          (data (size n 9) (x (uniform -1 1)) (w (uniform -1 1)) (b (uniform -1 1))))
        """
    )
    draw = np.random.default_rng(1)
    w, b = draw.random((8, 16), np.float32), draw.random(16, np.float32)
    one, two = (ember_rewrite.compile(path, target="cpu", threads=threads) for threads in (1, 2))
    for n in (9, 3000, 1):
        x = draw.random((n, 8), np.float32) - 1
        np.testing.assert_array_equal(one(x, w, b), two(x, w, b))
        np.testing.assert_allclose(one(x, w, b), np.tanh(np.maximum(x @ w + b, 0)), atol=1e-5)


def test_large_pages():
    assert ember_rewrite.large_pages(np.zeros(10)) is False
    assert ember_rewrite.large_pages(np.zeros((1 << 22,), np.float32)) in (True, False)
    with pytest.raises(TypeError):
        ember_rewrite.large_pages(np.zeros((4, 4)).T[1:])


# What follows needs PyTorch.


def modules():
    if not importlib.util.find_spec("torch"):
        return {}
    spec = importlib.util.spec_from_file_location("make_torch", IMPORTS / "make_torch.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return {name: (module.eval(), inputs) for name, (module, inputs) in made.MODELS.items()}


MODULES = modules()


def close(got, expected):
    import torch

    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    import torch

    module, inputs = MODULES[name]
    program = ember_rewrite.compile(module, inputs, target="cpu")
    with torch.no_grad():
        close(program(*inputs), module(*inputs))


@pytest.mark.parametrize("name", MODULES)
def test_the_backend(name):
    import torch

    module, inputs = MODULES[name]
    torch._dynamo.reset()
    fast = torch.compile(module, backend="ember", dynamic=False, options={"target": "cpu"})
    with torch.no_grad():
        for _ in range(2):
            close(fast(*inputs), module(*inputs))


def test_tensors_in_their_own_memory(bag):
    torch = pytest.importorskip("torch")
    table, indices, offsets = map(torch.from_numpy, batch())
    expected = torch.from_numpy(summed(*batch()))
    assert torch.equal(bag(table, indices, offsets), expected)
    out = torch.empty(3, 16)
    assert bag(table, indices, offsets, out=out) is out
    assert torch.equal(out, expected)


def test_calls_with_outputs_that_are_given(bag):
    torch = pytest.importorskip("torch")
    for seed, (rows, bags) in enumerate([(50, 3), (7, 1), (1000, 40), (3, 0)]):
        inputs = batch(rows, bags, seed)
        table, indices, offsets = map(torch.from_numpy, inputs)
        out = torch.full((bags, 16), torch.nan)
        for check in (True, False):
            assert bag(table, indices, offsets, out=out, check=check) is out
            np.testing.assert_array_equal(out.numpy(), summed(*inputs))
    assert bag.direct is not None
    table, indices, offsets = map(torch.from_numpy, batch())
    expected, out = torch.from_numpy(summed(*batch())), torch.empty(3, 16)
    # What is not as the function takes it goes the slower way: other types, strides, shapes and numbers of arguments.
    assert torch.equal(bag(table, indices.int(), offsets, out=out), expected)
    assert torch.equal(bag(table.T.contiguous().T, indices, offsets, out=out), expected)
    assert torch.equal(bag(torch.nn.Parameter(table, False), indices, offsets, out=out), expected)
    for wrong in [torch.empty(3, 15), torch.empty(3, 16).double(), torch.empty(16, 3).T, torch.empty(4, 16), 1]:
        with pytest.raises(ember_rewrite.EmberError, match="out"):
            bag(table, indices, offsets, out=wrong)
    for inputs in [(table, indices), (table, indices, offsets, offsets), (table[0], indices, offsets)]:
        with pytest.raises(ember_rewrite.EmberError):
            bag(*inputs, out=out)
    with pytest.raises(ember_rewrite.EmberError, match="not below rows"):
        bag(table, indices + 50, offsets, out=out)
    with pytest.raises(ember_rewrite.EmberError, match="gradients"):
        bag(table.clone().requires_grad_(), indices, offsets, out=out)


def test_tables_of_more_than_four_gigabytes(bag):
    # More than 2^33 bytes and 2^31 elements. Rows that nothing touches take no memory.
    rows = (1 << 27) + 8
    try:
        table = np.zeros((rows, 16), np.float32)
    except MemoryError:
        pytest.skip("the system gives no process so many addresses")
    own = [0, 7, 1 << 26, (1 << 26) + 7, 1 << 27, rows - 1]
    table[own] = np.arange(1, 1 + 16 * len(own)).reshape(-1, 16)
    indices, offsets = np.array(own), np.array([0, 1, 3, 3, 6])
    expected = summed(table, indices, offsets)
    np.testing.assert_array_equal(bag(table, indices, offsets), expected)
    with pytest.raises(ember_rewrite.EmberError, match="not below rows"):
        bag(table, indices + 1, offsets)
    if importlib.util.find_spec("torch"):
        import torch

        for _ in range(2):
            made = bag(*map(torch.from_numpy, (table, indices, offsets)))
            np.testing.assert_array_equal(made.numpy(), expected)


def test_outputs_that_share_memory_are_errors(bag):
    table, indices, offsets = batch()
    rows = np.zeros((60, 16), np.float32)
    rows[:50] = table
    for out in [rows[49:52], rows[10:13]]:
        with pytest.raises(ember_rewrite.EmberError, match="`out` shares memory with `table`"):
            bag(rows[:50], indices, offsets, out=out)
    # Its neighbour does not.
    np.testing.assert_array_equal(bag(rows[:50], indices, offsets, out=rows[50:53]), summed(table, indices, offsets))


def test_output_tensors_that_share_memory_are_errors(bag):
    torch = pytest.importorskip("torch")
    table, indices, offsets = map(torch.from_numpy, batch())
    rows = torch.zeros(60, 16)
    rows[:50] = table
    for out in [rows[49:52], rows[10:13]]:
        with pytest.raises(ember_rewrite.EmberError, match="`out` shares memory with `table`"):
            bag(rows[:50], indices, offsets, out=out)
    assert torch.equal(rows[:50], table)
    assert torch.equal(bag(rows[:50], indices, offsets, out=rows[50:53]), bag(table, indices, offsets))


def test_new_outputs_are_as_large_as_each_call_needs(bag):
    torch = pytest.importorskip("torch")
    for seed, bags in enumerate([3, 3, 5, 5, 0, 2]):
        inputs = batch(50, bags, seed)
        first = bag(*map(torch.from_numpy, inputs))
        np.testing.assert_array_equal(first.numpy(), summed(*inputs))
        second = bag(*map(torch.from_numpy, inputs))
        assert second is not first and torch.equal(first, second)


def test_what_is_computed_on_the_way_has_memory_of_its_own(tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "layers.sexp"
    path.write_text(
        """
        (model layers
          (input x f32 (n 8)) (input w f32 (8 16)) (input v f32 (16 4))
          (let h (nn.tanh (nn.matmul x w)))
          (output out (nn.matmul h v)) (output sums (nn.tanh (nn.matmul x w)))
          (data (size n 9) (x (uniform -1 1)) (w (uniform -1 1)) (v (uniform -1 1))))
        """
    )
    program = ember_rewrite.compile(path, target="cpu")
    w, v = torch.rand(8, 16), torch.rand(16, 4)
    for n in (9, 3000, 1, 9):
        x = torch.rand(n, 8) - 0.5
        out, hidden = torch.empty(n, 4), torch.tanh(x @ w)
        given = (out, torch.empty(n, 16))
        program(x, w, v, out=given)
        close(given[0], hidden @ v)
        close(given[1], hidden)


def test_the_weights_of_a_module_stay_its_own():
    torch = pytest.importorskip("torch")
    module = torch.nn.EmbeddingBag(30, 16, mode="sum", include_last_offset=True)
    inputs = (torch.tensor([1, 2, 3]), torch.tensor([0, 2, 3]))
    program = ember_rewrite.compile(module, inputs, target="cpu")
    with torch.no_grad():
        module.weight += 1
        close(program(*inputs), module(*inputs))


def test_inputs_that_need_gradients_are_pytorchs(bag):
    torch = pytest.importorskip("torch")

    class Sums(torch.nn.Module):
        def forward(self, table, indices, offsets):
            return torch.nn.functional.embedding_bag(indices, table, offsets, mode="sum", include_last_offset=True)

    table, indices, offsets = map(torch.from_numpy, batch())
    table.requires_grad_()
    program = ember_rewrite.compile(Sums(), (table, indices, offsets), target="cpu")
    program(table, indices, offsets).sum().backward()
    assert table.grad is not None and table.grad.sum() == 16 * len(indices)
    with pytest.raises(ember_rewrite.EmberError, match="gradients"):
        bag(table, indices, offsets)
    with torch.no_grad():
        assert torch.equal(bag(table, indices, offsets), torch.from_numpy(summed(*batch())))


@pytest.mark.parametrize("name", ["hashed", "batched", "looked_up", "spans"])
def test_positions_are_computed_before_the_call(export, name):
    own = export(name)
    called = ember_rewrite.compile(own.path, target="cpu")(*own.inputs)
    outputs = called if isinstance(called, tuple) else (called,)
    for found, wanted in zip(outputs, own.outputs, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_every_operation_on_positions_is_that_of_the_simulated_program():
    path = IMPORTS.parent / "models" / "computed.sexp"
    draw = np.random.default_rng(3)
    inputs = [
        draw.random((100, 16), np.float32),
        draw.integers(-8, 41, (6, 1)),
        draw.integers(-3, 8, 5).astype(np.int32),
        np.array([4, 0, 26], np.int32),
        draw.integers(0, 100, (2, 3)).astype(np.int32),
    ]
    simulated = ember_rewrite.compile(path)(*inputs)
    for found, wanted in zip(ember_rewrite.compile(path, target="cpu")(*inputs), simulated, strict=True):
        np.testing.assert_array_equal(found, wanted)
