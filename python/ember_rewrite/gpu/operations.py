"""The operations of models as PyTorch does them best: the bags of many tables at once, edges and offsets prepared."""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F

from .data import Data
from .models import Form, Model, Unsupported

Tensors = dict[str, torch.Tensor]

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "identity": lambda x: x,
    "neg": torch.neg,
    "abs": torch.abs,
    "sqrt": torch.sqrt,
    "log": torch.log,
    "exp": torch.exp,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}

PAIRS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "max": torch.maximum,
    "min": torch.minimum,
}


class Runnable:
    """A model on its data.

    Attributes:
        tensors: what a call reads; preparation, such as putting the tables of many bags into one, has been done once.
        is_sparse: true if some rows of a sparse matrix can also be summed as a product of matrices.
    """

    def __init__(self, model: Model, data: Data):
        self.model = model
        self.tensors: Tensors = dict(data.tensors)
        self.sizes = data.sizes
        self.is_sparse = False
        self._merged: dict[Form, tuple[str, int, str]] = {}
        self._matrices: dict[Form, str] = {}
        for statement in model.statements:
            self._prepare(statement.value)

    def __call__(self, tensors: Tensors, sparse: bool = False) -> list[torch.Tensor]:
        """Returns the outputs; with `sparse`, sums over rows of computed tables are products of sparse matrices."""
        values = dict(tensors)
        outputs = []
        for statement in self.model.statements:
            values[statement.name] = self._value(statement.value, values, sparse)
            if statement.is_output:
                outputs.append(values[statement.name])
        return outputs

    def _prepare(self, form: Form) -> None:
        if not isinstance(form, tuple):
            return
        merged = self._merge(form) if form[0] == "nn.stack" else 0
        for operand in form[1 : len(form) - merged]:
            self._prepare(operand)
        if form in self._matrices:
            return
        if form[0] in ("emb.spmm", "emb.bag") and self._of_square(form):
            self._matrix(form)
        elif form[0] == "emb.mp":
            offsets = form[-1]
            name = f"{offsets} as rows"
            lengths = self.tensors[offsets].diff()
            self.tensors[name] = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)
            self._matrices[form] = name

    def _merge(self, stack: tuple) -> int:
        """Puts the tables of a stack's last operands into one, so that one kernel looks all of them up.

        Returns:
            The number of these operands: 0 if they are not bags of one mode and width, with a table each.
        """
        bags = [part for part in stack[1:] if isinstance(part, tuple) and part[0] == "emb.bag" and len(part) == 5]
        alike = {(bag[1], self.tensors[bag[2]].shape[1]) for bag in bags if bag[2] in self.tensors}
        if len(bags) < 2 or len(alike) != 1 or stack[-len(bags) :] != tuple(bags):
            return 0
        if len({name for bag in bags for name in bag[2:]}) < 3 * len(bags):
            return 0
        prefix = f"tables of {len(self._merged)}"
        tables, indices, offsets = [], [], []
        rows = lookups = 0
        for bag in bags:
            _, _, table, at, starts = bag
            tables.append(self.tensors.pop(table))
            indices.append(self.tensors.pop(at) + rows)
            offsets.append(self.tensors.pop(starts)[:-1] + lookups)
            rows += len(tables[-1])
            lookups += len(indices[-1])
        offsets.append(offsets[0].new_tensor([lookups]))
        self.tensors |= {
            prefix: torch.cat(tables),
            f"{prefix} at": torch.cat(indices),
            f"{prefix} from": torch.cat(offsets),
        }
        self._merged[stack] = (prefix, len(bags), bags[0][1])
        return len(bags)

    def _of_square(self, form: tuple) -> bool:
        """Returns true if the rows that are summed are as many as those looked up, as in a graph."""
        table, offsets = (form[1], form[3]) if form[0] == "emb.spmm" else (form[2], form[4])
        return form[1] != "max" and len(self.tensors[self.model.origin(table)]) == len(self.tensors[offsets]) - 1

    def _matrix(self, form: tuple) -> None:
        """Prepares the sparse matrix whose product with the table sums or averages its rows."""
        if form[0] == "emb.spmm":
            _, _, indices, offsets, values = form
            weights = self.tensors[values]
        else:
            _, mode, _, indices, offsets, *given = form
            lengths = self.tensors[offsets].diff()
            weights = self.tensors[given[0]] if given else torch.ones(len(self.tensors[indices]), device=lengths.device)
            if mode == "mean":
                weights = weights / torch.repeat_interleave(lengths, lengths).float()
        rows = len(self.tensors[offsets]) - 1
        parts = self.tensors[offsets], self.tensors[indices], weights
        name = f"matrix {len(self._matrices)}"
        self.tensors[name] = torch.sparse_csr_tensor(*parts, size=(rows, rows))
        self._matrices[form] = name
        self.is_sparse = True

    def _value(self, form: Form, values: Tensors, sparse: bool) -> torch.Tensor:
        if not isinstance(form, tuple):
            return values[form]
        if form in self._merged:
            return self._stack(form, values, sparse)
        head, *operands = form
        family, _, name = head.partition(".")
        of = lambda operand: self._value(operand, values, sparse)
        if family == "emb":
            return self._embedding(form, name, operands, values, of, sparse)
        if name in FUNCTIONS:
            return FUNCTIONS[name](of(operands[0]))
        if name in PAIRS:
            return PAIRS[name](of(operands[0]), of(operands[1]))
        if name == "linear":
            x, w, b = map(of, operands)
            return torch.addmm(b, x, w) if x.dim() == 2 else x @ w + b
        if name == "matmul":
            return of(operands[0]) @ of(operands[1])
        if name == "matmul_t":
            return of(operands[0]) @ of(operands[1]).transpose(-1, -2)
        if name == "bias":
            return of(operands[0]) + of(operands[1])
        if name == "scale":
            return of(operands[1]) * float(operands[0])
        if name == "softmax":
            return torch.softmax(of(operands[0]), -1)
        if name == "stack":
            return torch.stack([of(operand) for operand in operands], 1)
        if name == "concat":
            return torch.cat([of(operand) for operand in operands], -1)
        if name == "interact":
            z = of(operands[0])
            below = values.get(f"below {z.shape[1]}")
            below = self._below(z) if below is None else below
            return torch.bmm(z, z.transpose(1, 2)).flatten(1).index_select(1, below)
        raise Unsupported(f"the operation `{head}`")

    def _below(self, z: torch.Tensor) -> torch.Tensor:
        """Returns the places below the diagonal of a matrix, prepared by the first call."""
        n = z.shape[1]
        rows, columns = torch.tril_indices(n, n, -1, device=z.device)
        self.tensors[f"below {n}"] = rows * n + columns
        return self.tensors[f"below {n}"]

    def _stack(self, form: tuple, values: Tensors, sparse: bool) -> torch.Tensor:
        prefix, count, mode = self._merged[form]
        table, at, starts = (values[prefix + part] for part in ("", " at", " from"))
        bags = F.embedding_bag(at, table, starts, mode=mode, include_last_offset=True)
        bags = bags.view(count, -1, bags.shape[1]).transpose(0, 1)
        others = [self._value(part, values, sparse).unsqueeze(1) for part in form[1 : len(form) - count]]
        return torch.cat([*others, bags], 1)

    def _embedding(self, form, name, operands, values, of, sparse) -> torch.Tensor:
        if sparse and form in self._matrices and name in ("spmm", "bag"):
            return values[self._matrices[form]] @ of(operands[0 if name == "spmm" else 1])
        if name == "bag":
            mode, table, indices, offsets, *weights = operands
            given = {"per_sample_weights": of(weights[0])} if weights else {}
            return F.embedding_bag(of(indices), of(table), of(offsets), mode=mode, include_last_offset=True, **given)
        if name == "spmm":
            table, indices, offsets, weights = map(of, operands)
            return F.embedding_bag(
                indices, table, offsets, mode="sum", include_last_offset=True, per_sample_weights=weights
            )
        if name == "gather":
            return of(operands[0]).index_select(0, of(operands[1]))
        if name == "block_gather":
            table, indices = of(operands[0]), of(operands[1])
            blocks = table.index_select(0, indices.flatten())
            return blocks if indices.dim() == 1 else blocks.view(len(indices), -1, table.shape[2])
        if name == "mp":
            function, left, right, indices, _ = operands
            rows = values[self._matrices[form]]
            left, sent = of(left), of(right).index_select(0, of(indices))
            weights = FUNCTIONS[function]((left.index_select(0, rows) * sent).sum(1, keepdim=True))
            return torch.zeros_like(left).index_add(0, rows, weights * sent)
        if name == "kg" and operands[0] in ("transe", "distmult"):
            entities, relations, heads, rels, tails = map(of, operands[1:])
            h, r, t = (table.index_select(0, at) for table, at in ((entities, heads), (relations, rels), (entities, tails)))
            return -(h + r - t).abs().sum(1) if operands[0] == "transe" else (h * r * t).sum(1)
        raise Unsupported(f"the operation `emb.{name}`")
