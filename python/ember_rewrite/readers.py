"""Arrays for programs from what users hold: graphs of PyTorch Geometric and of OGB, matrices of SciPy, frames of pandas.

    >>> arrays = ember_rewrite.read(data, names={"h": "x"})
    >>> program = ember_rewrite.compile("gcn.pt2", arrays)
    >>> program(**arrays)

Every reader returns arrays by name. A graph has `edge_index` and its halves `src` and `dst`, and with `rows=True` the
edges in the order of the rows that they lead to: `indices` and `offsets`. No reader imports the package that it reads from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ._program import PathLike, shared

Arrays = dict[str, np.ndarray]

OGB_NAMES = {"node_feat": "x", "node_label": "y", "edge_feat": "edge_attr"}
"""What OGB calls arrays, and what graphs call them here."""


def read(holder: Any, names: Mapping[str, str] | None = None, **options: Any) -> Arrays:
    """Returns the arrays that something holds.

    Args:
        holder: a `torch_geometric.data.Data`, a sparse matrix of SciPy, a frame or series of pandas, or the folder of a
            dataset of OGB.
        names: by the name of a program's argument, that of the array. Without it, all arrays keep their names.
        options: those of the reader.

    Raises:
        TypeError: if there is no reader for it.
        KeyError: if it has no array of a name.
    """
    arrays = _reader(holder)(holder, **options)
    if names is None:
        return arrays
    missing = [name for name in names.values() if name not in arrays]
    if missing:
        raise KeyError(f"there is no array `{missing[0]}`; there are {', '.join(sorted(arrays))}")
    return {argument: arrays[name] for argument, name in names.items()}


def torch_geometric(data: Any, *, rows: bool = False) -> Arrays:
    """Returns the arrays of a graph of PyTorch Geometric under the names of its attributes.

    A weight for each edge is called `weights`, too. Rows are those of the nodes that edges lead to.
    """
    held = data.to_dict()
    values = {name: _numbers(shared(value)) for name, value in held.items() if hasattr(value, "shape")}
    if "edge_index" not in values:
        raise TypeError(
            "the graph has no `edge_index`: give one of its kinds of edges, and before the transform `ToSparseTensor`"
        )
    src, dst = values.pop("edge_index")
    if "edge_weight" in values:
        values["weights"] = values["edge_weight"]
    return _graph(src, dst, int(data.num_nodes), values, rows)


def scipy_sparse(matrix: Any, *, rows: bool = False) -> Arrays:
    """Returns the elements of a sparse matrix, whose rows are those of a sum: `matrix @ x` adds up rows of `x`.

    A COO matrix is an edge list, from columns to rows; `rows=True` sorts it. Any other has rows: `offsets`, `indices` and
    `weights`.
    """
    if matrix.format == "coo":
        return _graph(matrix.col, matrix.row, matrix.shape[0], {"weights": _numbers(matrix.data)}, rows)
    matrix = matrix.tocsr()
    return {
        "offsets": matrix.indptr.astype(np.int64),
        "indices": matrix.indices.astype(np.int64),
        "weights": _numbers(matrix.data),
    }


def pandas_frame(frame: Any, *, bags: str | None = None, offsets: Any = None) -> Arrays:
    """Returns the columns of a frame, or a series, by name.

    A column of lists becomes its elements in one array, and the array `NAME.offsets`; nothing is an empty list. A column
    of categories becomes their numbers.

    Args:
        bags: the column with the number of each row's bag, from 0. Rows are sorted by it, and `offsets` says where bags
            start.
        offsets: where bags start, if the rows are in their order already.
    """
    frame = frame.to_frame() if hasattr(frame, "to_frame") else frame
    arrays: Arrays = {}
    if bags is not None:
        numbers = frame[bags].to_numpy()
        if numbers.dtype.kind not in "iu" or (numbers < 0).any():
            raise TypeError(f"the column `{bags}` does not hold the numbers of bags, from 0")
        order, arrays["offsets"] = _in_rows(numbers, int(numbers.max(initial=-1)) + 1)
        frame = frame.drop(columns=bags).iloc[order]
    elif offsets is not None:
        arrays["offsets"] = _numbers(shared(offsets))
    for name in frame.columns:
        arrays.update(_column(str(name), frame[name]))
    return arrays


def ogb(folder: PathLike, *, rows: bool = False, undirected: bool = False) -> Arrays:
    """Returns the graph in the folder of a dataset of OGB for nodes or links, as it is unpacked.

    Args:
        rows: True for edges in the order of the rows that they lead to.
        undirected: True to add the opposite of each edge. OGB stores one direction of undirected graphs.
    """
    raw = Path(folder, "raw")
    if (raw / "triplet-type-list.csv.gz").exists():
        raise ValueError(f"{folder}: a graph with several kinds of edges is not read")
    packed = [file for file in (raw / "data.npz", Path(folder, "processed", "data.npz")) if file.exists()]
    if packed:
        with np.load(packed[0]) as file:
            held = {name: file[name] for name in file.files}
        nodes, edges = held.pop("num_nodes_list"), held.pop("edge_index")
        held.pop("num_edges_list", None)
    elif (raw / "edge.csv.gz").exists():
        nodes, edges = _table(raw / "num-node-list.csv.gz"), _table(raw / "edge.csv.gz").T
        files = [*raw.glob("node[-_]*.csv.gz"), *raw.glob("edge[-_]*.csv.gz")]
        held = {file.name.removesuffix(".csv.gz").replace("-", "_"): _table(file) for file in sorted(files)}
    else:
        raise FileNotFoundError(f"{folder}: there is neither raw/edge.csv.gz nor a data.npz, as OGB has them")
    if nodes.size != 1:
        raise ValueError(f"{folder}: {nodes.size} graphs; a dataset of one graph is read")
    values = {OGB_NAMES.get(name, name): _numbers(value) for name, value in held.items()}
    src, dst = edges
    if undirected:
        own = {name for name, value in values.items() if _of_edges(name, value, len(src))}
        values |= {name: np.concatenate([values[name], values[name]]) for name in own}
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    return _graph(src, dst, int(nodes.item()), values, rows)


def _reader(holder: Any) -> Any:
    """Returns the reader for something."""
    package = type(holder).__module__.split(".")[0]
    if isinstance(holder, (str, os.PathLike)):
        return ogb
    if package == "pandas":
        return pandas_frame
    if package == "scipy" and hasattr(holder, "tocsr"):
        return scipy_sparse
    if hasattr(holder, "to_dict") and hasattr(holder, "num_nodes"):
        return torch_geometric
    raise TypeError(
        f"{type(holder).__name__} is not read; graphs of PyTorch Geometric, sparse matrices of SciPy, frames of pandas "
        "and folders of OGB are"
    )


def _graph(src: np.ndarray, dst: np.ndarray, nodes: int, values: Arrays, rows: bool) -> Arrays:
    """Returns a graph with its other arrays, as a list of edges or with edges in the order of rows."""
    src, dst = src.astype(np.int64), dst.astype(np.int64)
    if not rows:
        return {**values, "edge_index": np.stack([src, dst]), "src": src, "dst": dst}
    order, offsets = _in_rows(dst, nodes)
    sorted_values = {
        name: value[order] if _of_edges(name, value, len(src)) else value for name, value in values.items()
    }
    return {**sorted_values, "indices": src[order], "offsets": offsets}


def _of_edges(name: str, value: np.ndarray, edges: int) -> bool:
    """Returns True for an array with an element, or a row, for each edge."""
    return (name == "weights" or name.startswith("edge_")) and value.shape[:1] == (edges,)


def _in_rows(rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the order of elements by their rows, in which those of a row stay in order, and where rows start."""
    starts = np.cumsum(np.bincount(rows, minlength=count))
    return np.argsort(rows, kind="stable"), np.concatenate([[0], starts]).astype(np.int64)


def _column(name: str, column: Any) -> Arrays:
    """Returns the arrays of a column."""
    if column.dtype.name == "category":
        return {name: column.cat.codes.to_numpy().astype(np.int64)}
    if column.dtype.kind in "biuf":
        return {name: _numbers(column.to_numpy())}
    lists = [value if hasattr(value, "__len__") else () for value in column]
    if any(isinstance(value, str) for value in lists):
        raise TypeError(f"the column `{name}` holds texts; make categories of it, or leave it out")
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    elements = np.array(list(chain.from_iterable(lists)))
    if not elements.size:
        elements = elements.astype(np.int64)
    if elements.dtype.kind not in "biuf":
        raise TypeError(f"the column `{name}` holds neither numbers nor lists of numbers")
    return {name: _numbers(elements), f"{name}.offsets": np.concatenate([[0], np.cumsum(lengths)])}


def _table(file: Path) -> np.ndarray:
    """Returns the numbers of a CSV file: whole ones, if all are."""
    try:
        return np.loadtxt(file, dtype=np.int64, delimiter=",", ndmin=2)
    except ValueError:
        return np.loadtxt(file, dtype=np.float32, delimiter=",", ndmin=2)


def _numbers(value: np.ndarray) -> np.ndarray:
    """Returns an array with elements of a type that programs know."""
    known = value.dtype.kind == "f" or value.dtype.name in ("int64", "int32", "int8", "uint8")
    return value if known else value.astype(np.uint8 if value.dtype.kind == "b" else np.int64)
