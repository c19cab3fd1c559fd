"""Sweeps: every combination of models, targets, schedules and parameters, here or on a cluster."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._progress import Progress, shown
from ._cluster import spread

if TYPE_CHECKING:
    from ._program import PathLike


class Sweep:
    """The result of a sweep."""

    def __init__(self, data: dict[str, Any], page: str, path: Path | None):
        self.data = data
        """All of it, in the form of `ember-rewrite sweep --json`."""
        self.page = page
        """The page of `ember-rewrite sweep --html`: Pareto fronts and curves, as text of a file that needs no other."""
        self.path = path
        """The file of the results, an SQLite database; None if none was asked for."""
        self.rows = [_row(point) for point in data["points"]]
        """A dict for each point: its settings, its parameters by name, and its result."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @property
    def pareto(self) -> dict[str, list[dict[str, Any]]]:
        """By model, the rows that no other row beats in both time and energy, the fastest first."""
        return {model: [self.rows[at] for at in front] for model, front in self.data["pareto"].items()}

    def to_pandas(self) -> Any:
        """Returns the rows as a `pandas.DataFrame`."""
        import pandas

        return pandas.DataFrame(self.rows).set_index("point")

    def write_html(self, path: PathLike) -> None:
        """Writes the page to a file for a browser."""
        Path(path).write_text(self.page, encoding="utf-8")

    def _repr_html_(self) -> str:
        # The page has scripts and styles of its own, which a frame keeps apart from the notebook's.
        framed = html.escape(self.page, quote=True)
        return f'<iframe srcdoc="{framed}" style="width: 100%; height: 40em; border: none"></iframe>'

    def __repr__(self) -> str:
        refused, failed = self.data["refused"], self.data["failed"]
        return f"<sweep of {len(self)} points, {refused} without a program, {failed} failed>"


def sweep(
    sweep: PathLike | Mapping[str, Any],
    output: PathLike | None = None,
    *,
    client: Any = None,
    restart: bool = False,
    retries: int = 3,
) -> Sweep:
    """Compiles and runs every combination of models, targets, schedules and parameters.

    Results are stored as they come. A call that was interrupted continues where it ended, if it has the same output.

    Args:
        sweep: the path of a sweep, whose paths are relative to it, or a dict of the same form. Parameters are a dict
            like `{"access.lanes": [2, 4, 8]}`; paths in it are relative to the current folder.
        output: the file of results, an SQLite database. By default it is beside the sweep's file, and ends in
            `.sqlite`; a dict has none.
        client: a `dask.distributed.Client`, whose workers then compute the points. They need this package and nothing
            else: models, data, targets and rules are sent to them. Without it, all cores of this machine are used.
        restart: True to begin anew, whatever the output holds.
        retries: how often points are sent again that were lost with their workers.

    Raises:
        EmberError: if something that the sweep names cannot be used, with its place, or the output holds something else.
    """
    if isinstance(sweep, Mapping):
        if output is None:
            with tempfile.TemporaryDirectory() as folder:
                swept = _run(None, _text(sweep), Path(folder, "sweep.sqlite"), client, restart, retries)
            return Sweep(*swept, None)
        path, text = None, _text(sweep)
    else:
        path, text = os.fspath(sweep), ""
    output = Path(sweep).with_suffix(".sqlite") if output is None else Path(output)
    return Sweep(*_run(path, text, output, client, restart, retries), output)


def compute(task: str, files: dict[str, bytes]) -> str:
    """Does the work for a point on a worker, given the contents of the files that it needs."""
    return _native.sweep_point(task, files)


def _run(
    path: str | None, text: str, output: Path, client: Any, restart: bool, retries: int
) -> tuple[dict[str, Any], str]:
    """Returns the result, and the page that shows it."""
    native = _native.Sweep(path, text, str(output), restart)
    with shown("sweep") as progress:
        if client is None:
            native.run(progress)
        else:
            _distribute(native, client, retries, progress)
    data, page = native.finish()
    return json.loads(data), page


def _distribute(native: _native.Sweep, client: Any, retries: int, progress: Progress) -> None:
    """Has the workers of a cluster compute the points without a result, and stores the results as they come."""
    # The points of a model need the same files.
    points = native.missing()
    models = {native.model(point): point for point in points}
    jobs = {point: (native.task(point), native.model(point)) for point in points}
    spread(client, compute, jobs, lambda model: native.files(models[model]), native.put, retries, progress)


def _text(sweep: Mapping[str, Any]) -> str:
    """Returns a sweep in TOML, whose strings, numbers and lists are those of JSON."""

    def value(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, default=_plain)

    own = {name: listed for name, listed in sweep.items() if name != "parameters"}
    lines = [f"{value(name)} = {value(listed)}" for name, listed in own.items()]
    parameters = sweep.get("parameters", {})
    lines += ["[parameters]", *(f"{value(name)} = {value(listed)}" for name, listed in parameters.items())]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    """Returns what JSON has for a path, a number of NumPy, or something like a list."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _row(point: dict[str, Any]) -> dict[str, Any]:
    """Returns a point with its parameters beside its other settings."""
    settings = {name: value for name, value in point.items() if name != "parameters"}
    return {**settings, **point["parameters"]}
