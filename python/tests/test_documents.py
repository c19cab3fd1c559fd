"""The notebook and the examples of README run."""

import json
import re
from pathlib import Path

import ember_rewrite
import pytest

ROOT = Path(__file__).parents[2]


def test_the_notebook_runs(monkeypatch):
    path = ROOT / "docs" / "dlrm.ipynb"
    monkeypatch.chdir(path.parent)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    names = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name}, {cell['id']}", "exec"), names)
    assert names["speedup"] > 1


def example(heading):
    """Returns the first example of a section of README."""
    readme = (ROOT / "python" / "README.md").read_text(encoding="utf-8")
    section = readme.split(f"## {heading}\n")[1]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)


def test_the_data_of_readme_is_read(monkeypatch, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    monkeypatch.chdir(tmp_path)
    names = {"ember_rewrite": ember_rewrite}
    exec(example("Data that you hold"), names)
    assert names["out"].tolist() == [[1.0] * 16, [0.0] * 16, [1.0] * 16]


def test_the_module_of_readme_compiles():
    pytest.importorskip("torch")
    names = {}
    exec(example("A module, compiled"), names)
    assert names["program"].cycles == names["program"].report.cycles


def test_the_function_of_readme_runs():
    torch = pytest.importorskip("torch")
    names = {"ember_rewrite": ember_rewrite, "torch": torch}
    exec(example("On this machine"), names)
    expected = names["bag"](*names["inputs"])
    assert torch.allclose(names["out"], expected)
