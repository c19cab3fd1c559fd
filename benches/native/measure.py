"""Runs the functions of one case in turn on random batches, with PyTorch's where it can be imported, and prints times.

Standard library alone, and PyTorch if it is there. Reads a description of the case as JSON: `tensors` by name with their
type and elements, in the order of the parameters; what has `files` has a batch in each, what has none is made here.
"""

import ctypes
import importlib.util
import json
import mmap
import random
import statistics
import sys
import time

WIDTHS = {"f32": 4, "i64": 8, "u8": 1}
LARGE = 1 << 21


def memory(size, held):
    """Returns memory in large pages, and its address."""
    own = mmap.mmap(-1, size + LARGE)
    if hasattr(mmap, "MADV_HUGEPAGE") and size >= 4 * LARGE:
        own.madvise(mmap.MADV_HUGEPAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(own))
    address = -(-start // LARGE) * LARGE
    held.append(own)
    return (ctypes.c_char * size).from_address(address), address


def filled(tensor, size, held):
    """Returns memory with elements that no processor is slow on: a pattern of 64 KiB, again and again."""
    own, address = memory(size, held)
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
    held, kept = [], []
    batches = case["batches"]
    buffers = {}
    for tensor in case["tensors"]:
        size = tensor["elements"] * WIDTHS[tensor["dtype"]]
        if "files" in tensor:
            buffers[tensor["name"]] = []
            for file in tensor["files"]:
                own, address = memory(size, held)
                with open(file, "rb") as data:
                    ctypes.memmove(address, data.read(), size)
                buffers[tensor["name"]].append((own, address))
        else:
            buffers[tensor["name"]] = [filled(tensor, size, held)] * batches
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
    for turn in range(case["rounds"]):
        if turn >= 9 and time.perf_counter() - started > case["seconds"]:
            break
        for name in draw.sample(sorted(runs), len(runs)):
            batch = draw.randrange(batches)
            begin = time.perf_counter()
            runs[name](batch)
            times[name].append(time.perf_counter() - begin)
    report = {}
    for name, own in times.items():
        low, middle, high = statistics.quantiles(own, n=4)
        report[name] = [middle, low, high]
    print(json.dumps(report))


def pytorch(case, buffers):
    """Returns PyTorch's ways to compute the case, one thread each, on the same memory."""
    import torch

    torch.set_num_threads(case["threads"])
    types = {"f32": torch.float32, "i64": torch.int64, "u8": torch.uint8}
    of = {tensor["name"]: tensor for tensor in case["tensors"]}

    def tensors(name):
        tensor = of[name]
        shape = tensor["shape"]
        return [torch.frombuffer(own, dtype=types[tensor["dtype"]]).view(shape) for own, _ in buffers[name]]

    functional, runs = torch.nn.functional, {}
    inference = torch.inference_mode()
    inference.__enter__()
    kind = case["kind"]
    if kind in ("bag", "quantised", "spmm"):
        table, indices, offsets = tensors("table")[0], tensors("indices"), tensors("offsets")
    if kind == "bag":
        runs["torch"] = lambda k: functional.embedding_bag(
            indices[k], table, offsets[k], mode="sum", include_last_offset=True
        )
    if kind == "quantised":
        packed = torch.cat([table, tensors("scales")[0].view(torch.uint8).view(table.shape[0], 8)], 1)
        bag = torch.ops.quantized.embedding_bag_byte_rowwise_offsets
        runs["torch"] = lambda k: bag(packed, indices[k], offsets[k], False, 0, False, None, None, True)
    if kind == "spmm":
        weights = tensors("weights")
        matrices = [
            torch.sparse_csr_tensor(offsets[k], indices[k], weights[k], (offsets[k].numel() - 1, table.shape[0]))
            for k in range(len(indices))
        ]
        runs["torch, MKL"] = lambda k: matrices[k] @ table
        runs["torch"] = lambda k: functional.embedding_bag(
            indices[k], table, offsets[k], mode="sum", include_last_offset=True, per_sample_weights=weights[k]
        )
    return runs


main(sys.argv[1])
