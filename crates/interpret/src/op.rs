//! The operations that terms are compiled to: one for all operators that mean the same, on whatever
//! level they stand. Which operator is which operation is in [`super::program`].

use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};

/// A node by its position in [`super::program::Program::ops`].
pub(super) type At = usize;

/// A loop's variable and bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loop {
    pub var: At,
    pub lo: At,
    pub hi: At,
    pub step: At,
    /// The execute unit's own lo and hi, where both units run the loop.
    pub follow: Option<(At, At)>,
    /// Whether the execute unit runs the loop alone.
    pub alone: bool,
}

/// How a bag combines its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Sum,
    Mean,
    Max,
}

/// A function of one scalar that tensors are mapped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Map {
    Identity,
    Relu,
    Sigmoid,
    Exp,
}

/// How a triple of a knowledge graph is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Score {
    TransE,
    DistMult,
    ComplEx,
    RotatE,
}

/// Where in an output a tensor is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// The second index is this.
    Slot(At),
    /// The second index starts from this.
    Columns(At),
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    // Values.
    Constant(Scalar),
    /// The value of a variable; `stream` where the access unit asks for it.
    Iv {
        var: At,
        stream: bool,
    },
    Load {
        address: At,
        stream: bool,
    },
    /// A load of an address that the access unit reads ahead.
    Fetched {
        ahead: At,
        address: At,
    },
    Binary {
        op: BinaryOp,
        a: At,
        b: At,
        stream: bool,
    },
    Unary {
        op: UnaryOp,
        x: At,
    },
    Fold {
        op: BinaryOp,
        x: At,
    },
    Map {
        f: Map,
        x: At,
    },
    Select {
        c: At,
        a: At,
        b: At,
    },
    Cast {
        to: DType,
        x: At,
        stream: bool,
    },
    Convert {
        like: At,
        x: At,
    },
    Identity {
        op: BinaryOp,
        like: At,
    },
    One(At),
    Dim {
        of: At,
        k: At,
    },
    Reduce {
        op: BinaryOp,
        over: Loop,
        start: At,
        body: At,
    },
    Broadcast {
        n: At,
        x: At,
    },
    Lanes {
        n: At,
        hi: At,
        x: At,
    },
    Element {
        of: At,
        index: [At; 3],
        rank: usize,
    },
    Extent {
        of: At,
        k: At,
    },
    // Addresses.
    Root {
        tensor: u32,
        writable: bool,
    },
    Freeze {
        address: At,
    },
    Index {
        address: At,
        index: At,
    },
    // Statements.
    Skip,
    Barrier,
    Matmul {
        out: At,
        a: At,
        b: At,
        transposed: bool,
    },
    Seq {
        a: At,
        b: At,
    },
    For {
        over: Loop,
        body: At,
    },
    Store {
        address: At,
        value: At,
    },
    Accumulate {
        op: BinaryOp,
        address: At,
        value: At,
    },
    Output {
        to: At,
        part: Part,
        from: At,
    },
    // Any sort.
    Vec {
        v: At,
        e: At,
        n: At,
        hi: At,
        x: At,
    },
    Rename {
        x: At,
        y: At,
        t: At,
    },
    Fix {
        x: At,
        v: At,
        t: At,
    },
    After {
        s: At,
        t: At,
    },
    Forget {
        of: At,
        s: At,
    },
    // Loop variables and tensors: only ever operands.
    Var {
        lo: At,
        hi: At,
        step: At,
    },
    Tensor(Whole),
    /// A name that only its parent reads.
    Name,
    /// Has no meaning; the error is the one at this position.
    Wrong(usize),
}

/// A tensor as a function of its indices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Whole {
    Stored { address: At },
    Bag { mode: Mode, table: At, indices: At, offsets: At, weights: Option<At> },
    Gather { table: At, indices: At },
    Sddmm { offsets: At, indices: At, a: At, b: At },
    Messages { edge: Map, offsets: At, indices: At, x: At, y: At, scratch: At },
    Triples { score: Score, entities: At, relations: At, heads: At, rels: At, tails: At },
    Blocks { table: At, indices: At },
    Dequantise { q: At, scales: At },
    Cast { to: DType, x: At },
    Map { f: Map, x: At },
    Zip { op: BinaryOp, a: At, b: At },
    Scale { by: At, x: At },
    Bias { x: At, bias: At },
    RowFold { op: BinaryOp, x: At },
    Rows { op: BinaryOp, x: At, m: At },
    Matmul { a: At, b: At, transposed: bool },
    Triangle { x: At },
}
