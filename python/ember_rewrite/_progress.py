"""The progress of long calls, which tqdm shows where it is installed. `TQDM_DISABLE=1` in the environment hides it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional

Progress = Optional[Callable[[str, Optional[int], Optional[int]], None]]
"""A function that is told a message, how much is done, and of how much; None where nobody listens."""

DELAY = 0.5
"""The seconds after which a call is long. Shorter ones show nothing."""

MESSAGE = "{desc} [{elapsed}]"
PARTS = "{desc} {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]"


@contextmanager
def shown(name: str) -> Iterator[Progress]:
    """Yields the function that shows the progress of a call; None without tqdm."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(desc=name, delay=DELAY, miniters=0, leave=False, bar_format=MESSAGE) as bar:

        def progress(message: str, done: int | None, total: int | None) -> None:
            bar.total, bar.bar_format = total, MESSAGE if total is None else PARTS
            bar.set_description_str(f"{name}: {message}", refresh=False)
            bar.update((done or 0) - bar.n)

        yield progress


def counted(progress: Progress, done: int, total: int, parts: str) -> None:
    """Tells how many parts of the work are done."""
    if progress is not None:
        progress(f"{done} of {total} {parts}", done, total)
