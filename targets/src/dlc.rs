//! The DLC program: two halves that communicate only through queues.
//!
//! The *access* half is a tree of traversal units (TUs). Each unit walks `lo..hi` by `step`. On the events `beg` (once,
//! before the first iteration), `ite` (every iteration) and `end` (once, after the last) it performs its actions in
//! order: marshal an operand into the data queue, push a callback's token into the control queue, prefetch for the
//! other half, store directly, or traverse a child unit. The *compute* half pops tokens and runs the case of each
//! token; a case pops the operands that were marshalled with its token, in order. A [`Stmt::Walk`] in a case follows a
//! unit that pushes no tokens, and pops in step with it.
//!
//! A program whose access half is empty is a coupled loop nest: [`Program::main`] alone. [`crate::print`] writes the
//! text form, and the compiler reads it; [`crate::verify`] states the laws of a program.

mod address;

pub use address::{Addr, Lanes, Side};

use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};

/// Declares an index type into one of the program's lists.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the position in the program's list.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(/// A symbolic size in [`Program::sizes`].
    SizeId);
id!(/// A tensor in [`Program::tensors`].
    TensorId);
id!(/// A stream in [`Program::streams`].
    StreamId);
id!(/// A traversal unit in [`Program::units`].
    UnitId);
id!(/// An execute-unit register in [`Program::registers`].
    RegisterId);
id!(/// A callback's case in [`Program::cases`].
    CaseId);

/// A whole program. Lists are in definition order; ids are positions in them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Names of symbolic sizes, bound when the program meets its data.
    pub sizes: Vec<String>,
    /// The tensors it reads and writes.
    pub tensors: Vec<TensorDecl>,
    /// The access unit's streams; each uses only streams before it.
    pub streams: Vec<Stream>,
    /// The traversal units; a parent comes before its children.
    pub units: Vec<TraversalUnit>,
    /// The actions that the access unit performs once, in order.
    pub access: Vec<Action>,
    /// The execute unit's registers, vector or scalar.
    pub registers: Vec<Register>,
    /// The statements that the execute unit runs before its compute loop; the whole of a coupled program.
    pub main: Vec<Stmt>,
    /// The compute loop's cases.
    pub cases: Vec<Case>,
}

/// The declaration of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorDecl {
    /// Its name in the model.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<Dim>,
    /// The use that the program makes of it.
    pub purpose: Purpose,
}

/// The use that a program makes of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It is only read, and never changes.
    Input,
    /// It may be written, and its final contents are a result.
    Output,
    /// It may be written, and its final contents are ignored. In a DLC program it is memory of the program's own: no data
    /// is bound to it, so its extents are those declared. What it holds at the start is not part of a program's meaning;
    /// the simulator starts with zeros.
    Scratch,
}

impl Purpose {
    /// Returns the purpose of a tensor that comes from outside, by whether it may be written.
    pub fn of(writable: bool) -> Purpose {
        if writable { Purpose::Output } else { Purpose::Input }
    }
}

impl TensorDecl {
    /// Returns true if the program may write the tensor.
    pub fn writable(&self) -> bool {
        self.purpose != Purpose::Input
    }
}

/// One extent of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// An extent known at compile time.
    Const(u64),
    /// An extent known at run time.
    Size(SizeId),
}

/// The type of a stream or register: `lanes` elements, 1 for a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// The element type.
    pub dtype: DType,
    /// The number of lanes.
    pub lanes: u32,
}

impl Type {
    /// Returns the scalar type of one element.
    pub fn scalar(dtype: DType) -> Type {
        Type { dtype, lanes: 1 }
    }

    /// Returns the size in bytes.
    pub fn bytes(self) -> u64 {
        self.dtype.bytes_of(u64::from(self.lanes))
    }
}

/// A stream of the access unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Its name, unique in the program.
    pub name: String,
    /// The type of its elements.
    pub ty: Type,
    /// The source of its elements.
    pub kind: StreamKind,
}

/// The source of a stream's elements. A stream advances with the innermost unit it depends on.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamKind {
    /// The same constant in every iteration.
    Const(Scalar),
    /// A symbolic size (i64).
    Size(SizeId),
    /// The induction variable of a unit (i64).
    IndVar(UnitId),
    /// Loads through the access unit.
    Mem {
        /// The address loaded.
        addr: Addr<StreamId>,
        /// The caching of the loads.
        hint: Hint,
    },
    /// One scalar stream's element copied into every lane.
    Broadcast(StreamId),
    /// A scalar integer stream converted to i64.
    IndexCast(StreamId),
    /// Arithmetic on two scalar streams of one type.
    Alu {
        /// The operation.
        op: BinaryOp,
        /// The first operand.
        a: StreamId,
        /// The second operand.
        b: StreamId,
    },
}

/// The caching of an access unit's loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// Allocate in the last-level cache: reuse is expected.
    Temporal,
    /// Read through the core's private L2 and allocate there too.
    TemporalL2,
    /// Do not allocate: no reuse is expected.
    NonTemporal,
}

impl Hint {
    /// Returns the name used in every text format.
    pub fn name(self) -> &'static str {
        match self {
            Hint::Temporal => "temporal",
            Hint::TemporalL2 => "temporal-l2",
            Hint::NonTemporal => "non-temporal",
        }
    }

    /// Returns the hint with this name.
    pub fn parse(name: &str) -> Option<Hint> {
        [Hint::Temporal, Hint::TemporalL2, Hint::NonTemporal].into_iter().find(|h| h.name() == name)
    }
}

/// A cache that a prefetch of the execute unit fills, as are those of the levels after it: the first is the nearest to the
/// core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheLevel {
    /// The first level.
    L1,
    /// The second level.
    L2,
    /// The third level, or the last one.
    L3,
}

impl CacheLevel {
    /// All levels, the nearest first.
    pub const ALL: [CacheLevel; 3] = [CacheLevel::L1, CacheLevel::L2, CacheLevel::L3];

    /// Returns the level with this number, from 1 on.
    pub fn of(number: i64) -> Option<CacheLevel> {
        CacheLevel::ALL.into_iter().find(|level| i64::from(level.number()) == number)
    }

    /// Returns the number, from 1 on.
    pub fn number(self) -> u8 {
        match self {
            CacheLevel::L1 => 1,
            CacheLevel::L2 => 2,
            CacheLevel::L3 => 3,
        }
    }

    /// Returns the name used in every text format.
    pub fn name(self) -> &'static str {
        match self {
            CacheLevel::L1 => "l1",
            CacheLevel::L2 => "l2",
            CacheLevel::L3 => "l3",
        }
    }

    /// Returns the level with this name.
    pub fn parse(name: &str) -> Option<CacheLevel> {
        CacheLevel::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// A traversal unit: one loop of the access unit.
#[derive(Clone, Debug, PartialEq)]
pub struct TraversalUnit {
    /// Its name, unique in the program.
    pub name: String,
    /// The first index.
    pub lo: StreamId,
    /// The exclusive upper bound of the indices.
    pub hi: StreamId,
    /// The distance between indices, at least 1.
    pub step: i64,
    /// Actions before the first iteration, also of an empty traversal. May not traverse.
    pub beg: Vec<Action>,
    /// Actions of each iteration.
    pub ite: Vec<Action>,
    /// Actions after the last iteration, also of an empty traversal. May not traverse.
    pub end: Vec<Action>,
}

/// One action of the access unit at an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Marshals the stream's current element into the data queue.
    Operand(StreamId),
    /// Pushes a callback's token into the control queue. The operands of the callback follow it.
    Callback(CaseId),
    /// Loads the memory stream's current element through the caches that its hint names, so that the execute unit finds
    /// it there. Keeps no value; pushes no operand and no token.
    Prefetch(StreamId),
    /// Runs a child unit's traversal.
    Traverse(UnitId),
    /// Writes memory; the execute unit takes no part.
    Store {
        /// The address written.
        addr: Addr<StreamId>,
        /// The value, with as many lanes as the address.
        value: StreamId,
    },
    /// Waits until the execute unit has finished everything pushed so far.
    Barrier,
}

/// A register of the execute unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// Its name, unique in the program.
    pub name: String,
    /// Its type; all bits are zero at the start.
    pub ty: Type,
}

/// A callback: the statements that the compute loop runs for one kind of token.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name, unique in the program.
    pub name: String,
    /// The statements, in order.
    pub body: Vec<Stmt>,
}

/// A statement of the execute unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Assigns a register.
    Set(RegisterId, Expr),
    /// Pops the next operand of the data queue, which has the register's type, into it.
    Pop(RegisterId),
    /// Writes memory; a run's inactive lanes are not written.
    Store(Addr<Expr>, Expr),
    /// `memory := memory op value` at one address, lane by lane.
    Accumulate(BinaryOp, Addr<Expr>, Expr),
    /// Asks for the cache lines of an element or a run, to be had in the cache of a level when a later load needs them.
    /// Nothing waits for it, and an address outside of the tensor has no effect; the address itself is computed like
    /// any other.
    Prefetch(Addr<Expr>, CacheLevel),
    /// A product of matrices of one floating-point type on the execute unit's matrix unit.
    ///
    /// `a` is `[m, k]`; `b` is `[k, n]`, or `[n, k]` if it is taken transposed; `out` is `[m, n]`. With a leading batch
    /// dimension `a` and `out` have three dimensions, and `b` has two or three: a `b` of two dimensions is the same for
    /// every batch. Each element is folded in the order of `k` from +0.0, and every product and every sum is rounded.
    /// An operand is a tensor, whose address has no index, one matrix of a batch of them, whose address has one, or a block
    /// of a matrix, whose address has `rows`. The active rows and columns of blocks must match as extents do.
    Matmul {
        /// The place written, in every element; its tensor is neither operand's.
        out: Addr<Expr>,
        /// The left operand.
        a: Addr<Expr>,
        /// The right operand.
        b: Addr<Expr>,
        /// True if the right operand is taken transposed.
        transposed: bool,
        /// True if the product is added to what `out` holds: each element's fold starts from that in place of +0.0.
        adds: bool,
    },
    /// A loop of the execute unit alone.
    For(Loop),
    /// A loop that follows a unit which pushes no tokens; the bounds are those of the unit.
    Walk(UnitId, Loop),
}

/// The words for products of matrices, each with whether the right operand is transposed and whether the product is
/// added to what the output holds.
pub const PRODUCTS: [(&str, bool, bool); 4] = [
    ("matmul", false, false),
    ("matmul_t", true, false),
    ("matmul_add", false, true),
    ("matmul_t_add", true, true),
];

/// A counted loop of the execute unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The loop variable: holds the index (i64) in the body.
    pub var: RegisterId,
    /// The first index.
    pub lo: Expr,
    /// The exclusive upper bound of the indices.
    pub hi: Expr,
    /// The distance between indices, at least 1.
    pub step: i64,
    /// The statements of each iteration.
    pub body: Vec<Stmt>,
}

/// An expression of the execute unit. Lane counts of operands agree; [`Expr::Broadcast`] and [`Expr::Iota`] turn a
/// scalar into lanes.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A register's value.
    Register(RegisterId),
    /// A scalar constant.
    Const(Scalar),
    /// A symbolic size (i64).
    Size(SizeId),
    /// A load by the execute unit through its own caches.
    Load(Box<Addr<Expr>>),
    /// A function, lane by lane.
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic, lane by lane.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// The second operand if the first (i64) is not 0, else the third, lane by lane; all three are evaluated.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// All lanes folded to a scalar, in the order of [`ember_values::scalar::fold_lanes`]. Lanes that
    /// no load filled hold zero and are folded like the others.
    Fold(BinaryOp, Box<Expr>),
    /// Conversion, lane by lane.
    Cast(DType, Box<Expr>),
    /// One scalar copied into every lane.
    Broadcast(u32, Box<Expr>),
    /// The lanes `base, base + 1, …` (i64).
    Iota(u32, Box<Expr>),
}

impl Expr {
    /// Returns the sum of two expressions.
    pub fn sum(a: Expr, b: Expr) -> Expr {
        Expr::Binary(BinaryOp::Add, Box::new(a), Box::new(b))
    }

    /// Calls `visit` with the expression and everything in it.
    pub fn walk(&self, visit: &mut impl FnMut(&Expr)) {
        visit(self);
        match self {
            Expr::Register(_) | Expr::Const(_) | Expr::Size(_) => {}
            Expr::Load(addr) => addr.expressions().for_each(|index| index.walk(visit)),
            Expr::Unary(_, x)
            | Expr::Fold(_, x)
            | Expr::Cast(_, x)
            | Expr::Broadcast(_, x)
            | Expr::Iota(_, x) => x.walk(visit),
            Expr::Binary(_, a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            Expr::Select(c, a, b) => {
                c.walk(visit);
                a.walk(visit);
                b.walk(visit);
            }
        }
    }
}

impl Program {
    /// Returns the type of an expression of a program whose types fit.
    pub fn type_of(&self, expr: &Expr) -> Type {
        match expr {
            Expr::Register(register) => self.registers[register.index()].ty,
            Expr::Const(value) => Type::scalar(value.dtype()),
            Expr::Size(_) => Type::scalar(DType::I64),
            Expr::Load(addr) => Type {
                dtype: self.tensors[addr.tensor.index()].dtype,
                lanes: addr.lanes.as_ref().map_or(1, |lanes| lanes.count),
            },
            Expr::Unary(_, x) | Expr::Select(_, x, _) => self.type_of(x),
            Expr::Binary(op, a, _) => {
                let Type { dtype, lanes } = self.type_of(a);
                Type { dtype: op.result(dtype), lanes }
            }
            Expr::Fold(_, x) => Type::scalar(self.type_of(x).dtype),
            Expr::Cast(dtype, x) => Type { dtype: *dtype, lanes: self.type_of(x).lanes },
            Expr::Broadcast(lanes, x) => Type { dtype: self.type_of(x).dtype, lanes: *lanes },
            Expr::Iota(lanes, _) => Type { dtype: DType::I64, lanes: *lanes },
        }
    }

    /// Returns the tensors.
    pub fn ids(&self) -> impl Iterator<Item = TensorId> + use<> {
        (0..self.tensors.len() as u32).map(TensorId)
    }

    /// Returns true if the program has no access half.
    pub fn is_coupled(&self) -> bool {
        self.access.is_empty()
    }
}
