"""Commands whose work the workers of a cluster divide."""

from pathlib import Path

import ember_rewrite
import pytest
from ember_rewrite import EmberError
from ember_rewrite._cluster import joined, spread

ROOT = Path(__file__).parents[2]


def timeless(result):
    """Returns a result without the times, which differ between equal runs."""
    if isinstance(result, dict):
        return {name: timeless(value) for name, value in result.items() if not name.endswith("_ms")}
    return [timeless(one) for one in result] if isinstance(result, list) else result


def test_parts_are_joined():
    first = {"schema_version": 1, "seed": 7, "models": 2, "slowest_ms": 1.5, "findings": [1], "time_ms": [1.0, 9.0]}
    second = {"schema_version": 1, "seed": 7, "models": 3, "slowest_ms": 0.5, "findings": [], "time_ms": [3.0, 4.0]}
    whole = {"schema_version": 1, "seed": 7, "models": 5, "slowest_ms": 1.5, "findings": [1], "time_ms": [2.0, 9.0]}
    assert joined([first, second]) == whole
    assert joined([{"kinds": {"a": 1}}, {"kinds": {"b": 2, "a": 3}}]) == {"kinds": {"a": 4, "b": 2}}


def test_verify(cluster):
    rules = ROOT / "rules"
    options = dict(filter="^(vec-s|scf.a)", instances=3)
    there = ember_rewrite.verify(rules, client=cluster, **options)
    assert timeless(there) == timeless(ember_rewrite.verify(rules, **options))
    assert there["rules"] and there["operators"]


def test_self_test(cluster):
    options = dict(pairs=20, programs=5, models=1)
    there, here = ember_rewrite.self_test(client=cluster, **options), ember_rewrite.self_test(**options)
    # Whether the search for a proof ends in time may depend on what the process did before.
    for kind in ("equal", "mutants"):
        assert {**there["pairs"][kind], "unknown": 0} == {**here["pairs"][kind], "unknown": 0}
    assert there["programs"] == here["programs"] and there["programs"]["made"] == 5
    assert timeless(there["models"]) == timeless(here["models"]) and there["models"]["models"] == 1


def test_bench(cluster):
    workloads, options = ROOT / "workloads", dict(filter="^KG_", scale=0.01, candidates=1)
    there = ember_rewrite.bench(workloads, client=cluster, **options)
    assert there == ember_rewrite.bench(workloads, **options)
    assert len(there["workloads"]) > 1


def test_errors_come_back(cluster):
    with pytest.raises(EmberError, match="no schedule|unexpected argument"):
        ember_rewrite.self_test(client=cluster, colour="red")
    with pytest.raises(EmberError, match="there is no rule to verify"):
        ember_rewrite.verify(ROOT / "rules", client=cluster, filter="no-such-rule")
    with pytest.raises(TypeError, match="html is not for a cluster"):
        ember_rewrite.bench(ROOT / "workloads", client=cluster, html="page.html")


def fails(argument, files):
    """Fails on a worker."""
    raise OSError(argument)


def test_jobs_that_are_lost_too_often_are_an_error(cluster):
    with pytest.raises(EmberError, match="2 of 2 jobs were lost 2 times: no disk"):
        jobs = {job: ("no disk", None) for job in "ab"}
        spread(cluster, fails, jobs, lambda _: {}, print, retries=1)
