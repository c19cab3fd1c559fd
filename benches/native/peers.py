"""PyTorch's ways to compute the cases: for each kind and way, a function of all tensors by name, a list of batches each.

It prepares what a model would hold, and returns the function that runs a batch."""

import torch
from memory import memory
from torch.nn import functional


def bag(held):
    table, indices, offsets = held["table"][0], held["indices"], held["offsets"]
    return lambda k: functional.embedding_bag(indices[k], table, offsets[k], mode="sum", include_last_offset=True)


def quantised(held):
    table, indices, offsets = held["table"][0], held["indices"], held["offsets"]
    parts = [table, held["scales"][0].view(torch.uint8).view(table.shape[0], 8)]
    own, _ = memory(sum(part.numel() for part in parts))
    packed = torch.frombuffer(own, dtype=torch.uint8).view(table.shape[0], -1)
    torch.cat(parts, 1, out=packed)
    bags = torch.ops.quantized.embedding_bag_byte_rowwise_offsets
    return lambda k: bags(packed, indices[k], offsets[k], False, 0, False, None, None, True)


def weighted(table, indices, offsets, weights):
    return functional.embedding_bag(
        indices, table, offsets, mode="sum", include_last_offset=True, per_sample_weights=weights
    )


def matrix(indices, offsets, values):
    nodes = offsets.numel() - 1
    return torch.sparse_csr_tensor(offsets, indices, values, (nodes, nodes))


def spmm(held):
    table, indices, offsets, weights = held["table"][0], held["indices"], held["offsets"], held["weights"]
    return lambda k: weighted(table, indices[k], offsets[k], weights[k])


def spmm_of_matrix(held):
    table = held["table"][0]
    own = matrix(held["indices"][0], held["offsets"][0], held["weights"][0])
    return lambda k: own @ table


def passing(held):
    x, y, indices, offsets = (held[name][0] for name in ("x", "y", "indices", "offsets"))
    rows = torch.repeat_interleave(torch.arange(offsets.numel() - 1), offsets.diff())

    def run(_):
        messages = torch.sigmoid((x[rows] * y[indices]).sum(1))
        return weighted(y, indices, offsets, messages)

    return run


def passing_of_matrix(held):
    x, y, indices, offsets = (held[name][0] for name in ("x", "y", "indices", "offsets"))
    edges, columns = matrix(indices, offsets, torch.zeros(indices.numel())), y.T

    def run(_):
        products = torch.sparse.sampled_addmm(edges, x, columns, beta=0.0)
        return matrix(indices, offsets, torch.sigmoid(products.values())) @ y

    return run


def transe(entities, relations, heads, rels, tails):
    return -(entities[heads] + relations[rels] - entities[tails]).abs().sum(1)


def gcn(held, spmm):
    x, w1, b1, w2, b2 = (held[name][0] for name in ("x", "w1", "b1", "w2", "b2"))
    return lambda _: spmm(torch.relu(spmm(x @ w1) + b1) @ w2) + b2


def gcn_of_bags(held):
    edges = [held[name][0] for name in ("indices", "offsets", "values")]
    return gcn(held, lambda h: weighted(h, *edges))


def gcn_of_matrix(held):
    own = matrix(held["indices"][0], held["offsets"][0], held["values"][0])
    return gcn(held, lambda h: own @ h)


def sage(held):
    x, indices, offsets = held["x"][0], held["indices"][0], held["offsets"][0]
    own, neighbours, b = held["w_self"][0], held["w_neighbours"][0], held["b"][0]

    def run(_):
        mean = functional.embedding_bag(indices, x, offsets, mode="mean", include_last_offset=True)
        return torch.relu(x @ own + mean @ neighbours + b)

    return run


def bigbird(x, wq, bq, wk, bk, wv, bv, seen):
    blocks, rows, width = x.shape
    q, k, v = (functional.linear(x, w.T, b) for w, b in ((wq, bq), (wk, bk), (wv, bv)))
    keys, values = (own[seen].view(blocks, -1, width) for own in (k, v))
    weights = torch.softmax(0.125 * torch.bmm(q, keys.transpose(1, 2)), -1)
    return torch.bmm(weights, values)


def dlrm(dense, bottom, top, tables, indices, offsets):
    for w, b in bottom:
        dense = torch.relu(functional.linear(dense, w.T, b))
    bags = [
        functional.embedding_bag(i, table, o, mode="sum", include_last_offset=True)
        for table, i, o in zip(tables, indices, offsets)
    ]
    features = torch.stack([dense, *bags], 1)
    products = torch.bmm(features, features.transpose(1, 2))
    first, second = torch.tril_indices(features.shape[1], features.shape[1], -1)
    joined = torch.cat([dense, products[:, first, second]], 1)
    for w, b in top[:-1]:
        joined = torch.relu(functional.linear(joined, w.T, b))
    w, b = top[-1]
    return torch.sigmoid(functional.linear(joined, w.T, b))


def of_names(function, *names):
    """Returns the way that calls a function with the tensors of these names."""

    def way(held, call=function):
        return lambda k: call(*(held[name][k] for name in names))

    return way


def of_dlrm(held, call=dlrm):
    count = sum(name.startswith("table") for name in held)
    layers = {}
    for part in ("bottom", "top"):
        names = sorted(name.removeprefix(f"{part}_w") for name in held if name.startswith(f"{part}_w"))
        layers[part] = [(held[f"{part}_w{name}"][0], held[f"{part}_b{name}"][0]) for name in names]
    tables = [held[f"table{n}"][0] for n in range(count)]
    indices, offsets = ([held[f"{name}{n}"] for n in range(count)] for name in ("indices", "offsets"))
    return lambda k: call(
        held["dense"][k], layers["bottom"], layers["top"], tables, [i[k] for i in indices], [o[k] for o in offsets]
    )


def inductor(way, function):
    """Returns a way whose function `torch.compile` compiles."""
    return lambda held: way(held, torch.compile(function))


of_transe = of_names(transe, "entities", "relations", "heads", "rels", "tails")
of_bigbird = of_names(bigbird, "x", "wq", "bq", "wk", "bk", "wv", "bv", "seen")

WAYS = {
    "bag": {"torch": bag},
    "quantised": {"torch": quantised},
    "spmm": {"torch": spmm, "torch, MKL": spmm_of_matrix},
    "passing": {"torch": passing, "torch, MKL": passing_of_matrix},
    "transe": {"torch": of_transe, "torch, inductor": inductor(of_transe, transe)},
    "gcn": {"torch": gcn_of_bags, "torch, MKL": gcn_of_matrix},
    "sage": {"torch": sage},
    "bigbird": {"torch": of_bigbird, "torch, inductor": inductor(of_bigbird, bigbird)},
    "dlrm": {"torch": of_dlrm, "torch, inductor": inductor(of_dlrm, dlrm)},
}
