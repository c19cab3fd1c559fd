"""Arrays from what users hold."""

import gzip
from types import SimpleNamespace

import ember_rewrite
import numpy as np
import pytest
from ember_rewrite import readers

SRC, DST = np.array([3, 0, 2, 1, 0]), np.array([2, 0, 2, 0, 3])
WEIGHTS = np.array([0.5, 1.0, 2.0, 4.0, 8.0], np.float32)
X = np.arange(10, dtype=np.float32).reshape(5, 2)
OFFSETS, INDICES, SORTED = [0, 2, 2, 4, 5, 5], [0, 1, 3, 2, 0], [1.0, 4.0, 0.5, 2.0, 8.0]

SPMM = """(model spmm
  (input x f32 (nodes columns))
  (input indices i64 (edges)) (input offsets i64 ((+ rows 1))) (input weights f32 (edges))
  (output out (emb.spmm x indices offsets weights))
  (data (x (uniform -1.0 1.0)) (indices (uniform 0 5)) (weights (uniform -1.0 1.0))
    (offsets (values 0 1 2)) (size nodes 5) (size columns 2)))
"""


def same(arrays, **expected):
    for name, value in expected.items():
        np.testing.assert_array_equal(arrays[name], value, err_msg=name)
        assert arrays[name].dtype == (np.int64 if np.asarray(value).dtype.kind == "i" else np.float32), name


class Data:
    """A graph as PyTorch Geometric holds it, of arrays."""

    num_nodes = 5

    def __init__(self, **held):
        self.held = held

    def to_dict(self):
        return self.held


def graph():
    held = dict(x=X, edge_index=np.stack([SRC, DST]), edge_weight=WEIGHTS, train_mask=np.ones(5, bool), name="g")
    return Data(**held)


def dense():
    matrix = np.zeros((5, 5), np.float32)
    matrix[DST, SRC] = WEIGHTS
    return matrix


@pytest.fixture
def spmm(tmp_path):
    path = tmp_path / "spmm.sexp"
    path.write_text(SPMM)
    return path


def test_a_graph_of_pytorch_geometric():
    edges = ember_rewrite.read(graph())
    same(edges, x=X, src=SRC, dst=DST, edge_index=np.stack([SRC, DST]), weights=WEIGHTS)
    assert edges["train_mask"].dtype == np.uint8 and "name" not in edges
    rows = ember_rewrite.read(graph(), rows=True)
    same(rows, x=X, offsets=OFFSETS, indices=INDICES, weights=SORTED, edge_weight=SORTED)
    same(ember_rewrite.read(graph(), {"to": "dst"}), to=DST)
    with pytest.raises(KeyError, match="no array `destination`; there are dst"):
        ember_rewrite.read(graph(), {"to": "destination"})
    with pytest.raises(TypeError, match="has no `edge_index`"):
        ember_rewrite.read(Data(x=X))


def test_the_real_pytorch_geometric():
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data", reason="PyTorch Geometric is not installed")
    edges = torch.from_numpy(np.stack([SRC, DST]))
    held = data.Data(x=torch.from_numpy(X), edge_index=edges, edge_weight=torch.from_numpy(WEIGHTS))
    same(ember_rewrite.read(held), x=X, src=SRC, dst=DST, weights=WEIGHTS)
    same(ember_rewrite.read(held, rows=True), offsets=OFFSETS, indices=INDICES, weights=SORTED)


def test_programs_take_what_is_read(spmm):
    rows = ember_rewrite.read(graph(), rows=True)
    program = ember_rewrite.compile(spmm, rows)
    np.testing.assert_array_equal(program(**rows), dense() @ X)


def test_matrices_of_scipy(spmm):
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    coo = sparse.coo_array((WEIGHTS, (DST, SRC)), shape=(5, 5))
    same(ember_rewrite.read(coo), src=SRC, dst=DST, weights=WEIGHTS)
    same(ember_rewrite.read(coo, rows=True), offsets=OFFSETS, indices=INDICES, weights=SORTED)
    for matrix in (coo.tocsr(), coo.tocsc(), sparse.lil_matrix(dense())):
        rows = ember_rewrite.read(matrix) | {"x": X}
        np.testing.assert_array_equal(ember_rewrite.compile(spmm, rows)(**rows), matrix @ X)


def test_frames_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    lists = pandas.DataFrame({"items": [[3, 5], None, [7]], "age": [1.5, 2.5, 3.5], "old": [True, False, True]})
    read = ember_rewrite.read(lists)
    same(read, **{"items": [3, 5, 7], "items.offsets": [0, 2, 2, 3]})
    assert read["age"].dtype == np.float64 and read["old"].dtype == np.uint8
    same(ember_rewrite.read(lists["items"], {"indices": "items"}), indices=[3, 5, 7])
    same(ember_rewrite.read(pandas.Series([[], []], name="none")), **{"none": np.zeros(0, int), "none.offsets": [0, 0, 0]})
    long = pandas.DataFrame({"bag": [2, 0, 2, 0], "item": [7, 3, 8, 5]})
    same(ember_rewrite.read(long, bags="bag"), item=[3, 5, 7, 8], offsets=[0, 2, 2, 4])
    same(ember_rewrite.read(long["item"], offsets=[0, 1]), item=[7, 3, 8, 5], offsets=[0, 1])
    words = pandas.Series(["b", "a", "b"], name="word")
    same(ember_rewrite.read(words.astype("category")), word=[1, 0, 1])
    with pytest.raises(TypeError, match="the column `word` holds texts"):
        ember_rewrite.read(words)
    with pytest.raises(TypeError, match="does not hold the numbers of bags"):
        ember_rewrite.read(pandas.DataFrame({"bag": [-1], "item": [2]}), bags="bag")


def table(path, values):
    with gzip.open(path, "wt") as file:
        np.savetxt(file, np.atleast_2d(values), delimiter=",", fmt="%g")


def test_folders_of_ogb(tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    with pytest.raises(FileNotFoundError, match="neither raw/edge.csv.gz nor a data.npz"):
        ember_rewrite.read(tmp_path)
    table(raw / "edge.csv.gz", np.stack([SRC, DST], axis=1))
    table(raw / "num-node-list.csv.gz", [[5]])
    table(raw / "num-edge-list.csv.gz", [[5]])
    table(raw / "node-feat.csv.gz", X + 0.5)
    table(raw / "node-label.csv.gz", np.arange(5)[:, None])
    table(raw / "edge-feat.csv.gz", WEIGHTS[:, None])
    read = ember_rewrite.read(str(tmp_path))
    same(read, src=SRC, dst=DST, x=X + 0.5, y=np.arange(5)[:, None], edge_attr=WEIGHTS[:, None])
    rows = ember_rewrite.read(tmp_path, rows=True)
    same(rows, offsets=OFFSETS, indices=INDICES, edge_attr=np.array(SORTED, np.float32)[:, None])
    both = readers.ogb(tmp_path, undirected=True)
    same(both, src=[*SRC, *DST], dst=[*DST, *SRC], edge_attr=np.tile(WEIGHTS, 2)[:, None])
    (raw / "triplet-type-list.csv.gz").touch()
    with pytest.raises(ValueError, match="several kinds of edges"):
        ember_rewrite.read(tmp_path)


def test_packed_folders_of_ogb(tmp_path):
    (tmp_path / "raw").mkdir()
    held = dict(edge_index=np.stack([SRC, DST]), node_feat=X, node_year=np.arange(5))
    np.savez(tmp_path / "raw" / "data.npz", num_nodes_list=[5], num_edges_list=[5], **held)
    same(ember_rewrite.read(tmp_path), src=SRC, dst=DST, x=X, node_year=np.arange(5))
    np.savez(tmp_path / "raw" / "data.npz", num_nodes_list=[5, 6], num_edges_list=[5, 5], **held)
    with pytest.raises(ValueError, match="2 graphs"):
        ember_rewrite.read(tmp_path)


def test_other_things_are_not_read():
    with pytest.raises(TypeError, match="SimpleNamespace is not read; graphs of PyTorch Geometric"):
        ember_rewrite.read(SimpleNamespace())
