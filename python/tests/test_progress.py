"""Progress: tqdm shows it where it is installed."""

import sys
import time
from pathlib import Path

import ember_rewrite
import pytest
from ember_rewrite import _progress

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "examples" / "bag_max.sexp"
SWEEP = {"models": [str(MODEL)], "schedules": ["emb-opt0"], "seeds": [1, 2, 3, 4, 5, 6]}


@pytest.fixture
def told(monkeypatch):
    """The bars of a tqdm that only notes what it is told."""
    bars = []

    class Bar:
        def __init__(self, **options):
            self.options, self.n, self.told = options, 0, []
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.told.append("closed")

        def set_description_str(self, desc, refresh):
            self.desc = desc.removeprefix(self.options["desc"] + ": ")

        def update(self, more):
            self.n += more
            self.told.append((self.desc, self.n, self.total))

    monkeypatch.setitem(sys.modules, "tqdm.auto", type("auto", (), {"tqdm": Bar}))
    return bars


def test_a_compilation_says_what_it_does(told):
    ember_rewrite.compile(MODEL, compare=True)
    (bar,) = told
    assert bar.options["desc"] == "compile" and bar.options["delay"] > 0
    assert bar.told.pop() == "closed"
    assert any("e-nodes" in message or "ranking" in message for message, _, _ in bar.told)


def test_points_are_counted(told):
    ember_rewrite.sweep(SWEEP)
    (bar,) = told
    assert bar.told.pop() == "closed"
    assert bar.told and all(message == f"{n} of 6 points" and total == 6 for message, n, total in bar.told)


def test_commands_count_their_parts(told):
    ember_rewrite.verify(ROOT / "rules", filter="^vec-", instances=20)
    (bar,) = told
    assert bar.options["desc"] == "verify"
    assert any("of" in message and message.endswith("rules") and total for message, _, total in bar.told[:-1])


def test_parts_on_a_cluster_are_counted(told, cluster):
    ember_rewrite.sweep(SWEEP, client=cluster)
    assert ("6 of 6 jobs", 6, 6) in told[0].told


def test_nothing_is_shown_without_tqdm(monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    ember_rewrite.compile(MODEL, compare=True)
    ember_rewrite.sweep(SWEEP)
    assert capfd.readouterr() == ("", "")


def test_the_real_tqdm_shows_it(monkeypatch, capfd):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    monkeypatch.setattr(_progress, "DELAY", 0)
    with _progress.shown("sweep") as progress:
        time.sleep(0.2)  # It draws ten times a second at most.
        progress("ranking 12 candidates", None, None)
        time.sleep(0.2)
        _progress.counted(progress, 2, 3, "points")
    shown = capfd.readouterr().err
    assert "sweep: ranking 12 candidates [" in shown
    assert "sweep: 2 of 3 points  67%|" in shown
