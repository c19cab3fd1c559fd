"""Sweeps, in this process and on a cluster."""

import json
import os
import shutil
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import ember_rewrite
import pytest
from ember_rewrite import EmberError, _native, _sweep

ROOT = Path(__file__).parents[2]

SWEEP = {
    "models": ["gather.sexp", "bag.sexp"],
    "schedules": ["emb-opt1", "search"],
    "seeds": [1, 2],
    "parameters": {"access.lanes": [2, 4, 8], "dram.sharers": [1, 8]},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the models of the sweep, which is the current one."""
    for model in SWEEP["models"]:
        shutil.copy(ROOT / "tests" / "models" / model, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_rows(folder):
    swept = ember_rewrite.sweep({**SWEEP, "schedules": ["search"]})
    assert len(swept) == 2 * 2 * 3 * 2 and swept.path is None
    row = swept.rows[0]
    assert (row["point"], row["model"], row["access.lanes"], row["seed"]) == (0, "gather.sexp", 2.0, 1)
    assert row["valid"] and row["cycles"] >= row["bound_cycles"]
    assert set(swept.pareto) == set(SWEEP["models"])
    fastest = min(row["time_s"] for row in swept if row["model"] == "bag.sexp")
    assert swept.pareto["bag.sexp"][0]["time_s"] == fastest


def test_a_file_is_that_of_the_command(folder):
    Path("a.toml").write_text(_sweep._text(SWEEP))
    swept = ember_rewrite.sweep("a.toml")
    assert swept.path == Path("a.sqlite")
    again = ember_rewrite.sweep(SWEEP, "b.sqlite")
    assert Path("a.sqlite").read_bytes() == Path("b.sqlite").read_bytes()
    assert swept.rows == again.rows == ember_rewrite.sweep("a.toml").rows


def test_pages(folder):
    swept = ember_rewrite.sweep({**SWEEP, "schedules": ["search"]})
    assert swept.page.lower().startswith("<!doctype html") and "bag.sexp" in swept.page
    swept.write_html("page.html")
    assert Path("page.html").read_text(encoding="utf-8") == swept.page
    assert swept._repr_html_().startswith("<iframe srcdoc=") and "<script" not in swept._repr_html_()


def test_pandas(folder):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = ember_rewrite.sweep({**SWEEP, "schedules": ["search"]}).to_pandas()
    assert list(frame.groupby("access.lanes").size()) == [8, 8, 8]


def test_errors(folder):
    with pytest.raises(EmberError, match="unknown key `lane`"):
        ember_rewrite.sweep({**SWEEP, "parameters": {"access.lane": [1]}})
    ember_rewrite.sweep({"models": ["bag.sexp"]}, "a.sqlite")
    with pytest.raises(EmberError, match="results of another sweep"):
        ember_rewrite.sweep({"models": ["gather.sexp"]}, "a.sqlite")
    assert len(ember_rewrite.sweep({"models": ["gather.sexp"]}, "a.sqlite", restart=True)) == 1


def test_a_task_needs_nothing_but_its_files(folder, tmp_path_factory, monkeypatch):
    target = 'name = "alone"\ninherits = "tmu-cpu-plus"\n[dram]\nsharers = { value = 1, unit = "cores", source = "a test" }\n'
    Path("alone.toml").write_text(target)
    shutil.copy(ROOT / "tests" / "imports" / "two_tower.pt2", folder)
    sweep = {"models": ["bag.sexp", "two_tower.pt2"], "targets": ["alone.toml"], "schedules": ["emb-opt1"]}
    expected = ember_rewrite.sweep(sweep).rows
    native = _native.Sweep(None, _sweep._text(sweep), str(folder / "a.sqlite"), False)
    work = [(native.task(point), native.files(point)) for point in native.missing()]
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    shutil.rmtree(folder)
    for (task, files), row in zip(work, expected, strict=True):
        found = json.loads(_sweep.compute(task, files))
        assert found == {name: row[name] for name in found}
    task = json.loads(work[0][0])
    with pytest.raises(EmberError, match="planned by version 0"):
        _sweep.compute(json.dumps({**task, "version": "0"}), work[0][1])


def test_a_cluster_gives_the_same_file(folder, cluster):
    ember_rewrite.sweep(SWEEP, "here.sqlite")
    swept = ember_rewrite.sweep(SWEEP, "there.sqlite", client=cluster)
    assert len(swept) == 48
    assert Path("here.sqlite").read_bytes() == Path("there.sqlite").read_bytes()


@contextmanager
def killing(worker, stored):
    """Kills a process once some results are stored, and yields a list that then says that there were more to come."""
    killed = []

    def kill():
        while not stored.exists() or stored.stat().st_size < 60_000:
            time.sleep(0.002)
        os.kill(worker, signal.SIGKILL)
        killed.append(stored.exists())

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    yield killed
    killer.join(10)


def test_a_worker_that_is_killed_changes_nothing(folder, cluster):
    ember_rewrite.sweep(SWEEP, "here.sqlite")
    first, _ = cluster.run(os.getpid).values()
    with killing(first, Path("there.sqlite.part-wal")) as killed:
        ember_rewrite.sweep(SWEEP, "there.sqlite", client=cluster)
    assert killed == [True], "the worker was not killed in the middle"
    assert first not in cluster.run(os.getpid).values()
    assert Path("here.sqlite").read_bytes() == Path("there.sqlite").read_bytes()


def test_the_only_worker_that_is_killed_is_replaced(folder, one_worker):
    ember_rewrite.sweep(SWEEP, "here.sqlite")
    (worker,) = one_worker.run(os.getpid).values()
    with killing(worker, Path("there.sqlite.part-wal")) as killed:
        ember_rewrite.sweep(SWEEP, "there.sqlite", client=one_worker)
    assert killed == [True], "the worker was not killed in the middle"
    assert Path("here.sqlite").read_bytes() == Path("there.sqlite").read_bytes()
