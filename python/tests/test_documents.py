"""The notebook and the examples of README run."""

import json
import re
from pathlib import Path

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


def test_the_module_of_readme_compiles():
    pytest.importorskip("torch")
    readme = (ROOT / "python" / "README.md").read_text(encoding="utf-8")
    first = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    names = {}
    exec(first.group(1), names)
    assert names["program"].cycles == names["program"].report.cycles
