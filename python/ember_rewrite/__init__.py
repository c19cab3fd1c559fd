"""Compiles embedding operations for decoupled access-execute (DAE) machines, from Python.

    >>> import ember_rewrite
    >>> program = ember_rewrite.compile("model.pt2", inputs)
    >>> program.report.cycles
    5669
    >>> outputs = program(*inputs)

`compile` takes a `torch.nn.Module`, a program that a framework exported (`.pt2`, `.mlir`, …), a model's text
(`.sexp`), or a kernel in MLIR text. The other functions are the commands of the same names, with their options as keywords.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cluster import divided
from ._cpu import NativeProgram as NativeProgram
from ._cpu import large_pages as large_pages
from ._native import EmberError
from ._program import Program, Report
from ._program import compile as compile
from ._progress import shown
from ._sweep import Sweep
from ._sweep import sweep as sweep
from .readers import read as read

if TYPE_CHECKING:
    from ._program import PathLike

__all__ = [
    "EmberError",
    "NativeProgram",
    "Program",
    "Report",
    "Sweep",
    "bench",
    "command",
    "compile",
    "equiv",
    "explain",
    "large_pages",
    "read",
    "saturate",
    "self_test",
    "sweep",
    "verify",
    "why_not",
]


def command(*words: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Runs a command of `ember-rewrite` and returns its JSON output.

    An option `iter_limit=8` is `--iter-limit 8`; a flag is True; a list gives the option again for each element.

    Raises:
        EmberError: if the command ends with errors, with their texts.
    """
    from . import _native

    arguments = ["ember-rewrite", *map(os.fspath, words)]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        values = value if isinstance(value, (list, tuple)) else [value]
        for one in values:
            arguments += [option] if one is True else [option, str(one)]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output.json")
        with shown(words[0] if words else "ember-rewrite") as progress:
            _native.command([*arguments, "--json", "--output", str(output)], progress)
        return json.loads(output.read_text(encoding="utf-8"))


def equiv(first: PathLike, second: PathLike | None = None, **options: Any) -> dict[str, Any]:
    """Compares two models or programs in files, or the two in one file of a pair.

    Returns:
        The answer of `ember-rewrite equiv --json`: `verdict` is "equal", "different" or "unknown".
    """
    files = [first] if second is None else [first, second]
    return command("equiv", *files, **options)


def verify(*rules: PathLike, client: Any = None, **options: Any) -> dict[str, Any]:
    """Verifies the rules in files and folders, as `ember-rewrite verify --json` does.

    With a `dask.distributed.Client`, its workers verify a part of the rules each.
    """
    return _run("verify", rules, client, options)


def self_test(*, client: Any = None, **options: Any) -> dict[str, Any]:
    """Tries the compiler on random programs, as `ember-rewrite self-test --json` does.

    With a `dask.distributed.Client`, its workers try a part of the programs each.
    """
    return _run("self-test", (), client, options)


def bench(workloads: PathLike = "workloads", *, client: Any = None, **options: Any) -> dict[str, Any]:
    """Runs the workloads of a folder, as `ember-rewrite bench --json` does.

    With a `dask.distributed.Client`, its workers run a part of the workloads each. Hand-written programs are then those
    of the folder `programs` beside the workloads.
    """
    return _run("bench", (), client, {**options, "workloads": workloads})


def _run(name: str, paths: Iterable[PathLike], client: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Runs a command here, or in parts on a cluster."""
    if client is None:
        return command(name, *paths, **options)
    written = [option for option in ("keep", "html", "svg", "sample", "gpu") if options.get(option)]
    if written:
        raise TypeError(f"{written[0]} is not for a cluster")
    return divided(client, name, paths, options)


def saturate(rules: Iterable[PathLike], *terms: PathLike, **options: Any) -> dict[str, Any]:
    """Applies rules to terms, in files or as texts, as `ember-rewrite saturate --json` does."""
    return command("saturate", *terms, rules=[os.fspath(path) for path in rules], **options)


def explain(model: PathLike, **options: Any) -> dict[str, Any]:
    """Returns the chains of rules that lead from a model's file to its program."""
    return command("explain", model, **options)


def why_not(rule: str, model: PathLike, **options: Any) -> dict[str, Any]:
    """Says why a rule did not fire on a model's file, or has no part in the chosen program."""
    return command("why-not", rule, model, **options)
