"""Writes TensorFlow functions as frozen graphs with inputs and outputs.

Arrays are called after arguments where an export does not say their order. usage: make_tensorflow.py OUTDIR [NAME …]
(needs tensorflow-cpu)"""
import inspect, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np, tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2 as freeze
from safetensors.numpy import save_file

r = np.random.default_rng(0)
f32 = lambda *s: r.standard_normal(s).astype(np.float32)
i64, fl = tf.int64, tf.float32
S = tf.TensorSpec
var = lambda *s: tf.Variable(f32(*s))
ascending = lambda n, rows: np.sort(np.r_[np.arange(rows), r.integers(0, rows, n - rows)])

def lookup(combiner, weighted, dynamic=False):
    table = var(100, 16)
    n = None if dynamic else 12
    spec = [S([n, 2], i64), S([n], i64)] + ([S([n], fl)] if weighted else [])
    def f(where, ids, *w):
        at = lambda x: tf.SparseTensor(where, x, [5, 4])
        return tf.nn.embedding_lookup_sparse(table, at(ids), at(w[0]) if w else None, combiner=combiner)
    args = (where, r.integers(0, 100, 12)) + ((r.random(12, dtype=np.float32) + 0.5,) if weighted else ())
    return tf.function(f, input_signature=spec), args

def segments(kind, *more):
    table = var(100, 16)
    def f(idx, seg): return getattr(tf.math, kind)(tf.gather(table, idx), seg, *more)
    return tf.function(f, input_signature=[S([30], i64), S([30], i64)]), (r.integers(0, 100, 30), ascending(30, 6))

def sparse_segments(kind, n=None):
    table = var(100, 16)
    def f(idx, seg): return getattr(tf.sparse, kind)(table, idx, seg, num_segments=n)
    return tf.function(f, input_signature=[S([30], i64), S([30], i64)]), (r.integers(0, 100, 30), ascending(30, 6))

def ragged(reduce, given=30):
    table = var(100, 16)
    def f(ids, rows):
        x = tf.RaggedTensor.from_row_splits(tf.gather(table, ids), rows, validate=False)
        return getattr(tf, reduce)(x, axis=1)
    rows = np.array([0, 4, 4 if reduce == "reduce_max" else 5, 9, 20, 21, 30])
    return tf.function(f, input_signature=[S([given], i64), S([given and 7], i64)]), (r.integers(0, 100, 30), rows)

def ragged_lookup():
    table = var(100, 16)
    def f(ids, splits):
        x = tf.nn.embedding_lookup(table, tf.RaggedTensor.from_row_splits(ids, splits, validate=False))
        return tf.reduce_sum(x, axis=1)
    return tf.function(f, input_signature=[S([30], i64), S([7], i64)]), (r.integers(0, 100, 30), np.array([0, 4, 4, 9, 20, 21, 30]))

def gcn():
    w, b = var(16, 8), var(8)
    def f(x, src, dst, norm):
        h = tf.matmul(x, w)
        m = tf.gather(h, src) * norm[:, tf.newaxis]
        return tf.nn.relu(tf.math.unsorted_segment_sum(m, dst, 20) + b)
    return tf.function(f, input_signature=[S([20, 16], fl), S([60], i64), S([60], i64), S([60], fl)]), \
        (f32(20, 16), r.integers(0, 20, 60), r.integers(0, 20, 60), f32(60))

def sage():
    w, u = var(32, 8), var(8)
    def f(x, src, dst):
        m = tf.math.unsorted_segment_mean(tf.gather(x, src), dst, tf.shape(x)[0])
        return tf.math.l2_normalize(tf.nn.relu(tf.matmul(tf.concat([x, m], axis=1), w) + u), axis=1)
    return tf.function(f, input_signature=[S([20, 16], fl), S([60], i64), S([60], i64)]), \
        (f32(20, 16), r.integers(0, 20, 60), r.integers(0, 20, 60))

def gat():
    w, a, b = var(16, 8), var(8, 1), var(8, 1)
    def f(x, src, dst):
        h = tf.matmul(x, w)
        e = tf.nn.leaky_relu(tf.gather(tf.matmul(h, a), dst) + tf.gather(tf.matmul(h, b), src), alpha=0.2)
        e = tf.exp(e - tf.gather(tf.math.unsorted_segment_max(e, dst, 20), dst))
        s = tf.math.unsorted_segment_sum(e, dst, 20)
        return tf.math.unsorted_segment_sum(tf.gather(h, src) * (e / tf.gather(s, dst)), dst, 20)
    return tf.function(f, input_signature=[S([20, 16], fl), S([60], i64), S([60], i64)]), \
        (f32(20, 16), r.integers(0, 20, 60), np.r_[np.arange(20), r.integers(0, 20, 40)])

def towers(dynamic=False):
    users, items, w, v, b = var(50, 16), var(80, 16), var(16, 8), var(16, 8), var(8)
    def f(u, i):
        x = tf.nn.relu(tf.nn.bias_add(tf.matmul(tf.nn.embedding_lookup(users, u), w), b))
        y = tf.tanh(tf.matmul(tf.gather(items, i), v))
        return tf.sigmoid(tf.reduce_sum(tf.math.l2_normalize(x, -1) * tf.math.l2_normalize(y, -1), axis=1))
    n = None if dynamic else 9
    return tf.function(f, input_signature=[S([n], i64), S([n], i64)]), (r.integers(0, 50, 9), r.integers(0, 80, 9))

def dlrm():
    tables = [var(100, 8) for _ in range(3)]
    w, b, v, c, o, d = var(13, 16), var(16), var(16, 8), var(8), var(14, 1), var(1)
    def f(dense, ids):
        x = tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(dense, w) + b), v) + c)
        e = [tf.reduce_sum(tf.gather(t, ids[:, k, :]), axis=1) for k, t in enumerate(tables)]
        z = tf.stack([x] + e, axis=1)
        p = tf.matmul(z, z, transpose_b=True)
        p = tf.reshape(p, [-1, 16])
        low = tf.gather(p, [4, 8, 9, 12, 13, 14], axis=1)
        return tf.sigmoid(tf.matmul(tf.concat([x, low], axis=1), o) + d)
    return tf.function(f, input_signature=[S([6, 13], fl), S([6, 3, 4], i64)]), (f32(6, 13), r.integers(0, 100, (6, 3, 4)))

def attention():
    q, k, v, g, b = var(16, 16), var(16, 16), var(16, 16), var(16), var(16)
    def f(x):
        heads = lambda y: tf.transpose(tf.reshape(y, [10, 2, 8]), [1, 0, 2])
        a, c, d = (heads(tf.matmul(x, w)) for w in (q, k, v))
        s = tf.nn.softmax(tf.matmul(a, c, transpose_b=True) / tf.sqrt(8.0), axis=-1)
        y = tf.reshape(tf.transpose(tf.matmul(s, d), [1, 0, 2]), [10, 16]) + x
        mean, var_ = tf.nn.moments(y, [1], keepdims=True)
        return tf.nn.batch_normalization(y, mean, var_, b, g, 1e-5)
    return tf.function(f, input_signature=[S([10, 16], fl)]), (f32(10, 16),)

def keras_dense():
    table = var(50, 8)
    layers = [tf.keras.layers.Dense(16, activation=a) for a in ("gelu", "swish", "elu", "softplus")]
    def f(ids):
        x = tf.reshape(tf.gather(table, ids), [4, 24])
        for l in layers: x = l(x)
        return tf.nn.softmax(x)
    f(np.zeros((4, 3), np.int64))
    return tf.function(f, input_signature=[S([4, 3], i64)]), (r.integers(0, 50, (4, 3)),)

def elements():
    a = var(3, 5)
    def f(x, y):
        m = tf.where(x > y, x, 0.5 * y)
        z = tf.einsum("bi,ij->bj", m, a) + tf.reduce_max(x, axis=1, keepdims=True) - tf.reduce_min(y, axis=1, keepdims=True)
        z = tf.math.divide_no_nan(z, tf.square(z) + 1.0) + tf.math.rsqrt(tf.abs(z) + 1.0) + tf.minimum(tf.maximum(z, -1.0), 1.0)
        p = tf.split(tf.pad(z, [[0, 0], [0, 1]]), 2, axis=1)
        s = tf.math.squared_difference(p[0], p[1]) ** 2.0 + tf.math.log1p(tf.exp(p[1]))
        return tf.concat([s, tf.tile(x[:, :1], [1, 3])], -1), tf.math.log_softmax(s), tf.clip_by_value(tf.slice(s, [0, 1], [-1, 2]), 0.0, 2.0), tf.one_hot(tf.constant([1, 0, 2, 3]), 4) * x[:, 0:1]
    return tf.function(f, input_signature=[S([4, 3], fl), S([4, 3], fl)]), (f32(4, 3), f32(4, 3))

def transe():
    e, k = var(30, 8), var(5, 8)
    def f(h, rel, t):
        return -tf.norm(tf.gather(e, h) + tf.gather(k, rel) - tf.gather(e, t), ord=1, axis=-1)
    return tf.function(f, input_signature=[S([7], i64)] * 3), (r.integers(0, 30, 7), r.integers(0, 5, 7), r.integers(0, 30, 7))

def sparse_matmul():
    x = var(20, 8)
    def f(where, values):
        return tf.sparse.sparse_dense_matmul(tf.SparseTensor(where, values, [10, 20]), x)
    return tf.function(f, input_signature=[S([15, 2], i64), S([15], fl)]), \
        (np.stack([np.sort(r.integers(0, 10, 15)), r.integers(0, 20, 15)], 1), f32(15))

def scatter():
    def f(x, at, rows):
        y = tf.tensor_scatter_nd_add(x, at, rows)
        return y, tf.scatter_nd(at, rows, [10, 4]), tf.gather_nd(x, at)
    return tf.function(f, input_signature=[S([10, 4], fl), S([6, 1], i64), S([6, 4], fl)]), (f32(10, 4), r.integers(0, 10, (6, 1)), f32(6, 4))

def select():
    "rows that a vector of conditions chooses, as old graphs have them, of as many as columns"
    def f(x, y): return tf.raw_ops.Select(condition=tf.reduce_sum(x, axis=1) > 0.0, x=x, y=y)
    return tf.function(f, input_signature=[S([4, 4], fl)] * 2), (f32(4, 4), f32(4, 4))

def batched():
    "positions of each sequence, the last of which its length says, and bags of given lengths"
    table = var(30, 4)
    def f(x, places, history, lengths, ids, bags):
        last = tf.gather_nd(history, tf.stack([tf.range(5, dtype=i64), lengths - 1], 1))
        rows = tf.RaggedTensor.from_row_lengths(tf.gather(table, ids), bags, validate=False)
        return tf.gather(x, places, batch_dims=1), tf.gather(table, last), tf.reduce_sum(rows, axis=1)
    return tf.function(f, input_signature=[S([5, 6, 4], fl), S([5, 3], i64), S([5, 6], i64), S([5], i64), S([12], i64), S([4], i64)]), \
        (f32(5, 6, 4), r.integers(0, 6, (5, 3)), r.integers(0, 30, (5, 6)), r.integers(1, 7, 5), r.integers(0, 30, 12), np.array([3, 0, 5, 4]))

where = np.array([[0,0],[0,1],[0,2],[1,0],[2,0],[2,1],[2,3],[3,0],[3,1],[4,0],[4,1],[4,2]], np.int64)
MODELS = {
    **{f"tf_lookup_{c}": lambda c=c: lookup(c, True) for c in ("sum", "mean", "sqrtn")},
    "tf_lookup_dynamic": lambda: lookup("mean", True, True), "tf_lookup_plain": lambda: lookup("sqrtn", False),
    **{f"tf_segment_{k}": lambda k=k: segments(f"segment_{k}") for k in ("mean", "max", "min")},
    **{f"tf_unsorted_{k}": lambda k=k: segments(f"unsorted_segment_{k}", 8) for k in ("mean", "max", "sqrt_n")},
    "tf_sparse_segments": lambda: sparse_segments("segment_sqrt_n", 8),
    "tf_ragged_mean": lambda: ragged("reduce_mean"), "tf_ragged_max": lambda: ragged("reduce_max"),
    "tf_ragged_dynamic": lambda: ragged("reduce_sum", None), "tf_ragged_lookup": ragged_lookup,
    "tf_gcn": gcn, "tf_sage": sage, "tf_gat": gat, "tf_towers": lambda: towers(True), "tf_dlrm": dlrm,
    "tf_attention": attention, "tf_keras": keras_dense, "tf_elements": elements, "tf_transe": transe,
    "tf_sparse_matmul": sparse_matmul, "tf_scatter": scatter, "tf_select": select,
    "tf_batched": batched,
}
out = sys.argv[1]; os.makedirs(out, exist_ok=True)
for n, make in MODELS.items():
    if sys.argv[2:] and n not in sys.argv[2:]: continue
    f, a = make()
    c = freeze(f.get_concrete_function()); d = c.graph.as_graph_def()
    tf.io.write_graph(d, out, n + ".pb", as_text=False)
    y = tf.nest.flatten(f(*[tf.constant(t) for t in a]))
    names = [f"input.{i}" for i in range(len(a))] if "lookup" in n else list(inspect.signature(f.python_function).parameters)
    save_file({**{names[i]: np.ascontiguousarray(t) for i, t in enumerate(a)}, **{f"output.{i}": np.ascontiguousarray(t.numpy()) for i, t in enumerate(y)}}, f"{out}/{n}.safetensors")
    print(n, sorted({x.op for x in d.node}))
