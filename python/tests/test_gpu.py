"""Models on a device of PyTorch: what they compute, and the file of measurements."""

import json
import re
import subprocess
import sys
from pathlib import Path

import ember_rewrite
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from ember_rewrite.gpu import data, models, operations  # noqa: E402

ROOT = Path(__file__).parents[2]
# The models, with the replacements that make them small.
SMALL = {
    "dlrm_rm1": {"batch 32": "batch 3", "rows 4000000": "rows 50"},
    "dlrm_rm2": {"batch 16": "batch 2", "rows 500000": "rows 50"},
    "dlrm_rm3": {"batch 32": "batch 2", "rows 2000000": "rows 50"},
    "gcn": {"nodes 4000": "nodes 30", "edges 12000": "edges 90"},
    "graphsage": {"nodes 1000": "nodes 30", "edges 10000": "edges 90"},
    "kg_scorer": {"count 100000": "count 40", "triples 2048": "triples 9"},
    "bigbird": {"size blocks 32": "size blocks 8"},
    "fusedmm": {"nodes 1000": "nodes 30", "edges 10000": "edges 90"},
}


@pytest.fixture
def small(tmp_path):
    def write(name):
        text = (ROOT / "examples" / f"{name}.sexp").read_text()
        for old, new in SMALL[name].items():
            assert old in text
            text = re.sub(rf"\b{old}\b", new, text)
        path = tmp_path / f"{name}.sexp"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("name", SMALL)
def test_pytorch_computes_what_the_compiled_program_computes(small, name):
    path = small(name)
    model = models.read(path)
    drawn = data.draw(model, 1.0, torch.device("cpu"))
    runnable = operations.Runnable(model, drawn)
    program = ember_rewrite.compile(path)
    [expected] = [program(**{name: drawn.tensors[name].numpy() for name in program.arguments})]
    for sparse in (False, True):
        [got] = runnable(runnable.tensors, sparse)
        np.testing.assert_allclose(got.numpy(), np.asarray(expected), atol=1e-4, rtol=1e-4)


def test_a_batch_is_scaled(small):
    model = models.read(small("graphsage"))
    once, twice = (data.draw(model, scale, torch.device("cpu")).sizes for scale in (1.0, 2.0))
    assert once == {"nodes": 30, "edges": 90} and twice == {"nodes": 60, "edges": 180}


def test_measurements_are_written(small, tmp_path):
    output = tmp_path / "cpu.json"
    words = [small("kg_scorer"), "--device", "cpu", "--scales", "1,2", "--no-compile", "-o", output]
    subprocess.run([sys.executable, "-m", "ember_rewrite.gpu", *map(str, words)], check=True)
    file = json.loads(output.read_text())
    assert (file["format"], file["version"]) == ("ember-rewrite gpu measurements", 1)
    assert [(row["model"], row["scale"]) for row in file["models"]] == [("kg_scorer", 1.0), ("kg_scorer", 2.0)]
    assert all(row["seconds"] > 0 for row in file["models"])
    assert all(value > 0 for value in file["probes"].values())


@pytest.mark.parametrize("text", ["(model m", "(model m (data (size n 3)))) ", "(model m (outputs x))", "a b"])
def test_what_is_no_model_is_an_error(tmp_path, text):
    path = tmp_path / "wrong.sexp"
    path.write_text(text)
    words = [path, "--device", "cpu", "-o", tmp_path / "out.json"]
    done = subprocess.run([sys.executable, "-m", "ember_rewrite.gpu", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("error: ")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_exit_code_is_two(small, tmp_path):
    words = [small("kg_scorer"), "-o", tmp_path / "out.json"]
    done = subprocess.run([sys.executable, "-m", "ember_rewrite.gpu", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 2 and "no GPU" in done.stderr
