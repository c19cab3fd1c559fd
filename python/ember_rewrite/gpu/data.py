"""Draws a model's data on a device, from the distributions that the compiler's data has.

The compiler's page "Data" defines the sources. Numbers differ from the compiler's, distributions do not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import torch

from .models import Form, Input, Model, Unsupported

TYPES = {"f32": torch.float32, "f64": torch.float64, "i32": torch.int32, "i64": torch.int64}

QUADRANTS = (0.57, 0.19, 0.19, 0.05)
"""The shares of an R-MAT graph's quadrants, as in Graph 500."""


@dataclass
class Data:
    """The data of one run."""

    sizes: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)


def draw(model: Model, scale: float, device: torch.device, seed: int = 1) -> Data:
    """Draws the data of a model whose batch is multiplied by a factor.

    Raises:
        Unsupported: for a source of data that is not drawn here, and for a size that nothing determines.
    """
    return _Drawing(model, scale, device, seed).run()


class _Drawing:
    def __init__(self, model: Model, scale: float, device: torch.device, seed: int):
        self.model, self.scale, self.device, self.seed = model, scale, device, seed
        self.generator = torch.Generator(device).manual_seed(seed)
        self.sources: dict[str, Form] = {}
        self.graphs: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self.data = Data()

    def run(self) -> Data:
        for form in self.model.data:
            head, *rest = form
            if head == "size":
                name, n, *batch = rest
                self.data.sizes[name] = self._scaled(int(n)) if batch else int(n)
            elif head == "graph":
                self.graphs[rest[0]] = self._graph(rest[1:])
            elif head not in ("seed", "triples"):
                self.sources[head] = rest[0]
        # Sizes follow from offsets and graphs, so these come first; indices need the sizes of tables.
        order = lambda given: {"offsets-of": 0, "neighbours-of": 0, "fixed": 1, "ragged": 1}.get(self._head(given), 2)
        for given in sorted(self.model.inputs, key=order):
            self.data.tensors[given.name] = self._tensor(given)
        return self.data

    def _scaled(self, n: int) -> int:
        return max(round(n * self.scale), min(n, 1))

    def _head(self, given: Input) -> str:
        source = self.sources.get(given.name)
        if not isinstance(source, tuple):
            raise Unsupported(f"no data for input `{given.name}`")
        return source[0]

    def _extent(self, extent: Form) -> int:
        name, plus = extent, 0
        if isinstance(extent, tuple):
            name, plus = extent[1], int(extent[2])
        elif "+" in extent:
            name, plus = extent.split("+")
        if name.isdigit():
            return int(name) + int(plus)
        if name not in self.data.sizes:
            raise Unsupported(f"the size `{name}` is not known")
        return self.data.sizes[name] + int(plus)

    def _bind(self, extent: Form, n: int) -> None:
        """Gives the size in an extent its number, unless it has one."""
        name, plus = (extent[1], int(extent[2])) if isinstance(extent, tuple) else (extent, 0)
        if "+" in name:
            name, plus = name.split("+")[0], int(name.split("+")[1])
        self.data.sizes.setdefault(name, n - plus)

    def _bind_lookups(self, offsets: str, lookups: int) -> None:
        """Gives the number of lookups to the indices that these offsets divide."""
        extents = {given.name: given.extents for given in self.model.inputs}
        for call in self.model.calls():
            if offsets in call:
                for name in call[1:]:
                    is_indices = isinstance(name, str) and name in extents and name != offsets
                    if is_indices and len(extents[name]) == 1:
                        self._bind(extents[name][0], lookups)

    def _rows(self, indices: str) -> int:
        """Returns the number of rows of the smallest tensor that these indices look up."""
        extents = {given.name: given.extents for given in self.model.inputs}
        rows = []
        for call in self.model.calls():
            if indices not in call:
                continue
            if call[0] == "emb.kg":
                tables = [call[3 if indices == call[5] else 2]]
            else:
                tables = [operand for operand in call[1:] if operand != indices and self.model.is_table(operand)]
            rows += [self._extent(extents[self.model.origin(table)][0]) for table in tables]
        if not rows:
            raise Unsupported(f"`{indices}` looks up no table")
        return min(rows)

    def _tensor(self, given: Input) -> torch.Tensor:
        if given.dtype not in TYPES:
            raise Unsupported(f"`{given.name}` is of type {given.dtype}")
        head, *rest = self.sources[given.name]
        kind = TYPES[given.dtype]
        if head in ("offsets-of", "neighbours-of"):
            offsets, neighbours = self.graphs[rest[0]]
            values = offsets if head == "offsets-of" else neighbours
            self._bind(given.extents[0], len(values))
            return values.to(kind)
        if head in ("fixed", "ragged"):
            bags = self._extent(given.extents[0]) - 1
            offsets = self._offsets(head, rest, bags)
            self._bind_lookups(given.name, int(offsets[-1]))
            return offsets.to(kind)
        shape = [self._extent(extent) for extent in given.extents]
        if head == "constant":
            return torch.full(shape, float(rest[0]), dtype=kind, device=self.device)
        if head == "uniform":
            low, high = float(rest[0]), float(rest[1])
            if kind.is_floating_point:
                return torch.empty(shape, dtype=kind, device=self.device).uniform_(low, high, generator=self.generator)
            return torch.randint(int(low), int(high), shape, dtype=kind, device=self.device, generator=self.generator)
        if head == "zipf":
            rows = self._rows(given.name)
            return self._zipf(rows, float(rest[0]), shape).to(kind)
        if head == "blocks":
            return self._blocks(rest, shape, self._rows(given.name)).to(kind)
        raise Unsupported(f"the data of `{given.name}` is `({head} …)`, which is not drawn here")

    def _uniform(self, shape: list[int]) -> torch.Tensor:
        return torch.rand(shape, dtype=torch.float64, device=self.device, generator=self.generator)

    def _offsets(self, head: str, rest: list[Form], bags: int) -> torch.Tensor:
        if head == "fixed":
            return torch.arange(bags + 1, device=self.device) * int(rest[0])
        options = {part[0]: float(part[1]) for part in rest}
        mean, empty = options["mean"], options["empty"]
        longest = 2.0 * mean / (1.0 - empty) - 1.0 if empty < 1.0 else 0.0
        lengths = 1 + (self._uniform([bags]) * longest).long()
        lengths[self._uniform([bags]) < empty] = 0
        return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])

    def _zipf(self, rows: int, exponent: float, shape: list[int]) -> torch.Tensor:
        """Draws ranks by inversion, scattered over the rows by a permutation."""
        ranks = torch.arange(1, rows + 1, dtype=torch.float64, device=self.device)
        shares = ranks.pow(-exponent).cumsum(0)
        drawn = torch.searchsorted(shares, self._uniform(shape) * shares[-1]).clamp(max=rows - 1)
        scatter = torch.randperm(rows, device=self.device, generator=self.generator)
        return scatter[drawn]

    def _blocks(self, rest: list[Form], shape: list[int], blocks: int) -> torch.Tensor:
        """Draws BigBird's pattern: a window around each block, the first blocks, and random ones, all distinct."""
        count = {part[0]: int(part[1]) for part in rest}
        width = sum(count.values())
        if width > blocks:
            raise Unsupported(f"rows of {width} blocks out of {blocks}")
        drawn, rows = random.Random(self.seed), []
        for query in range(shape[0]):
            window = [(query - count["window"] // 2 + i) % blocks for i in range(count["window"])]
            row = list(dict.fromkeys(window + list(range(count["global"]))))
            while len(row) < width:
                block = drawn.randrange(blocks)
                if block not in row:
                    row.append(block)
            rows.append(row)
        return torch.tensor(rows, device=self.device)

    def _graph(self, parts: list[Form]) -> tuple[torch.Tensor, torch.Tensor]:
        """Draws an R-MAT graph as compressed rows: the offsets, and the neighbours of each node in order."""
        given = {part[0]: part[1:] for part in parts}
        if "rmat" not in given or given.get("batch"):
            raise Unsupported("a graph that is not a whole one of `(rmat …)`")
        size = {part[0]: int(part[1]) for part in given["rmat"]}
        nodes = size["nodes"]
        rows, columns = self._edges(nodes, size["edges"])
        scatter = torch.randperm(nodes, device=self.device, generator=self.generator)
        rows, columns = scatter[rows], scatter[columns]
        if "undirected" in given:
            away = rows != columns
            rows, columns = torch.cat([rows, columns[away]]), torch.cat([columns, rows[away]])
        order = torch.argsort(rows * nodes + columns)
        lengths, columns = torch.bincount(rows, minlength=nodes), columns[order]
        if "batch" in given:
            # A batch of graphs is one graph that has all of them side by side.
            copies = self._scaled(1)
            copy = torch.arange(copies, device=self.device).repeat_interleave(len(columns))
            lengths, columns = lengths.repeat(copies), columns.repeat(copies) + copy * nodes
        return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]), columns

    def _edges(self, nodes: int, edges: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Draws the quadrants of each edge, level by level; edges outside the nodes are drawn again."""
        a, b, c, _ = QUADRANTS
        rows = columns = torch.empty(0, dtype=torch.int64, device=self.device)
        while len(rows) < edges:
            left = edges - len(rows)
            row = torch.zeros(left, dtype=torch.int64, device=self.device)
            column = row.clone()
            for _ in range((nodes - 1).bit_length()):
                u = self._uniform([left])
                row = row * 2 + (u >= a + b)
                column = column * 2 + ((u >= a) ^ (u >= a + b) ^ (u >= a + b + c))
            inside = (row < nodes) & (column < nodes)
            rows, columns = torch.cat([rows, row[inside]]), torch.cat([columns, column[inside]])
        return rows, columns

