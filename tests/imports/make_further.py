"""Writes further exported PyTorch programs (.pt2) with inputs and outputs: attention over several heads, elements with
positions of their own, positions of fields, dynamic batches, in-place operators.

usage: make_further.py OUTDIR    (needs torch; the files beside it were made with torch 2.15 on a CPU)"""
import sys
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import save_file
from torch.export import Dim

warnings.filterwarnings("ignore")
torch.manual_seed(3)
g = torch.Generator().manual_seed(5)


def R(hi, *shape):
    return torch.randint(0, hi, shape, generator=g)


def N(*shape):
    return torch.randn(*shape, generator=g)


class Heads(nn.Module):
    "a sequence model: causal attention of two heads, written out"

    def __init__(self):
        super().__init__()
        self.e, self.p = nn.Embedding(20, 8), nn.Embedding(6, 8)
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
        self.n = nn.LayerNorm(8)

    def forward(self, seq):
        b, t = seq.shape
        x = self.n(self.e(seq) * 4.0 + self.p(torch.arange(t)))
        q, k, v = (layer(x).view(b, t, 2, 4).transpose(1, 2) for layer in (self.q, self.k, self.v))
        mask = torch.triu(torch.full((t, t), float("-inf")), 1)
        a = torch.softmax(q @ k.transpose(-2, -1) / 2.0 + mask, -1) @ v
        return a, (x + a.transpose(1, 2).reshape(b, t, 8))[:, -1] @ self.e.weight.t()


class Fields(nn.Module):
    "a factorisation machine, the positions of whose fields are shifted into one table"

    def __init__(self):
        super().__init__()
        self.e, self.l = nn.Embedding(40, 4), nn.Embedding(40, 1)
        self.register_buffer("first", torch.arange(4) * 10)

    def forward(self, x):
        x = x + self.first
        v = self.e(x)
        pairs = v.sum(1).pow(2) - v.pow(2).sum(1)
        return torch.sigmoid(self.l(x).sum(1) + 0.5 * pairs.sum(1, keepdim=True)).squeeze(-1)


class Each(nn.Module):
    "elements with positions of their own, and rows that take the place of others"

    def forward(self, x, at, target, rows, names):
        loss = F.cross_entropy(x, target)
        picked = x.gather(1, at)
        added = x.scatter_add(1, at, picked)
        put = rows.index_copy(0, names, rows[:3] * 2.0)
        return loss, picked, added, put, x[target, target]


class Cells(nn.Module):
    "message passing with a cell of a recurrent network"

    def __init__(self):
        super().__init__()
        self.m, self.u = nn.Linear(8, 4), nn.GRUCell(4, 4)

    def forward(self, x, edges):
        m = self.m(torch.cat([x[edges[0]], x[edges[1]]], -1)).relu_()
        return self.u(torch.zeros_like(x).index_add_(0, edges[1], m), x)


class GatHeads(nn.Module):
    "graph attention of two heads over an edge list"

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(6, 8, bias=False)
        self.a, self.b = (nn.Parameter(torch.randn(1, 2, 4) * 0.3) for _ in range(2))

    def forward(self, x, edges):
        n = x.shape[0]
        h = self.l(x).view(-1, 2, 4)
        z = F.leaky_relu((h * self.a).sum(-1)[edges[0]] + (h * self.b).sum(-1)[edges[1]], 0.2)
        i = edges[1].unsqueeze(-1).expand_as(z)
        most = torch.full((n, 2), float("-inf")).scatter_reduce(0, i, z, "amax", include_self=False)
        p = (z - most[edges[1]]).exp()
        p = p / (torch.zeros(n, 2).scatter_add(0, i, p)[edges[1]] + 1e-16)
        return torch.zeros(n, 2, 4).index_add(0, edges[1], h[edges[0]] * p.unsqueeze(-1)).flatten(1)


class Padded(nn.Module):
    "a padding row, masks and normalised histories"

    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(30, 4, mode="mean", padding_idx=0)
        self.h = nn.Embedding(30, 4, padding_idx=0)
        self.n = nn.BatchNorm1d(4)

    def forward(self, i, o, history):
        seen = (history != 0).unsqueeze(-1)
        mean = (self.h(history) * seen).sum(1) / seen.sum(1).clamp(min=1)
        return self.n(self.e(i, o)), F.cosine_similarity(mean, self.h(history[:, 0]), dim=-1)


class InPlace(nn.Module):
    "changes a tensor whose part it took before"

    def forward(self, x):
        y = x * 2
        first = y[0]
        y.add_(1)
        return first + y[1]


class Loops(nn.Module):
    "a normalised convolution over edges and a loop at each node, and sums over edges in both directions"

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4) * 0.3)

    def forward(self, x, edges):
        n = x.shape[0]
        i, j = torch.cat([edges, torch.arange(n).expand(2, -1)], 1)
        d = torch.zeros(n).scatter_add(0, j, torch.ones(j.shape[0])).rsqrt()
        rows = torch.zeros(n, 4).index_add(0, j, (x @ self.w)[i] * (d[i] * d[j]).unsqueeze(-1))
        both = torch.cat([edges, edges.flip(0)], 1)
        return rows, torch.zeros(n, 4).index_add(0, both[1], x[both[0]])


class Hashed(nn.Module):
    "bags of hashed positions by their lengths, quotients and remainders, positions in a grid, a history with gaps"

    def __init__(self):
        super().__init__()
        sizes = {"bags": 16, "q": 5, "r": 7, "grid": 12, "items": 9}
        for name, rows in sizes.items():
            setattr(self, name, nn.Parameter(torch.randn(rows, 4) * 0.5))

    def forward(self, ids, lengths, x, y, history):
        ends = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        bags = F.embedding_bag(ids & 15, self.bags, ends, mode="sum", include_last_offset=True)
        pairs = F.embedding(ids // 7 % 5, self.q) * F.embedding(ids % 7, self.r)
        cells = F.embedding(y.unsqueeze(1) * 4 + x.unsqueeze(0), self.grid)
        both = F.embedding(torch.stack([y * 4 + x[0], torch.where(y > 1, y, 11 - y)], 1), self.grid)
        there = (history >= 0).float().unsqueeze(-1)
        seen = (F.embedding(history.clamp(min=0), self.items) * there).sum(1) / there.sum(1).clamp(min=1)
        return bags, pairs, cells, both, seen, torch.segment_reduce(pairs, "sum", lengths=lengths)


class Batched(nn.Module):
    "sums over the edges of graphs side by side, each of which numbers its nodes from 0"

    def forward(self, x, edges, graph):
        edges = edges + (graph * 5).unsqueeze(0)
        return torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])


class Spans(nn.Module):
    "the last items of histories by their lengths, segments of which some are empty, folds without the row that is there"

    def __init__(self):
        super().__init__()
        self.items = nn.Parameter(torch.randn(20, 4) * 0.5)

    def forward(self, history, lengths, x, edges, starts):
        last = F.embedding(history, self.items).gather(1, (lengths - 1).view(-1, 1, 1).expand(-1, 1, 4)).squeeze(1)
        rows = x[edges[0]]
        means = [torch.segment_reduce(rows, "mean", offsets=starts, initial=n) for n in (0, 0.5)]
        index = edges[1].unsqueeze(1).expand_as(rows)
        alone = [x.scatter_reduce(0, index, rows, r, include_self=False) for r in ("sum", "mean", "amax", "amin")]
        return last, torch.cat(means, -1), torch.cat(alone, -1)


class LookedUp(nn.Module):
    "positions that are looked up, a position of its own for each element, positions that count from the end"

    def __init__(self):
        super().__init__()
        self.register_buffer("group", torch.randint(0, 6, (30,), generator=g))
        self.groups = nn.Parameter(torch.randn(6, 4) * 0.5)
        self.items = nn.Parameter(torch.randn(30, 4) * 0.5)

    def forward(self, history, lengths, target, grid, row, column):
        last = history.gather(1, (lengths - 1).unsqueeze(1)).squeeze(1)
        scores = F.log_softmax(F.embedding(last, self.items) @ self.items.t(), -1)
        items = F.embedding(history, self.items) + F.embedding(self.group[history], self.groups)
        places = torch.arange(3).unsqueeze(1) * 4 + torch.arange(4)
        return (
            scores.gather(1, target.unsqueeze(1)).squeeze(1),
            items,
            grid[row - 1, column - 2],
            grid[:, row, column],
            torch.take_along_dim(items, target.remainder(6).view(5, 1, 1), 1),
            items.gather(2, row.view(1, 7, 1).expand(5, -1, 3)[:, :6]),
            F.embedding(places, self.items),
        )


class Masked(nn.Module):
    "selects edges by a mask"

    def forward(self, x, edges):
        kept = edges[:, edges[0] != edges[1]]
        return torch.zeros_like(x).index_add(0, kept[1], x[kept[0]])


class Rounded(nn.Module):
    "positions that follow from other numbers than whole ones"

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(10, 4))

    def forward(self, x):
        return F.embedding((x * 10).long(), self.w)


EDGES = torch.stack([R(7, 15), R(7, 15)])
MODELS = {
    "heads": (Heads(), (R(20, 2, 5),), None),
    "fields": (Fields(), (R(10, 5, 4),), None),
    "fields_dynamic": (Fields(), (R(10, 5, 4),), ({0: Dim("batch", min=2, max=100)},)),
    "each": (Each(), (N(5, 6), R(6, 5, 3), R(5, 5), N(8, 4), torch.tensor([1, 6, 3])), None),
    "cells": (Cells(), (N(7, 4), EDGES), None),
    "gat_heads": (GatHeads(), (N(7, 6), EDGES), None),
    "padded": (Padded(), (R(30, 12), torch.tensor([0, 4, 4, 9]), R(3, 4, 5)), None),
    "loops": (Loops(), (N(7, 4), EDGES), None),
    "hashed": (
        Hashed(),
        (R(1000, 9), torch.tensor([2, 0, 3, 4]), R(4, 3), R(3, 5), torch.randint(-3, 9, (4, 3), generator=g)),
        None,
    ),
    "batched": (Batched(), (N(15, 4), R(5, 2, 20), R(3, 20)), None),
    "spans": (
        Spans(),
        (R(20, 5, 6), R(6, 5) + 1, N(9, 4), torch.stack([R(9, 12), R(5, 12)]), torch.tensor([0, 3, 3, 8, 12])),
        None,
    ),
    "looked_up": (LookedUp(), (R(30, 5, 6), R(6, 5) + 1, R(30, 5), N(3, 4, 5), R(3, 7), R(4, 7)), None),
    "bad/rounded": (Rounded(), (torch.rand(5, generator=g),), None),
    "bad/masked": (Masked(), (N(7, 4), EDGES), None),
    "bad/overwritten": (InPlace(), (N(3, 4),), None),
}

if __name__ == "__main__":
    for name, (module, inputs, dynamic) in MODELS.items():
        with torch.no_grad():
            outputs = torch.utils._pytree.tree_leaves(module.eval()(*inputs))
            program = torch.export.export(module, inputs, dynamic_shapes=dynamic)
        torch.export.save(program, f"{sys.argv[1]}/{name}.pt2")
        if not name.startswith("bad/"):
            arrays = {f"input.{i}": x.contiguous() for i, x in enumerate(inputs)}
            arrays |= {f"output.{i}": x.contiguous().clone() for i, x in enumerate(outputs)}
            save_file(arrays, f"{sys.argv[1]}/{name}.safetensors")
