"""Times what a call of a native function takes beside the function: `python benches/native/calls.py`.

Needs the package and PyTorch. The model is so small that the function hardly counts. Ways run in turn, each many times;
printed are medians, and the quartiles, of the time of one call on this thread, so that other programs on the machine change
them less.
"""

import random
import statistics
import time

import ember_rewrite
import torch

ROUNDS, CALLS = 60, 2000


class Bag(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = torch.nn.EmbeddingBag(50, 16, mode="sum", include_last_offset=True)

    def forward(self, indices, offsets):
        return self.bag(indices, offsets)


def nothing(graph, example_inputs):
    """A backend whose programs compute nothing: they return a result that is there already."""
    results = tuple(own.clone() for own in graph(*example_inputs))
    return lambda *inputs: results


def main():
    torch.set_num_threads(1)
    module = Bag().eval()
    inputs = torch.randint(50, (12,)), torch.tensor([0, 3, 8, 12])
    program = ember_rewrite.compile(module, inputs, target="cpu")
    out = torch.empty(3, 16)
    with torch.no_grad():
        ways = {"a function of Python": lambda *inputs: None, "`out=`": lambda *inputs: program(*inputs, out=out)}
        ways["a new output"] = program
        ways["PyTorch, eager"] = module
        for name, backend, options in [("nothing", nothing, None), ("ember", "ember", {"target": "cpu"})]:
            torch._dynamo.reset()
            ways[f"torch.compile, {name}"] = torch.compile(module, backend=backend, dynamic=False, options=options)
            for _ in range(3):
                ways[f"torch.compile, {name}"](*inputs)
        assert torch.allclose(program(*inputs, out=out), module(*inputs))
        assert torch.allclose(ways["torch.compile, ember"](*inputs), module(*inputs))
        times = {name: [] for name in ways}
        draw = random.Random(1)
        for _ in range(ROUNDS):
            for name in draw.sample(sorted(ways), len(ways)):
                way = ways[name]
                begin = time.thread_time()
                for _ in range(CALLS):
                    way(*inputs)
                times[name].append((time.thread_time() - begin) / CALLS)
    middle = {}
    for name, own in times.items():
        low, middle[name], high = (quartile * 1e6 for quartile in statistics.quantiles(own, n=4))
        print(f"{name:<24} {middle[name]:7.2f} us  ({low:.2f} to {high:.2f})")
    more = middle["torch.compile, ember"] - middle["torch.compile, nothing"]
    print(f"`torch.compile`: {more:.2f} us more than a backend that does nothing")


main()
