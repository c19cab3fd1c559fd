"""The commands as functions."""

from pathlib import Path

import ember_rewrite
import pytest
from ember_rewrite import EmberError

ROOT = Path(__file__).parents[2]


def test_equiv():
    pair = ROOT / "tests" / "cases" / "equiv" / "interchange.pair"
    assert ember_rewrite.equiv(pair)["verdict"] == "equal"


def test_explain_and_why_not():
    model = ROOT / "examples" / "bag_max.sexp"
    explained = ember_rewrite.explain(model)
    assert explained["groups"][0]["chain"]
    assert ember_rewrite.why_not("vec-store", model)["rule"] == "vec-store"
    with pytest.raises(EmberError, match="vec-stor"):
        ember_rewrite.why_not("vec-stor", model)


def test_saturate():
    rules = ROOT / "rules" / "extra" / "math.rules"
    terms = ROOT / "examples" / "terms" / "calculus.sexp"
    report = ember_rewrite.saturate([rules], terms, iter_limit=8)
    assert report["terms"] and report["egraph"]["iterations"] <= 8


def test_verify():
    report = ember_rewrite.verify(ROOT / "rules", filter="^slc-seq$", instances=5)
    assert [rule["rule"] for rule in report["rules"]] == ["slc-seq"]
    assert report["rules"][0]["sampled"] >= 5


def test_kernels():
    kernel = ROOT / "tests" / "cases" / "mlir" / "bag.mlir"
    assert ember_rewrite.command(kernel, schedule="emb-opt1")["program"].startswith("(dlc bag")
    assert ember_rewrite.command("run", kernel, schedule="emb-opt1")["valid"]
    assert ember_rewrite.equiv(kernel, kernel.with_name("bag_by_element.mlir"))["verdict"] == "equal"


def test_errors():
    with pytest.raises(EmberError, match="no such file"):
        ember_rewrite.equiv("missing.sexp")
    with pytest.raises(EmberError, match="unexpected argument"):
        ember_rewrite.command("equiv", "a", "b", colour=True)
