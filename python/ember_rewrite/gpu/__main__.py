"""The command `python -m ember_rewrite.gpu`."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

FORMAT, VERSION = "ember-rewrite gpu measurements", 1

NO_GPU = 2
"""The exit code without a GPU."""


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ember_rewrite.gpu",
        description="Measures models on a GPU with PyTorch, for `ember-rewrite bench --gpu FILE`.",
    )
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL", help="the file of a model (.sexp)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="where the JSON is written")
    parser.add_argument(
        "--scales", default="1,4,16,64,256", metavar="N,…", help="what the batch is multiplied by [%(default)s]"
    )
    parser.add_argument("--device", default="cuda", help="`cuda`, or `cpu` to try the measurement [%(default)s]")
    parser.add_argument("--seconds", type=float, default=300, help="begin nothing new after so long [%(default)s]")
    parser.add_argument("--no-compile", action="store_true", help="leave `torch.compile` out")
    parser.add_argument("--bandwidth-gb-per-s", type=float, help="instead of what the device says")
    parser.add_argument("--power-w", type=float, help="instead of what the device says")
    return parser


class Session:
    """One run of the command: the rows so far, and the file that they are written to after each."""

    def __init__(self, given: argparse.Namespace):
        import torch

        from .measure import Device

        self.given, self.begun = given, time.perf_counter()
        self.device = Device(given.device)
        device = self.device.describe()
        for name in ("bandwidth_gb_per_s", "power_w"):
            if getattr(given, name) is not None:
                device[name] = getattr(given, name)
        command = "python -m ember_rewrite.gpu " + " ".join(sys.argv[1:])
        self.file: dict[str, Any] = {"format": FORMAT, "version": VERSION, "command": command}
        self.file |= {"device": device, "torch": torch.__version__, "cold_caches": True, "probes": {}, "models": []}

    def write(self) -> None:
        self.given.output.write_text(json.dumps(self.file, indent=1) + "\n", encoding="utf-8")

    def is_over(self) -> bool:
        return time.perf_counter() - self.begun > self.given.seconds

    def say(self, text: str) -> None:
        print(f"{time.perf_counter() - self.begun:6.1f} s  {text}", file=sys.stderr, flush=True)

    def measure(self, model, scale: float, row: dict[str, Any] | None, function: Any) -> dict[str, Any] | None:
        """Measures a model at one scale: all ways without a compiler, or the compiled one if there is a function.

        Returns:
            The row; None if the device has too little memory.
        """
        import torch

        from .data import draw
        from .measure import compiled, timed, ways
        from .operations import Runnable

        try:
            with torch.no_grad():
                data = draw(model, scale, self.device.device)
                runnable = Runnable(model, data)
                if function is None:
                    calls = ways(self.device, runnable)
                else:
                    calls = {"compiled-graph": compiled(self.device, runnable, function(runnable))}
                seconds = {name: timed(self.device, name, call) for name, call in calls.items()}
                if not seconds:
                    return None
                best = min(seconds, key=seconds.__getitem__)
                if row is None:
                    row = {"model": model.name, "scale": scale, "sizes": data.sizes, "ways": {}}
                row["ways"] |= {name: {"seconds": value} for name, value in seconds.items()}
                power = self.device.power(calls[best])
                if power is not None:
                    row["ways"][best] |= {"watts": power[0], "warm_seconds": power[1]}
                return row
        except torch.OutOfMemoryError:
            return None
        finally:
            if self.device.is_gpu:
                torch.cuda.empty_cache()


def run(given: argparse.Namespace) -> int:
    try:
        import torch
    except ImportError:
        print("error: PyTorch is not installed; it measures the models", file=sys.stderr)
        return NO_GPU
    if given.device.startswith("cuda") and not torch.cuda.is_available():
        print("error: PyTorch finds no GPU here; `--device cpu` tries the measurement without one", file=sys.stderr)
        return NO_GPU
    from .models import Unsupported, read

    try:
        scales = [float(scale) for scale in given.scales.split(",")]
        models = [read(path) for path in given.models]
    except (OSError, ValueError, Unsupported) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    warnings.filterwarnings("ignore", message="Sparse")
    from .measure import probes

    session = Session(given)
    session.file["probes"] = probes(session.device)
    session.say(str(session.file["probes"]))
    rows: dict[tuple[str, float], dict[str, Any]] = {}
    passes = [False] if given.no_compile else [False, True]
    for is_compiled in passes:
        for model in models:
            function = None
            if is_compiled:
                # One function for all scales, so that a model is compiled once.
                made: list[Any] = []

                def function(runnable):
                    if not made:
                        # What was compiled of other models counts towards a limit of PyTorch's.
                        torch._dynamo.reset()
                        made.append(torch.compile(runnable.__call__, dynamic=True))
                    return made[0]

            for scale in scales:
                key = model.name, scale
                if session.is_over() or (is_compiled and key not in rows):
                    continue
                try:
                    row = session.measure(model, scale, rows.get(key), function)
                except Unsupported as error:
                    print(f"error: {model.name}: {error}", file=sys.stderr)
                    return 1
                except Exception as error:  # The compiler's errors have no common type; the other rows stand.
                    what = "not compiled" if is_compiled else "not measured"
                    session.say(f"{model.name} x {scale:g}: {what}: {type(error).__name__}: {str(error)[:300]}")
                    if is_compiled:
                        break
                    continue
                if row is None:
                    session.say(f"{model.name} x {scale:g}: too large for the device")
                    continue
                rows[key] = row
                row["seconds"] = min(way["seconds"] for way in row["ways"].values())
                times = ", ".join(f"{name} {way['seconds'] * 1e6:.1f}" for name, way in row["ways"].items())
                session.say(f"{model.name} x {scale:g}: {times} µs")
                session.file["models"] = list(rows.values())
                session.write()
    session.write()
    return 0


if __name__ == "__main__":
    sys.exit(run(options().parse_args()))
