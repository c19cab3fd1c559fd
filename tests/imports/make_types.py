"""Writes exported PyTorch programs (.pt2) with inputs and outputs in which the type of a number matters: comparisons
whose answers choose numbers of another type, whole numbers of few bits that wrap, conversions that round, and the
results of rows that nothing is left of.

usage: make_types.py OUTDIR    (needs torch; the files beside it were made with torch 2.15 on a CPU)"""
import sys
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import save_file

warnings.filterwarnings("ignore")
torch.manual_seed(7)


class Compared(nn.Module):
    "answers about numbers of one type that choose or become those of another"

    def forward(self, x, y, i, j, d, k):
        return (
            (x > 0.25).long(),
            torch.where(x > y, k, k * 2),
            torch.sign(x),
            torch.isnan(y).sum(),
            (x != 0).sum() * 3,
            (i == 2**24 + 1).float(),
            torch.where(i > j, x, y),
            x.masked_fill(i == 2**24 + 1, 0.0),
            (i[:, None] == j[None]).any(1).float(),
            (d > 1).float(),
            torch.where(x > 0, i.to(torch.uint8), 7).long(),
        )


class Wrapped(nn.Module):
    "positions that are computed of whole numbers of 8 and 32 bits, and by a factor of 64 bits"

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(300, 4)

    def forward(self, i, j):
        return (
            self.e(i.int().long() % 50),
            self.e((j * 100003) % 50),
            self.e(i.to(torch.uint8).long()),
            self.e((i.int() * 31 + 7).to(torch.int8).long() + 128),
            self.e((i * -7046029254386353131) % 50),
            self.e(torch.where(j < 0, j % 50 - 50 + 300, j % 50)),
        )


class Rounded(nn.Module):
    "numbers that are rounded on the way, and the mean of nothing"

    def forward(self, x):
        return x.half().float(), (x * 3).bfloat16().float(), x.half().double(), x[:0].mean(0)


class Last(nn.Module):
    "rows in the place of others, several of them at one position; negative positions that the program makes right"

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(50, 4)

    def forward(self, x, i, y, n, j):
        return x.index_put((i,), y), n.index_copy(0, i, n[:5] - 20), self.e(torch.where(j < 0, j + 50, j))


class Hidden(nn.Module):
    "attention in which some queries see no key"

    def forward(self, q, k, v, mask, bias):
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return a, F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class Pairs(nn.Module):
    "the products of each two of five fields, from both triangles, and which fields those are"

    def forward(self, x, mask):
        rows, columns = torch.tril_indices(5, 5, -1)
        upper = torch.triu_indices(5, 6, 1)
        products = x @ x.transpose(1, 2)
        return products[:, rows, columns] * mask, products[:, upper[0, :4], upper[1, :4]], upper


whole = 2**24 + torch.tensor([1, 0, 2, -5, 1])
distances = torch.tensor([1 + 1e-12, 1.0, 0.5, 2.0, float("nan")], dtype=torch.float64)
mask = torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]).bool()
PROGRAMS = {
    "compared": (Compared(), (
        torch.tensor([0.4, -0.4, 1.5, 0.0, 0.7]), torch.tensor([0.1, -0.2, float("nan"), 0.0, 1.2]),
        whole, 2**24 + torch.tensor([0, 0, 1, -5, 2]), distances, torch.tensor([3, -4, 5, 2**40 + 1, 7]))),
    "wrapped": (Wrapped(), (
        torch.randint(0, 2**40, (6,)), torch.randint(-2**31, 2**31, (6,), dtype=torch.int32))),
    "rounded": (Rounded(), (torch.randn(4, 5) * 100,)),
    "last": (Last(), (
        torch.randn(6, 4), torch.tensor([3, 1, 3, 3, 1]), torch.randn(5, 4), torch.randint(0, 9, (6, 3)),
        torch.tensor([3, -1, -50, 49, 0]))),
    "hidden": (Hidden(), (
        torch.randn(3, 8), torch.randn(4, 8), torch.randn(4, 8), mask,
        torch.zeros(3, 4).masked_fill(~mask, float("-inf")))),
    "pairs": (Pairs(), (torch.randn(3, 5, 8), torch.rand(3, 10) > 0.5)),
}

out = sys.argv[1]
for name, (module, arrays) in PROGRAMS.items():
    module.eval()
    torch.export.save(torch.export.export(module, arrays, strict=False), f"{out}/{name}.pt2")
    with torch.no_grad():
        results = torch.utils._pytree.tree_leaves(module(*arrays))
    held = {f"input.{i}": x.contiguous().clone() for i, x in enumerate(arrays)}
    held |= {f"output.{i}": x.contiguous().clone() for i, x in enumerate(results)}
    save_file(held, f"{out}/{name}.safetensors")
