"""Runs the functions of one case in turn on random batches, with PyTorch's where it can be imported, and prints times.

Standard library alone, and PyTorch if it is there. Reads a description of the case as JSON: `tensors` by name with their
type and elements, in the order of the parameters; what has `files` has a batch in each, what has none is made here.
"""

import ctypes
import importlib.util
import json
import random
import statistics
import sys
import time

from memory import memory

WIDTHS = {"f32": 4, "i64": 8, "u8": 1}


def filled(tensor, size):
    """Returns memory with elements that no processor is slow on: a pattern of 64 KiB, again and again."""
    own, address = memory(size)
    count = (1 << 16) // WIDTHS[tensor["dtype"]]
    draw = random.Random(1)
    if tensor["dtype"] == "f32":
        pattern = bytes((ctypes.c_float * count)(*(draw.random() for _ in range(count))))
    else:
        pattern = bytes(draw.randrange(256) for _ in range(count))
    for at in range(0, size, len(pattern)):
        part = pattern[: size - at]
        ctypes.memmove(address + at, part, len(part))
    return own, address


def main(path):
    case = json.load(open(path, encoding="utf-8"))
    kept = []
    batches = case["batches"]
    buffers = {}
    for tensor in case["tensors"]:
        size = tensor["elements"] * WIDTHS[tensor["dtype"]]
        if "files" in tensor:
            buffers[tensor["name"]] = []
            for file in tensor["files"]:
                own, address = memory(size)
                with open(file, "rb") as data:
                    ctypes.memmove(address, data.read(), size)
                buffers[tensor["name"]].append((own, address))
            buffers[tensor["name"]] *= batches // len(tensor["files"])
        else:
            buffers[tensor["name"]] = [filled(tensor, size)] * batches
    sizes = (ctypes.c_int64 * len(case["sizes"]))(*case["sizes"])
    parameters = [
        (ctypes.c_void_p * len(case["tensors"]))(*(buffers[tensor["name"]][batch][1] for tensor in case["tensors"]))
        for batch in range(batches)
    ]
    runs = {}
    for peer in case["peers"]:
        library = ctypes.CDLL(peer["path"])
        kept.append(library)
        function = library[peer["symbol"]]

        def run(batch, function=function):
            return function(sizes, parameters[batch], 1)

        runs[peer["name"]] = run
        if run(0) != 0:
            sys.exit(f"{peer['name']} refuses the data")
    if importlib.util.find_spec("torch"):
        runs.update(pytorch(case, buffers))
    times = {name: [] for name in runs}
    draw = random.Random(2)
    started = time.perf_counter()
    # The time of one thread does not grow when others run on its processor.
    clock = time.thread_time if case["threads"] == 1 else time.perf_counter
    for turn in range(case["rounds"]):
        if turn >= 9 and time.perf_counter() - started > case["seconds"]:
            break
        for name in draw.sample(sorted(runs), len(runs)):
            batch = draw.randrange(batches)
            begin = clock()
            runs[name](batch)
            times[name].append(clock() - begin)
    report = {}
    for name, own in times.items():
        low, middle, high = statistics.quantiles(own, n=4)
        # What the machine does beside this changes the times of one turn alike, so that ratios are those of turns.
        ratio = statistics.median(time / ours for time, ours in zip(own, times["ours"]))
        report[name] = [middle, low, high, ratio]
    print(json.dumps(report))


def pytorch(case, buffers):
    """Returns PyTorch's ways to compute the case, with as many threads, on the same memory."""
    import torch
    from peers import WAYS

    torch.set_num_threads(case["threads"])
    types = {"f32": torch.float32, "i64": torch.int64, "u8": torch.uint8}

    def tensors(tensor):
        views = [torch.frombuffer(own, dtype=types[tensor["dtype"]]) for own, _ in buffers[tensor["name"]] if len(own)]
        return [view.view(tensor["shape"]) for view in views]

    torch.inference_mode().__enter__()
    held = {tensor["name"]: tensors(tensor) for tensor in case["tensors"]}
    runs = {}
    for name, way in WAYS[case["kind"]].items():
        try:
            runs[name] = way(held)
            runs[name](0)
        except Exception as error:
            print(f"{case['kind']}, {name}: {error}", file=sys.stderr)
            runs.pop(name, None)
    return runs


main(sys.argv[1])
