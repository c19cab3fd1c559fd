"""Compilation of files, reports, and calls with NumPy arrays."""

import signal
import threading
import time
from pathlib import Path

import ember_rewrite
import numpy as np
import pytest
from ember_rewrite import EmberError

ROOT = Path(__file__).parents[2]
NAMES = "dlrm gcn_coo sage gat transe distmult bigbird bag_mean bag_weighted two_tower".split()

MODEL = """(model bag
  (input table f32 (rows 8))
  (input indices i64 (lookups))
  (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (data (size rows 50) (size bags 4)
    (table (uniform -1.0 1.0))
    (offsets (ragged (mean 3) (empty 0.0)))
    (indices (zipf 1.0))))
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "bag.sexp"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_exports_compute_what_pytorch_computed(export, name):
    case = export(name)
    program = ember_rewrite.compile(case.path, case.inputs)
    outputs = program(*case.inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    assert len(outputs) == len(case.outputs)
    for got, expected in zip(outputs, case.outputs):
        assert got.shape == expected.shape and got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, atol=1e-5, rtol=1e-5)
    assert program.cycles == program.report.cycles
    assert 0 < program.report.bound_cycles <= program.cycles


def test_other_inputs_and_names(model):
    program = ember_rewrite.compile(model)
    assert program.arguments == ["table", "indices", "offsets"]
    table = np.arange(80, dtype=np.float32).reshape(10, 8)
    indices, offsets = np.array([9, 0, 3]), np.array([0, 2, 2, 3])
    expected = np.stack([table[9] + table[0], np.zeros(8, np.float32), table[3]])
    by_order = program(table, indices, offsets)
    by_name = program(table=table, indices=indices.astype(np.int32), offsets=offsets)
    np.testing.assert_array_equal(by_order, expected)
    np.testing.assert_array_equal(by_name, expected)
    # Rows of a larger array, whose elements are not contiguous.
    wide = np.zeros((10, 16), np.float32)
    wide[:, ::2] = table
    np.testing.assert_array_equal(program(wide[:, ::2], indices, offsets), expected)


def test_the_report_and_the_levels(model):
    program = ember_rewrite.compile(model, compare=True)
    names = [other["name"] for other in program.report.programs]
    assert names == ["coupled-inorder", "coupled-ooo", *(f"emb-opt{n}" for n in range(4)), "search"]
    assert program.report.energy_j > 0 and program.report.bound_by
    assert str(program.report.cycles) in repr(program)
    page = program.report._repr_html_()
    assert "<td>emb-opt3</td>" in page and f"{program.report.cycles:,}" in page
    assert program.dlc.startswith("(dlc bag") and program.text("slc").startswith("(slc.")
    assert "func.func @bag" in program.mlir() and "scf.for" in program.mlir()
    with pytest.raises(EmberError, match="there is no form `slx`"):
        program.text("slx")


def test_settings(model):
    first = ember_rewrite.compile(model, schedule="emb-opt0", seed=3)
    again = ember_rewrite.compile(model, schedule="emb-opt0", seed=3)
    best = ember_rewrite.compile(model, exact="reassoc", seed=3)
    assert first.report.cycles == again.report.cycles > best.report.cycles
    with pytest.raises(EmberError, match="`exactly` is no exactness"):
        ember_rewrite.compile(model, exact="exactly")
    with pytest.raises(EmberError, match="abacus"):
        ember_rewrite.compile(model, target="abacus")


def test_errors_say_what_does_not_fit(model, export):
    program = ember_rewrite.compile(model)
    table, indices, offsets = np.zeros((10, 8), np.float32), np.array([9]), np.array([0, 1])
    with pytest.raises(EmberError, match="indices"):
        program(table, np.array([10]), offsets)
    with pytest.raises(EmberError, match=r"the array for `table` has the shape \(10\)"):
        program(table[:, 0], indices, offsets)
    with pytest.raises(TypeError, match="elements of"):
        program(table.astype(np.complex64), indices, offsets)
    with pytest.raises(EmberError, match="no such file"):
        ember_rewrite.compile("missing.sexp")
    with pytest.raises(TypeError, match="a module or a path|torch.nn.Module or a path"):
        ember_rewrite.compile(3)
    with pytest.raises(EmberError, match=r"a kernel is no model"):
        ember_rewrite.compile(ROOT / "tests" / "cases" / "mlir" / "bag.mlir", target="cpu")
    bad = ROOT / "tests" / "imports" / "bad" / "operator.pt2"
    with pytest.raises(EmberError, match="aten.fft_fft"):
        ember_rewrite.compile(bad)


def test_kernels_compile_and_run_on_arrays(tmp_path):
    path = tmp_path / "scale.mlir"
    path.write_text("""func.func @scale(%alpha: f32, %a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = arith.mulf %alpha, %x : f32
    memref.store %y, %o[%i] : memref<?xf32>
  }
  return
}
""")
    numbers = np.arange(100, dtype=np.float32)
    program = ember_rewrite.compile(path, [np.float32(2.0), numbers, np.zeros_like(numbers)])
    assert program.arguments == ["alpha", "a", "o"]
    assert program.dlc.startswith("(dlc scale") and "func.func" in program.mlir()
    assert program.report.cycles > 0 and program.report.bound_cycles is None
    assert "scale" in repr(program) and "scale" in program.report._repr_html_()
    np.testing.assert_array_equal(program(np.float32(3.0), numbers, np.zeros_like(numbers)), 3 * numbers)
    assert program.cycles == program.report.cycles
    with pytest.raises(EmberError, match="the array for `a` is f64"):
        program(np.float32(3.0), numbers.astype(np.float64), np.zeros_like(numbers))
    # Without arrays, the data is random.
    assert ember_rewrite.compile(path).report.cycles > 0


def test_other_threads_run_and_interrupts_are_obeyed():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(time.monotonic())

    # A process that a shell started in the background ignores the signal otherwise.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=tick, daemon=True).start()
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        # More than a second of work.
        ember_rewrite.compile(ROOT / "examples" / "gcn.sexp", compare=True)
    stop.set()
    assert time.monotonic() - start < 2.0
    assert len(ticks) > 10
