"""Writes graph networks over edge lists, which are arguments or buffers, with PyTorch's outputs; and the same edges sorted
by the rows that they lead to, for the models in OUTDIR/hand that are written by hand.

usage: make_edges.py OUTDIR NODES EDGES WIDTH    (needs torch; the files beside it were made with 20 90 16)"""
import sys, warnings
import torch, torch.nn as nn, torch.nn.functional as F
from safetensors.torch import save_file
warnings.filterwarnings("ignore"); torch.manual_seed(0)
out, n, e, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])


class GCN(nn.Module):
    "a graph convolution with weights of edges"
    def __init__(s): super().__init__(); s.l = nn.Linear(d, d)
    def forward(s, src, dst, w, x):
        m = torch.index_select(s.l(x), 0, src) * w.unsqueeze(-1)
        return torch.zeros(n, d).index_add(0, dst, m).relu()


class SAGE(nn.Module):
    "the mean of neighbours by scatter_reduce"
    def __init__(s): super().__init__(); s.l = nn.Linear(d, d); s.r = nn.Linear(d, d, bias=False)
    def forward(s, src, dst, x):
        m = torch.zeros(n, d).scatter_reduce(0, dst.unsqueeze(-1).expand(-1, d), x[src], "mean", include_self=False)
        return F.relu(s.l(m) + s.r(x))


class Pool(nn.Module):
    "the maximum of neighbours by scatter_reduce"
    def __init__(s): super().__init__(); s.l = nn.Linear(d, d)
    def forward(s, src, dst, x):
        h = s.l(x).relu()
        return torch.zeros(n, d).scatter_reduce(0, dst.unsqueeze(-1).expand(-1, d), h[src], "amax", include_self=False)


class GAT(nn.Module):
    "a head of attention, its softmax as libraries of graphs write it"
    def __init__(s): super().__init__(); s.l = nn.Linear(d, d, bias=False); s.a = nn.Parameter(torch.randn(d) * .3); s.b = nn.Parameter(torch.randn(d) * .3)
    def softmax(s, x, dst):
        m = x.new_zeros(n).scatter_reduce(0, dst, x, "amax", include_self=False)
        p = (x - m.index_select(0, dst)).exp()
        z = x.new_zeros(n).scatter_add(0, dst, p) + 1e-16
        return p / z.index_select(0, dst)
    def forward(s, src, dst, x):
        h = s.l(x); x = F.leaky_relu((h * s.a).sum(-1)[src] + (h * s.b).sum(-1)[dst], 0.2)
        return torch.zeros(n, d).index_add(0, dst, h[src] * s.softmax(x, dst).unsqueeze(-1))


class PlainGAT(GAT):
    "a softmax without the maximum"
    def softmax(s, x, dst):
        p = x.exp()
        return p / x.new_zeros(n).scatter_add(0, dst, p)[dst]


class Known(nn.Module):
    "a network whose edges the export holds"
    def __init__(s, of, edges): super().__init__(); s.of = of; [s.register_buffer(k, x) for k, x in edges.items()]
    def forward(s, *inputs): return s.of(s.src, s.dst, *inputs)


src, dst = torch.randint(0, n, (e,)), torch.randint(0, n, (e,)) // 2 * 2
w, x = torch.rand(e), torch.randn(n, d)
edges = {"src": src, "dst": dst}
models = {"edges_gcn": (GCN(), (src, dst, w, x)), "edges_sage": (SAGE(), (src, dst, x)), "edges_max": (Pool(), (src, dst, x)),
          "edges_gat": (GAT(), (src, dst, x)), "edges_gat_plain": (PlainGAT(), (src, dst, x)),
          "known_gcn": (Known(GCN(), edges), (w, x)), "known_sage": (Known(SAGE(), edges), (x,)), "known_gat": (Known(GAT(), edges), (x,))}
sorted_, starts = torch.sort(dst, stable=True).indices, torch.zeros(n + 1, dtype=torch.int64)
starts[1:] = torch.bincount(dst, minlength=n).cumsum(0)
hand = {"offsets": starts, "neighbours": src[sorted_], "weights": w[sorted_], "x": x}
for name in ["gcn", "sage", "max", "gat"]:
    hand.update({f"{name}.{k}": v.detach().contiguous() for k, v in models[f"edges_{name}"][0].named_parameters()})
save_file(hand, f"{out}/hand/edges.safetensors")
for name, (m, inputs) in models.items():
    m.eval()
    torch.export.save(torch.export.export(m, inputs), f"{out}/{name}.pt2")
    arrays = {f"input.{i}": x.contiguous() for i, x in enumerate(inputs)}
    save_file({**arrays, "output.0": m(*inputs).detach().contiguous()}, f"{out}/{name}.safetensors")
