//! The operations that terms are compiled to: one for all operators that mean the same, on whatever
//! level they stand. Which operator is which operation is in [`super::program`].

use ember_targets::scalar::{BinaryOp, DType, Scalar};

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
    Binary {
        op: BinaryOp,
        a: At,
        b: At,
        stream: bool,
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
        row: At,
        column: At,
    },
    // Addresses.
    Root {
        tensor: u32,
        writable: bool,
    },
    Index {
        address: At,
        index: At,
    },
    // Statements.
    Skip,
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
    // Loop variables and tensors: only ever operands.
    Var {
        lo: At,
        hi: At,
        step: At,
    },
    Bag {
        mode: Mode,
        table: At,
        indices: At,
        offsets: At,
        weights: Option<At>,
    },
    Gather {
        table: At,
        indices: At,
    },
    /// A name that only its parent reads.
    Name,
    /// Has no meaning; the error is the one at this position.
    Wrong(usize),
}
