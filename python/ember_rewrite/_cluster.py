"""Work for the workers of a Dask cluster. They need this package and nothing else."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _native
from ._progress import Progress, counted, shown

Files = dict[str, bytes]

PATHS = ("rules", "target", "workloads", "compare")
"""The options whose values are paths, or names where no such file is."""

PER_THREAD = 4
"""Parts for each thread of a cluster, so that a slow part does not keep the others waiting."""

ALIKE = ("schema_version", "seed", "solver")
"""What is in every part of a result, and of which there is one."""


def spread(
    client: Any,
    work: Callable[[Any, Files], Any],
    jobs: Mapping[Hashable, tuple[Any, Hashable]],
    files: Callable[[Any], Files],
    done: Callable[[Any, Any], None],
    retries: int,
    progress: Progress = None,
) -> None:
    """Has workers do jobs, and takes the results as they come.

    Args:
        work: what a worker calls with the job's argument and files.
        jobs: by job, the argument and the name of its files.
        files: returns the files of a name. Jobs share them, and every worker gets them once.
        done: is called with each job and its result, in the order in which jobs end.
        retries: how often jobs are sent again that were lost with their workers.
        progress: is told how many jobs are done.
    """
    from dask.distributed import as_completed

    left, lost = dict(jobs), None
    for _ in range(retries + 1):
        if not left:
            return
        names = {name for _, name in left.values()}
        # In a list, because a dict would be sent piece by piece under the names of files, which are not unique.
        sent = {name: client.scatter([files(name)], broadcast=True, hash=False)[0] for name in names}
        futures = {
            client.submit(work, argument, sent[name], pure=False): job for job, (argument, name) in left.items()
        }
        for future in as_completed(list(futures)):
            job = futures.pop(future)
            try:
                result = future.result()
            except _native.EmberError:
                client.cancel(list(futures))
                raise
            except Exception as error:  # Whatever else a cluster says, it did not do the job.
                lost = error
                continue
            done(job, result)
            del left[job]
            counted(progress, len(jobs) - len(left), len(jobs), "jobs")
    if left:
        raise _native.EmberError(f"{len(left)} of {len(jobs)} jobs were lost {retries + 1} times: {lost}")


def divided(client: Any, name: str, paths: Iterable[Any], options: Mapping[str, Any], retries: int = 3) -> dict[str, Any]:
    """Runs a command in parts, and returns its JSON output as if it had been run at once, but for times."""
    listed = {
        option: value if isinstance(value, (list, tuple)) else [value]
        for option, value in options.items()
        if option in PATHS and value is not None
    }
    words, listed = [_absolute(path) for path in paths], {o: [_absolute(v) for v in vs] for o, vs in listed.items()}
    files: Files = {}
    for path in [*words, *(path for values in listed.values() for path in values)]:
        files |= _packed(Path(path))
    for folder in listed.get("workloads", []):
        # Workloads name hand-written programs, which are in the folder beside theirs.
        files |= _packed(Path(folder).parent / "programs")
    parts = PER_THREAD * max(1, sum(client.nthreads().values()))
    jobs = {
        part: ((name, words, {**options, **listed, "part": f"{part + 1}/{parts}"}), None) for part in range(parts)
    }
    results: dict[int, dict[str, Any]] = {}
    with shown(name) as progress:
        spread(client, run_part, jobs, lambda _: files, results.__setitem__, retries, progress)
    return joined([results[part] for part in range(parts)])


def run_part(part: tuple[str, list[str], dict[str, Any]], files: Files) -> dict[str, Any]:
    """Runs a part of a command on a worker, on files that are written into a folder of its own."""
    from . import command

    name, words, options = part
    with tempfile.TemporaryDirectory() as folder:

        def moved(path: str) -> str:
            return folder + path if any(Path(path) in (Path(file), *Path(file).parents) for file in files) else path

        for path, content in files.items():
            file = Path(folder + path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        listed = {option: [moved(path) for path in options[option]] for option in PATHS if option in options}
        return command(name, *map(moved, words), **{**options, **listed})


def joined(results: list[Any], name: str = "") -> Any:
    """Returns the result of the whole from those of its parts, in order."""
    first = results[0]
    if name in ALIKE or isinstance(first, (str, bool)) or first is None:
        return first
    if name == "time_ms":
        medians, most = zip(*results)
        return [statistics.median(medians), max(most)]
    if isinstance(first, dict):
        names = dict.fromkeys(name for result in results for name in result)
        return {name: joined([result[name] for result in results if name in result], name) for name in names}
    if isinstance(first, list):
        return [one for result in results for one in result]
    return max(results) if isinstance(first, float) else sum(results)


def _absolute(path: Any) -> str:
    """Returns the absolute path of a file or folder; a word that names none, such as `default`, as it is."""
    return os.path.abspath(path) if os.path.exists(path) else os.fspath(path)


def _packed(path: Path) -> Files:
    """Returns the files of a folder, or a file with those of its kind beside it, which it may refer to."""
    if path.is_dir():
        found = path.rglob("*")
    else:
        found = path.parent.glob("*" + path.suffix) if path.is_file() else iter(())
    return {str(file): file.read_bytes() for file in found if file.is_file()}
