"""Writes damaged and unsupported graphs of TensorFlow into the folder `bad/`, and graphs without weights into `programs/`.

usage: bad_tensorflow.py, in the folder of the exports"""
import os

def varint(n):
    n &= (1 << 64) - 1; out = b""
    while n > 127: out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
def number(field, n): return varint(field << 3) + varint(n)
def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content
def shape(dims): return b"".join(block(2, number(1, n)) for n in dims)
def attr(name, value): return block(5, block(1, name) + block(2, value))
def of_type(n): return number(6, n)
def node(name, op, inputs=(), *attrs):
    return block(1, block(1, name) + block(2, op) + b"".join(block(3, i) for i in inputs) + b"".join(attrs))
def argument(name, dtype, dims): return node(name, "Placeholder", (), attr("dtype", of_type(dtype)), attr("shape", block(7, shape(dims))))
def constant(name, dtype, dims, content=b""):
    tensor = number(1, dtype) + block(2, shape(dims)) + content
    return node(name, "Const", (), attr("dtype", of_type(dtype)), attr("value", block(8, tensor)))
F32, I32, STRING, I64 = 1, 3, 7, 9
x, ids = argument("x", F32, [4, 8]), argument("ids", I64, [5])
whole = open("tf_bag.pb", "rb").read()
BAD = {
    "cut": whole[:len(whole) // 2],
    "empty": b"",
    "varint": b"\x0a" + b"\xff" * 12,
    "field": b"\x0b\x07",
    "utf8": block(1, block(1, b"\xff\xfe") + block(2, "NoOp")),
    "deep": b"\x13" * 40_000,  # groups of groups
    "cyclic": x + node("a", "AddV2", ["x", "b"]) + node("b", "Relu", ["a"]) + node("c", "Relu", ["b"]),
    "unknown_input": x + node("a", "AddV2", ["x", "nothing"]),
    "second_result": x + node("a", "Relu", ["x:1"]),
    "twice": x + x + node("a", "Relu", ["x"]),
    "no_result": x,
    "operator": x + node("layer/spectrum", "FFT", ["x"]),
    "near": x + node("a", "SegmentSun", ["x", "x"]),
    "call": x + node("a", "PartitionedCall", ["x"], attr("f", block(10, block(1, "body")))),
    "attribute": x + ids + node("a", "GatherV2", ["x", "ids", "axis"], attr("batch_dims", number(3, 1))) + constant("axis", I32, []),
    "short": x + constant("w", F32, [8, 8], block(4, bytes(100))) + node("a", "MatMul", ["x", "w"]),
    "many": x + constant("w", F32, [2], block(5, bytes(64))) + node("a", "AddV2", ["x", "w"]),
    "few": x + constant("w", F32, [1 << 22], block(5, bytes(8))) + node("a", "AddV2", ["x", "w"]),
    "negative": x + constant("w", F32, [-3], block(4, bytes(12))) + node("a", "AddV2", ["x", "w"]),
    "huge": argument("x", F32, [1 << 40, 1 << 40]) + node("a", "Relu", ["x"]),
    "huge_constant": x + constant("w", F32, [1 << 40, 1 << 40], block(5, bytes(4))) + node("a", "AddV2", ["x", "w"]),
    "text": argument("x", STRING, [4]) + node("a", "Relu", ["x"]),
    "untyped": node("x", "Placeholder") + node("a", "Relu", ["x"]),
    "unshaped": node("x", "Placeholder", (), attr("dtype", of_type(F32))) + node("a", "Relu", ["x"]),
    "valueless": x + node("w", "Const") + node("a", "AddV2", ["x", "w"]),
    "computed_shape": x + argument("n", I32, [2]) + node("a", "Reshape", ["x", "n"]),
    "computed_range": argument("n", I32, []) + node("a", "Range", ["n", "n", "n"]),
    "quotient": ids + node("a", "FloorDiv", ["ids", "ids"]),
    "product": x + constant("c", I32, [1]) + node("a", "Prod", ["x", "c"]),
    "unique": ids + node("a", "Unique", ["ids"], attr("out_idx", of_type(I32))) + node("b", "Neg", ["a"]),
    "made": argument("x", F32, [-1, 3, 8]) + constant("n", I32, [2], block(7, varint(-1) + varint(8))) + node("a", "Reshape", ["x", "n"]),
    "positions": x + argument("f", F32, [5]) + node("s", "Cast", ["f"], attr("SrcT", of_type(F32)), attr("DstT", of_type(I64)))
        + constant("axis", I32, []) + node("a", "GatherV2", ["x", "s", "axis"]),
}
for name, content in BAD.items(): open(f"bad/tf_{name}.pb", "wb").write(content)
os.makedirs("programs", exist_ok=True)
table = argument("table", F32, [10, 4]); axis = constant("axis", I32, [])
PROGRAMS = {
    "bag": table + ids + argument("seg", I64, [5]) + axis + node("g", "GatherV2", ["table", "ids", "axis"]) + node("s", "SegmentSum", ["g", "seg"]),
    "lookup": table + argument("where", I64, [-1, 2]) + argument("ids", I64, [-1]) + axis + node("u", "Unique", ["ids"], attr("out_idx", of_type(I32)))
        + node("g", "GatherV2", ["table", "u", "axis"]) + constant("i", I32, [2]) + constant("j", I32, [2], block(7, b"\x00\x01"))
        + constant("k", I32, [2], block(7, b"\x01")) + node("seg", "StridedSlice", ["where", "i", "j", "k"], attr("begin_mask", number(3, 1)),
        attr("end_mask", number(3, 1)), attr("shrink_axis_mask", number(3, 2))) + node("s", "SparseSegmentMean", ["g", "u:1", "seg"]),
    "hashed": table + ids + axis + constant("n", I64, [], block(10, b"\x0a")) + node("r", "FloorMod", ["ids", "n"])
        + node("q", "FloorDiv", ["ids", "n"]) + node("h", "FloorMod", ["q", "n"]) + node("a", "GatherV2", ["table", "r", "axis"])
        + node("b", "GatherV2", ["table", "h", "axis"]) + node("s", "Mul", ["a", "b"]),
    "dense": x + argument("w", F32, [8, 3]) + node("m", "MatMul", ["x", "w"]) + constant("c", I32, [1], block(7, b"\x01"))
        + node("n", "Sum", ["m", "c"], attr("keep_dims", number(5, 1))) + node("d", "RealDiv", ["m", "n"]) + node("Identity", "Identity", ["d", "^n"]),
}
for name, content in PROGRAMS.items(): open(f"programs/tf_{name}.pb", "wb").write(content)
