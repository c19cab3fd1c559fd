//! The state of a lowering: the program so far, the enclosing loops, and the statements of the case in progress.

use super::frames::{Frame, FrameKind, Level as AccessLevel};
use super::names::Names;
use super::terms::Terms;
use super::values::Typed;
use super::{DecoupleError, ModelContext};
use egg::Id;
use ember_language::rules::{Operators, Unit};
use ember_language::sexp::deeper;
use ember_language::term::Term;
use ember_targets::dlc::{
    CacheLevel, Program, Purpose, Register, RegisterId, Stmt, Stream, StreamId, StreamKind,
    TensorDecl, Type, UnitId,
};
use ember_values::primitive::form::Form;
use std::collections::BTreeMap;

/// The maximum loop depth, which allows programs to be traversed recursively.
const MAX_LOOPS: usize = 256;
/// The maximum number of nodes to lower, with shared nodes counted at each use.
const MAX_WORK: usize = 2_000_000;

/// A lowering in progress.
pub(crate) struct Lowering<'a> {
    pub(super) terms: Terms<'a>,
    pub(super) context: &'a ModelContext,
    /// The unit of values and statements: the execute unit, or `None` for the only processor of a coupled program.
    pub(super) runs_on: Option<Unit>,
    pub(super) program: Program,
    /// Every stream, by the text of its definition.
    known: BTreeMap<String, StreamId>,
    /// The innermost unit that each stream depends on.
    pub(super) innermost: Vec<Option<UnitId>>,
    /// The enclosing loops, outermost first; the first frame is the program.
    pub(super) frames: Vec<Frame>,
    /// The statements of the current body.
    pub(super) block: Vec<Stmt>,
    /// The registers of vectors that the current statement uses more than once. There is one map per enclosing loop,
    /// because a value computed inside a loop is not available outside of it.
    pub(super) kept: Vec<BTreeMap<Id, Typed>>,
    pub(super) stream_names: Names,
    pub(super) unit_names: Names,
    pub(super) register_names: Names,
    pub(super) case_names: Names,
    work: usize,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(
        operators: &'a Operators,
        term: &Term,
        context: &'a ModelContext,
        runs_on: Option<Unit>,
    ) -> Lowering<'a> {
        Lowering {
            terms: Terms::new(operators, term),
            context,
            runs_on,
            program: Program {
                name: context.name.clone(),
                sizes: context.sizes.clone(),
                tensors: context.tensors.iter().map(of_the_model).collect(),
                ..Program::default()
            },
            known: BTreeMap::new(),
            innermost: Vec::new(),
            frames: vec![Frame {
                var: None,
                kind: FrameKind::Access(AccessLevel::default()),
                popped: BTreeMap::new(),
                fetched: BTreeMap::new(),
                held: BTreeMap::new(),
            }],
            block: Vec::new(),
            kept: Vec::new(),
            stream_names: Names::default(),
            unit_names: Names::default(),
            register_names: Names::default(),
            case_names: Names::default(),
            work: 0,
        }
    }

    /// Lowers a loop nest to `main` alone.
    pub(crate) fn coupled(
        operators: &'a Operators,
        term: &Term,
        context: &'a ModelContext,
    ) -> Result<Program, DecoupleError> {
        let mut lowering = Lowering::new(operators, term, context, None);
        lowering.statement(lowering.terms.root())?;
        lowering.program.main = lowering.block;
        Ok(lowering.program)
    }

    /// Runs `step` with enough stack, because terms may nest as deep as the reader allows, and counts it.
    pub(super) fn deeper<T>(
        &mut self,
        id: Id,
        step: impl FnOnce(&mut Self) -> Result<T, DecoupleError>,
    ) -> Result<T, DecoupleError> {
        self.work += 1;
        if self.work > MAX_WORK {
            return Err(self
                .terms
                .error(id, format!("the program has more than {MAX_WORK} operators")));
        }
        deeper(|| step(self))
    }

    /// Enters a loop.
    pub(super) fn enter(&mut self, var: Id, kind: FrameKind) -> Result<(), DecoupleError> {
        if !matches!(self.terms.form(var), Some(Form::Variable { .. })) {
            return Err(self.terms.error(var, "is not a loop variable"));
        }
        if self.frames.len() > MAX_LOOPS {
            return Err(self.terms.error(var, format!("loops nest deeper than {MAX_LOOPS}")));
        }
        let (popped, fetched, held) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        self.frames.push(Frame { var: Some(var), kind, popped, fetched, held });
        Ok(())
    }

    /// Finds the innermost loop over a variable.
    pub(super) fn frame_of(&self, var: Id) -> Result<usize, DecoupleError> {
        self.frames
            .iter()
            .rposition(|f| f.var == Some(var))
            .ok_or_else(|| self.terms.error(var, "no loop around here binds this variable"))
    }

    /// Returns a loop's step, which must be a literal.
    pub(super) fn step(&self, id: Id) -> Result<i64, DecoupleError> {
        self.terms
            .int(id)
            .filter(|&n| n >= 1)
            .ok_or_else(|| self.terms.error(id, "a loop's step is a literal of at least 1"))
    }

    /// Returns a number of lanes, which must be a literal.
    pub(super) fn lanes(&self, id: Id) -> Result<u32, DecoupleError> {
        let count = self.terms.int(id).and_then(|n| u32::try_from(n).ok()).filter(|&n| n >= 1);
        count.ok_or_else(|| {
            self.terms.error(id, "a number of lanes is a literal of at least 1 that fits 32 bits")
        })
    }

    /// Returns the cache of a level, which must be a literal.
    pub(super) fn level(&self, id: Id) -> Result<CacheLevel, DecoupleError> {
        let level = self.terms.int(id).and_then(CacheLevel::of);
        level.ok_or_else(|| self.terms.error(id, "the level of a cache is the literal 1, 2 or 3"))
    }

    /// Declares a new register.
    pub(super) fn register(&mut self, base: &str, ty: Type) -> RegisterId {
        let name = self.register_names.fresh(base);
        self.program.registers.push(Register { name, ty });
        RegisterId(self.program.registers.len() as u32 - 1)
    }

    /// Returns the stream of this kind, which is created on first use.
    pub(super) fn intern(
        &mut self,
        base: &str,
        ty: Type,
        kind: StreamKind,
        innermost: Option<UnitId>,
    ) -> StreamId {
        // The debug form distinguishes constants by value and zeros by sign, and has one NaN.
        let key = format!("{ty} {kind:?}");
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let name = self.stream_names.fresh(base);
        let id = StreamId(self.program.streams.len() as u32);
        self.program.streams.push(Stream { name, ty, kind });
        self.innermost.push(innermost);
        self.known.insert(key, id);
        id
    }
}

/// Returns the declaration of a tensor as it is in the model: what a program computes on the way has its data there, too.
fn of_the_model(tensor: &TensorDecl) -> TensorDecl {
    TensorDecl { purpose: Purpose::of(tensor.writable()), ..tensor.clone() }
}
