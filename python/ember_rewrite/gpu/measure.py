"""Times calls on a device: each way to run a model, the power while it runs, and what the device can do at all."""

from __future__ import annotations

import statistics
import subprocess
import time
from typing import Any, Callable, Optional

import torch
import torch.nn.functional as F

from .operations import Runnable

Call = Callable[[], Any]

FLUSH_BYTES = 512 << 20
"""The bytes that are written before each timed run, several times any last-level cache, so that caches are cold."""

RUNS = range(5, 101)
"""The least and the greatest number of timed runs; within these, as many as fit `SECONDS`."""

SECONDS = 0.1

POWER_SECONDS = 1.0
"""How long a model runs again and again while its power is read."""


class Device:
    """A device to measure on: a GPU, or the processor to try the measurement."""

    def __init__(self, name: str):
        self.device = torch.device(name)
        self.is_gpu = self.device.type == "cuda"
        flush = FLUSH_BYTES if self.is_gpu else 64 << 20
        self._flush = torch.empty(flush // 4, dtype=torch.int32, device=self.device)
        self._nvml = _Nvml(self.device) if self.is_gpu else None

    def describe(self) -> dict[str, Any]:
        """Returns what the device says about itself; None stands for what it does not say."""
        if not self.is_gpu:
            return {"name": "cpu", "bandwidth_gb_per_s": None, "power_w": None}
        properties = torch.cuda.get_device_properties(self.device)
        return {
            "name": properties.name,
            "bandwidth_gb_per_s": self._nvml.bandwidth(),
            "power_w": self._nvml.limit(),
            "multiprocessors": properties.multi_processor_count,
            "l2_bytes": getattr(properties, "L2_cache_size", None),
            "memory_bytes": properties.total_memory,
        }

    def synchronize(self) -> None:
        if self.is_gpu:
            torch.cuda.synchronize(self.device)

    def seconds(self, call: Call) -> float:
        """Returns the median time of a call with cold caches, from its start to its end as the host sees it."""

        def once() -> float:
            self._flush.zero_()
            self.synchronize()
            start = time.perf_counter()
            call()
            self.synchronize()
            return time.perf_counter() - start

        return _median(once)

    def device_seconds(self, call: Call) -> float:
        """Returns the median time of a call on the GPU with cold caches, without the host's share."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def once() -> float:
            self._flush.zero_()
            start.record()
            call()
            end.record()
            self.synchronize()
            return start.elapsed_time(end) / 1e3

        return _median(once)

    def captured(self, call: Call) -> Call:
        """Records a call as a CUDA graph, whose replay launches all kernels at once."""
        stream = torch.cuda.Stream(self.device)
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            for _ in range(3):
                call()
        torch.cuda.current_stream(self.device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = call()

        def replay() -> Any:
            graph.replay()
            return kept

        return replay

    def power(self, call: Call) -> Optional[tuple[float, float]]:
        """Returns the watts while a call runs again and again, and the seconds of one; caches are then warm."""
        if self._nvml is None or not self._nvml.is_known():
            return None
        once = max(self.device_seconds(call), 1e-6)
        at_once = max(1, int(0.02 / once))
        begun, runs = time.perf_counter(), 0
        while time.perf_counter() - begun < POWER_SECONDS / 3:
            for _ in range(at_once):
                call()
            self.synchronize()
        self._nvml.start()
        begun = time.perf_counter()
        while time.perf_counter() - begun < POWER_SECONDS * 2 / 3:
            for _ in range(at_once):
                call()
            self.synchronize()
            self._nvml.sample()
            runs += at_once
        elapsed = time.perf_counter() - begun
        watts = self._nvml.stop(elapsed)
        return None if watts is None else (watts, elapsed / runs)


def _median(once: Callable[[], float]) -> float:
    once()
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < RUNS.start or (len(times) < RUNS.stop - 1 and time.perf_counter() - begun < SECONDS):
        times.append(once())
    return statistics.median(times)


class _Nvml:
    """The management library of a GPU: its power, from the energy that it counts or from readings, and its bandwidth.

    Without the library, `nvidia-smi` reads the power.
    """

    def __init__(self, device: torch.device):
        self._samples: list[float] = []
        self._started: Optional[int] = None
        self._index = device.index or 0
        self._handle: Any = None
        try:
            import pynvml

            pynvml.nvmlInit()
            uuid = str(torch.cuda.get_device_properties(device).uuid)
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
            self._library = pynvml
        except Exception:  # The package, the library or the device may be missing, each with errors of its own.
            self._library = None

    def _ask(self, function: str, *arguments: Any) -> Any:
        """Calls a function of the library on the device; None if it has no answer."""
        try:
            return getattr(self._library, function)(self._handle, *arguments)
        except Exception:  # As above, and a device or a library may not have the function.
            return None

    def bandwidth(self) -> Optional[float]:
        """Returns the bandwidth of memory in GB/s. Data moves twice a clock over a bus of so many bits."""
        clock, width = self._ask("nvmlDeviceGetMaxClockInfo", 2), self._ask("nvmlDeviceGetMemoryBusWidth")
        return 2 * clock * 1e6 * width / 8 / 1e9 if clock and width else None

    def limit(self) -> Optional[float]:
        """Returns the power that the device is limited to unless someone changed that, in watts."""
        limit = self._ask("nvmlDeviceGetPowerManagementDefaultLimit")
        return self._smi("power.default_limit") if limit is None else limit / 1e3

    def is_known(self) -> bool:
        return self._now() is not None

    def start(self) -> None:
        self._samples = []
        self._started = self._energy()

    def sample(self) -> None:
        if self._started is None and (now := self._now()) is not None:
            self._samples.append(now)

    def stop(self, elapsed: float) -> Optional[float]:
        """Returns the mean power since the start."""
        energy = self._energy()
        if self._started is not None and energy is not None:
            return (energy - self._started) / 1e3 / elapsed
        return statistics.mean(self._samples) if self._samples else None

    def _energy(self) -> Optional[int]:
        """Returns the energy that the device has used since its driver was loaded, in millijoules."""
        return self._ask("nvmlDeviceGetTotalEnergyConsumption")

    def _now(self) -> Optional[float]:
        power = self._ask("nvmlDeviceGetPowerUsage")
        return self._smi("power.draw") if power is None else power / 1e3

    def _smi(self, query: str) -> Optional[float]:
        command = ["nvidia-smi", f"--id={self._index}", f"--query-gpu={query}", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
            return float(done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError):
            return None


def ways(device: Device, runnable: Runnable) -> dict[str, Call]:
    """Returns the ways to run a model without a compiler, by name; one that PyTorch refuses is left out."""
    found: dict[str, Call] = {}
    for sparse in [False, True] if runnable.is_sparse else [False]:
        name = "sparse" if sparse else "eager"
        call = lambda sparse=sparse: runnable(runnable.tensors, sparse)
        try:
            call()
            found[name] = call
            if device.is_gpu:
                found[f"{name}-graph"] = device.captured(call)
        except RuntimeError:
            device.synchronize()
    return found


def compiled(device: Device, runnable: Runnable, function: Callable) -> Call:
    """Returns a model as `torch.compile` makes it, as a CUDA graph on a GPU."""
    # Preparation that the first call does is none of the compiler's.
    runnable(runnable.tensors)
    call = lambda: function(runnable.tensors)
    call()
    return device.captured(call) if device.is_gpu else call


def timed(device: Device, name: str, call: Call) -> float:
    """Returns the seconds of one way: on the device if the host launches all of it at once, else on the host."""
    return device.device_seconds(call) if device.is_gpu and name not in ("eager", "sparse") else device.seconds(call)


def probes(device: Device) -> dict[str, float]:
    """Measures what the device reaches, by programs that are none of the models.

    Returns:
        `stream_gb_per_s`: a copy, bytes read and written; `gather_gb_per_s`: rows of 256 bytes at random, summed in
        bags of 64, by bytes of rows; `cached_gb_per_s`: the same from a table of 16 MiB; `latency_ns`: one row after
        the other of one bag; `product_gflop_per_s`: a product of f32 matrices; `launch_us`: one of many small kernels
        of a graph (on a processor: one operation); `start_us`: a graph of one kernel.
    """
    big, rows, n = (1 << 28, 1 << 24, 4096) if device.is_gpu else (1 << 22, 1 << 16, 256)
    of = device.device_seconds if device.is_gpu else device.seconds
    captured = device.captured if device.is_gpu else lambda call: call
    found: dict[str, float] = {}
    here = {"device": device.device}

    source, target = torch.ones(big, **here), torch.empty(big, **here)
    found["stream_gb_per_s"] = 8 * big / of(lambda: target.copy_(source)) / 1e9
    del source, target

    table = torch.ones(rows, 64, **here)
    at = torch.randint(0, rows, (rows // 2,), **here)
    starts = torch.arange(0, len(at), 64, **here)
    found["gather_gb_per_s"] = 256 * len(at) / of(lambda: F.embedding_bag(at, table, starts, mode="sum")) / 1e9
    near = at % min(rows, 1 << 16)
    found["cached_gb_per_s"] = 256 * len(at) / of(lambda: F.embedding_bag(near, table, starts, mode="sum")) / 1e9
    one = torch.zeros(1, dtype=torch.int64, **here)
    short, long = (of(lambda k=k: F.embedding_bag(at[:k], table, one, mode="sum")) for k in (1024, 9216))
    found["latency_ns"] = (long - short) / 8192 * 1e9
    del table, at, near, starts

    a = torch.ones(n, n, **here)
    found["product_gflop_per_s"] = 2 * n**3 / of(lambda: a @ a) / 1e9
    small = torch.zeros(256, **here)

    def many(count: int) -> None:
        for _ in range(count):
            small.add_(1)

    alone, together = (of(captured(lambda count=count: many(count))) for count in (1, 201))
    found["launch_us"] = (together - alone) / 200 * 1e6
    found["start_us"] = alone * 1e6
    return found
