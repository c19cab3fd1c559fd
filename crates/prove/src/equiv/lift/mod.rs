//! Lifts a DLC program: reads its two halves together as one statement of one processor.
//!
//! Both halves are executed side by side on terms instead of values: a term that one half marshals appears where the
//! other half pops it. A loop body is executed once, with a fresh word for the content of each register at the start of
//! an iteration. The content at the end classifies the register: unchanged, the loop's own counter, a reduction, or a
//! value that no later iteration reads. In any other case the program is not a statement, and the reason is reported.
//!
//! The verifier has proved that the two halves do not disturb each other, so that the order of the access unit's
//! actions is a valid order for everything.

mod products;
mod values;
mod whole;
mod writes;

use crate::chains::Terms;
use egg::{Id, Language};
use ember_language::make::Make;
use ember_language::rules::Operators;
use ember_language::sexp::deeper;
use ember_language::term::{Node, Term};
use ember_targets::dlc::{Action, Addr, Expr, Loop, Program, RegisterId, Stmt, TensorId, UnitId};
use ember_values::primitive::form::{self, Form, Operation};
use ember_values::scalar::{BinaryOp, Linear};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;
use writes::{written, written_by};

pub(super) use whole::{of_strips, widened};

/// The reason why a DLC program cannot be read as a statement.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum NoStatement {
    #[error("an operand that no callback pops")]
    UnpoppedOperand,
    #[error("an operand that a walk does not pop")]
    OperandOfWalk,
    #[error("a pop that meets no operand")]
    PopOfNothing,
    #[error("a walk that meets no traversal")]
    WalkOfNothing,
    #[error("a walk of a unit that does something at its ends")]
    WalkWithEnds,
    #[error("a barrier inside of a loop")]
    BarrierInLoop,
    #[error("a stream of a loop that does not run")]
    IdleLoop,
    #[error("a register carries a value from one iteration to the next")]
    Carried,
    #[error("what the register `{0}` holds where it is read is no value of the loops around")]
    Register(String),
    #[error(
        "a product of blocks other than the same rows of two matrices, columns of the output, or columns that are added"
    )]
    Blocks,
    #[error("a fold over lanes that may be inactive")]
    InactiveFold,
    #[error("lanes that are stored and may not have been loaded")]
    UnloadedLanes,
}

/// Returns the statement of a verified program, or the reason why it is none.
pub fn lifted(program: &Program, operators: &Operators) -> Result<Term, NoStatement> {
    let mut lift = Lift {
        program,
        operators,
        made: Terms::default(),
        registers: vec![None; program.registers.len()],
        units: BTreeMap::new(),
        loops: 0,
        words: 0,
        wrote: vec![BTreeSet::new()],
        writing: BTreeSet::new(),
        before: BTreeSet::new(),
    };
    let segments: Vec<&[Action]> = program.access.split(|a| *a == Action::Barrier).collect();
    let mut parts = Vec::new();
    for (at, actions) in segments.iter().enumerate() {
        lift.writing = BTreeSet::new();
        if at == 0 {
            written(program, &program.main, &mut lift.writing);
        }
        written_by(program, actions, &mut lift.writing);
        if at == 0 {
            lift.body(&program.main, &mut Feed::default(), &mut parts)?;
        } else {
            parts.push(lift.make().barrier());
        }
        lift.level(actions, &mut parts)?;
        lift.before.append(&mut lift.writing);
    }
    let root = lift.make().sequence(&parts);
    lift.lanes_fit(root)?;
    Ok(Terms::of(&lift.made.finish(), root))
}

/// The actions that the access unit hands to a body, in order.
#[derive(Default)]
struct Feed<'a> {
    actions: &'a [Action],
}

impl<'a> Feed<'a> {
    /// Returns the next action that a body observes.
    fn next(&mut self) -> Option<&'a Action> {
        while let Some((first, rest)) = self.actions.split_first() {
            self.actions = rest;
            if !matches!(first, Action::Prefetch(_)) {
                return Some(first);
            }
        }
        None
    }
}

struct Lift<'a> {
    program: &'a Program,
    operators: &'a Operators,
    made: Terms,
    /// The content of each register; `None` if it must not be read.
    registers: Vec<Option<Id>>,
    /// The loop variables of the units that are running.
    units: BTreeMap<UnitId, Id>,
    /// The number of loops so far.
    loops: i64,
    /// The number of words used so far.
    words: usize,
    /// For each enclosing loop, the tensors written since it began.
    wrote: Vec<BTreeSet<TensorId>>,
    /// The tensors written between the enclosing barriers.
    writing: BTreeSet<TensorId>,
    /// The tensors written before the last barrier.
    before: BTreeSet<TensorId>,
}

/// A function that appends the statements of one iteration.
type Body<'b, 'p> = dyn FnMut(&mut Lift<'p>, &mut Vec<Id>) -> Result<(), NoStatement> + 'b;

/// The bounds and step of a loop.
#[derive(Clone, Copy)]
struct Bounds {
    lo: Id,
    hi: Id,
    step: i64,
}

impl<'p> Lift<'p> {
    /// Returns the builder of terms of one processor.
    fn make(&mut self) -> Make<'p, impl FnMut(Node) -> Id> {
        Make::new(self.operators, |node| self.made.add(node))
    }

    /// Returns the operands of a term of a primitive, in the order of its row.
    fn form(&self, id: Id) -> Option<Form<Id>> {
        self.operators.form(self.made.get(id)?)
    }

    /// Returns the operands of a sum.
    fn sum(&self, id: Id) -> Option<[Id; 2]> {
        self.operators.linear(self.made.get(id)?, Linear::Sum)
    }

    fn node(&self, id: Id) -> Node {
        // Every id was returned by `made`, so that the default is never used.
        self.made.get(id).cloned().unwrap_or_else(|| Node::int(0))
    }

    /// Appends the statements of one level of the access unit, including the callbacks that it calls.
    fn level(&mut self, actions: &[Action], out: &mut Vec<Id>) -> Result<(), NoStatement> {
        let mut feed = Feed { actions };
        while let Some(action) = feed.next() {
            match action {
                Action::Callback(case) => {
                    let body = &self.program.cases[case.index()].body;
                    deeper(|| self.body(body, &mut feed, out))?;
                }
                Action::Traverse(unit) => self.traversed(*unit, out)?,
                Action::Store { addr, value } => {
                    let value = self.stream(*value)?;
                    let address = self.place(addr, true, &mut |l, s| l.stream(*s))?;
                    self.writes(addr.tensor, address, value, None, out)?;
                }
                Action::Operand(_) => return Err(NoStatement::UnpoppedOperand),
                Action::Barrier => return Err(NoStatement::BarrierInLoop),
                Action::Prefetch(_) => {}
            }
        }
        Ok(())
    }

    /// Appends the statements of a unit's traversal, including its callbacks.
    fn traversed(&mut self, id: UnitId, out: &mut Vec<Id>) -> Result<(), NoStatement> {
        let unit = &self.program.units[id.index()];
        self.level(&unit.beg, out)?;
        let bounds = self.unit(id)?;
        self.looped(bounds, (None, Some(id)), out, &mut |l, inner| {
            deeper(|| l.level(&unit.ite, inner))
        })?;
        self.level(&unit.end, out)
    }

    fn unit(&mut self, id: UnitId) -> Result<Bounds, NoStatement> {
        let unit = &self.program.units[id.index()];
        let (lo, hi) = (self.stream(unit.lo)?, self.stream(unit.hi)?);
        Ok(Bounds { lo, hi, step: unit.step })
    }

    /// Appends the statements of a body of the execute unit.
    fn body(
        &mut self,
        body: &[Stmt],
        feed: &mut Feed<'_>,
        out: &mut Vec<Id>,
    ) -> Result<(), NoStatement> {
        for statement in body {
            match statement {
                Stmt::Set(register, value) => {
                    let value = self.value(value)?;
                    self.registers[register.index()] = Some(value);
                }
                Stmt::Pop(register) => {
                    let Some(Action::Operand(stream)) = feed.next() else {
                        return Err(NoStatement::PopOfNothing);
                    };
                    let value = self.stream(*stream)?;
                    self.registers[register.index()] = Some(value);
                }
                Stmt::Store(addr, value) => self.stored(None, addr, value, out)?,
                Stmt::Accumulate(op, addr, value) => {
                    self.stored(Some(*op), addr, value, out)?;
                }
                // What is only brought nearer changes no value.
                Stmt::Prefetch(..) => {}
                Stmt::Matmul { out: to, a, b, transposed, adds } => {
                    let product = self.product([to, a, b], (*transposed, *adds))?;
                    out.push(product);
                    self.forget(to.tensor);
                }
                Stmt::For(Loop { var, lo, hi, step, body }) => {
                    let bounds = Bounds { lo: self.value(lo)?, hi: self.value(hi)?, step: *step };
                    self.looped(bounds, (Some(*var), None), out, &mut |l, inner| {
                        deeper(|| l.body(body, &mut Feed::default(), inner))
                    })?;
                }
                Stmt::Walk(unit, Loop { var, body, .. }) => {
                    match feed.next() {
                        Some(Action::Traverse(next)) if next == unit => {}
                        _ => return Err(NoStatement::WalkOfNothing),
                    }
                    let actions = &self.program.units[unit.index()];
                    if !actions.beg.is_empty() || !actions.end.is_empty() {
                        return Err(NoStatement::WalkWithEnds);
                    }
                    let bounds = self.unit(*unit)?;
                    self.looped(bounds, (Some(*var), Some(*unit)), out, &mut |l, inner| {
                        deeper(|| {
                            let mut feed = Feed { actions: &actions.ite };
                            l.body(body, &mut feed, inner)?;
                            match feed.next() {
                                None => Ok(()),
                                Some(_) => Err(NoStatement::OperandOfWalk),
                            }
                        })
                    })?;
                }
            }
        }
        Ok(())
    }

    fn stored(
        &mut self,
        op: Option<BinaryOp>,
        addr: &Addr<Expr>,
        value: &Expr,
        out: &mut Vec<Id>,
    ) -> Result<(), NoStatement> {
        let value = self.value(value)?;
        let address = self.place(addr, true, &mut |l, e| l.value(e))?;
        self.writes(addr.tensor, address, value, op, out)
    }

    fn writes(
        &mut self,
        tensor: TensorId,
        address: Id,
        value: Id,
        op: Option<BinaryOp>,
        out: &mut Vec<Id>,
    ) -> Result<(), NoStatement> {
        out.push(self.make().write(op, address, value));
        self.forget(tensor);
        Ok(())
    }

    /// Invalidates registers that were loaded from a tensor: after a write to it, their terms would read the new
    /// contents.
    fn forget(&mut self, tensor: TensorId) {
        if let Some(wrote) = self.wrote.last_mut() {
            wrote.insert(tensor);
        }
        for at in 0..self.registers.len() {
            if self.registers[at].is_some_and(|value| self.reads(value, &BTreeSet::from([tensor])))
            {
                self.registers[at] = None;
            }
        }
    }

    /// Returns true if evaluating a term reads one of these tensors.
    fn reads(&self, term: Id, tensors: &BTreeSet<TensorId>) -> bool {
        let names: BTreeSet<String> =
            tensors.iter().map(|t| format!("%{}", self.program.tensors[t.index()].name)).collect();
        self.mentions(term, |name| names.contains(name))
    }

    /// Returns true if a term mentions a word.
    fn mentions(&self, term: Id, word: impl Fn(&str) -> bool) -> bool {
        let mut open = vec![term];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            let Some(node) = self.made.get(id) else { continue };
            if node.children().is_empty() && node.name().is_some_and(&word) {
                return true;
            }
            open.extend(node.children().iter().filter(|c| seen.insert(**c)));
        }
        false
    }

    /// Appends a loop; `body` appends the statements of one iteration.
    fn looped(
        &mut self,
        Bounds { lo, hi, step }: Bounds,
        (register, unit): (Option<RegisterId>, Option<UnitId>),
        out: &mut Vec<Id>,
        body: &mut Body<'_, 'p>,
    ) -> Result<(), NoStatement> {
        // Each loop has a name of its own, so that a value that leaves its loop is not captured by another.
        let number = self.loops;
        self.loops += 1;
        let stride = self.make().int(step);
        let variable = self.make().variable(number, [lo, hi, stride]);
        let index = self.make().iv(variable);
        let outside = self.registers.clone();
        let mut words: Vec<Option<Id>> = Vec::with_capacity(outside.len());
        for value in &outside {
            let word = format!("@{}", self.words);
            self.words += usize::from(value.is_some());
            words.push(value.map(|_| self.make().word(&word)));
        }
        self.registers.clone_from(&words);
        if let Some(register) = register {
            self.registers[register.index()] = Some(index);
        }
        let around = unit.and_then(|unit| self.units.insert(unit, variable));
        self.wrote.push(BTreeSet::new());
        let mut inner = Vec::new();
        body(self, &mut inner)?;
        let wrote = self.wrote.pop().unwrap_or_default();
        if let Some(unit) = unit {
            self.units.remove(&unit);
            around.map(|variable| self.units.insert(unit, variable));
        }
        let after = std::mem::replace(&mut self.registers, vec![None; outside.len()]);

        // Each register is classified by its content at the end of the iteration.
        let mut means: FxHashMap<Id, Id> = FxHashMap::default();
        let mut folds: Vec<(usize, BinaryOp, Id, Id)> = Vec::new();
        for (at, (before, word)) in outside.iter().zip(&words).enumerate() {
            let (Some(before), Some(word)) = (*before, *word) else { continue };
            let stale = self.reads(before, &wrote);
            match after[at] {
                Some(same) if same == word && !stale => {
                    means.insert(word, before);
                    self.registers[at] = Some(before);
                }
                Some(end) if before == lo && self.counts(end, word, step) => {
                    means.insert(word, index);
                }
                Some(end) => {
                    if let (Some((op, x)), false) = (self.folds(end, word), stale) {
                        folds.push((at, op, x, before));
                    }
                }
                None => {}
            }
        }
        let mut done: FxHashMap<Id, Id> = FxHashMap::default();
        let empty = inner.is_empty();
        let whole = self.make().sequence(&inner);
        let whole = self.put(whole, &means, &mut done);
        let own = |lift: &Self, term: Id| {
            let names: BTreeSet<&str> =
                words.iter().flatten().filter_map(|w| lift.made.get(*w)?.name()).collect();
            lift.mentions(term, |name| names.contains(name))
        };
        if own(self, whole) {
            return Err(NoStatement::Carried);
        }
        let each =
            form::Loop { variable, lo, hi, step: stride, body: whole, folds: None, access: None };
        if !empty {
            out.push(self.make().looped(each));
        }
        for (at, op, x, before) in folds {
            let x = self.put(x, &means, &mut done);
            if !own(self, x) && !self.reads(x, &wrote) {
                let op = self.make().word(op.name());
                let folds = Some((op, before));
                let fold = self.make().looped(form::Loop { body: x, folds, ..each });
                self.registers[at] = Some(fold);
            }
        }
        if let Some(around) = self.wrote.last_mut() {
            around.extend(wrote);
        }
        Ok(())
    }

    /// Returns true if a term is the word plus the step.
    fn counts(&self, end: Id, word: Id, step: i64) -> bool {
        let is_step = |id: Id| self.node(id) == Node::int(step);
        self.sum(end).is_some_and(|[a, b]| (a == word && is_step(b)) || (b == word && is_step(a)))
    }

    /// Returns the operation and its other operand if a term is an operation applied to the word.
    fn folds(&self, end: Id, word: Id) -> Option<(BinaryOp, Id)> {
        let Form::Binary(Operation::Is(op), operands) = self.form(end)? else { return None };
        match operands {
            [a, x] if a == word && !op.compares() => Some((op, x)),
            [x, b] if b == word && op.folds() => Some((op, x)),
            _ => None,
        }
    }

    /// Replaces words by terms.
    fn put(&mut self, term: Id, means: &FxHashMap<Id, Id>, done: &mut FxHashMap<Id, Id>) -> Id {
        let mut open = vec![term];
        while let Some(&at) = open.last() {
            if done.contains_key(&at) {
                open.pop();
                continue;
            }
            if let Some(new) = means.get(&at) {
                done.insert(at, *new);
                continue;
            }
            let node = self.node(at);
            let missing: Vec<Id> =
                node.children().iter().filter(|c| !done.contains_key(c)).copied().collect();
            if missing.is_empty() {
                let new = self.made.add(node.map_children(|c| done[&c]));
                done.insert(at, new);
            } else {
                open.extend(missing);
            }
        }
        done[&term]
    }
}
