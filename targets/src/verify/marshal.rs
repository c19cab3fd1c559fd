//! Marshalling balance: both halves are run side by side on symbolic values, in program order, and every pop must meet
//! its push.
//!
//! A loop's body is run from a state that holds at the start of every iteration: registers that the loop writes have no
//! known value there, except counters. A counter is assumed to equal the unit's induction variable, and the body must
//! show that it does so again after a step.

use super::summary::{Class, classes, written_by, written_by_units};
use super::symbols::{Symbol, Symbols};
use super::{Errors, Kind, Part, Place};
use crate::dlc::{
    Action, Addr, CaseId, Expr, Loop, Program, RegisterId, Stmt, StreamId, Type, UnitId,
};
use ember_values::scalar::{BinaryOp, Scalar};
use std::collections::BTreeSet;

/// The maximum number of statements run, counted each time; no target holds a longer program.
const MAX_STEPS: usize = 1_000_000;

/// Checks that pushes and pops balance, that walks follow their units, and that registers are set before use.
pub fn check(program: &Program, errors: &mut Errors) {
    let mut symbols = Symbols::default();
    let streams = symbols.streams(program);
    let registers = program.registers.len();
    let mut checker = Checker {
        program,
        classes: classes(program),
        written: written_by_units(program),
        errors,
        symbols,
        streams,
        set: vec![false; registers],
        value: vec![None; registers],
        running: Vec::new(),
        steps: 0,
    };
    let main = Place::new(Part::Main, "");
    let mut nothing = Cursor::new(&[], main.clone());
    checker.body(&program.main, &main, &mut Feed::Operands(&mut nothing));
    checker.actions(&program.access, &Place::new(Part::Access, ""));
    if checker.steps >= MAX_STEPS {
        let place = Place::new(Part::Program, &program.name);
        errors.push(Kind::Limit, &place, format!("runs more than {MAX_STEPS} statements"));
    }
}

/// The actions that a case or a walk's body pops from, and the current position.
struct Cursor<'a> {
    actions: &'a [Action],
    at: usize,
    place: Place,
    /// True if an error has been reported, so that errors that follow from it are not.
    broken: bool,
}

impl<'a> Cursor<'a> {
    fn new(actions: &'a [Action], place: Place) -> Cursor<'a> {
        Cursor { actions, at: 0, place, broken: false }
    }
}

/// The source of a body's pops.
enum Feed<'c, 'a> {
    Operands(&'c mut Cursor<'a>),
    /// The body of an `exe.for`: nothing may be popped.
    Nothing,
}

struct Checker<'a, 'e> {
    program: &'a Program,
    classes: Vec<Class>,
    written: Vec<BTreeSet<RegisterId>>,
    errors: &'e mut Errors,
    symbols: Symbols,
    streams: Vec<Option<Symbol>>,
    /// True for each register that is set on every path to this point.
    set: Vec<bool>,
    /// The known value of each register.
    value: Vec<Option<Symbol>>,
    /// The loop variables of the enclosing loops.
    running: Vec<RegisterId>,
    steps: usize,
}

impl<'a> Checker<'a, '_> {
    /// Runs a list of actions, callback by callback.
    fn actions(&mut self, actions: &'a [Action], place: &Place) {
        let mut at = 0;
        while let Some(action) = actions.get(at) {
            let here = place.then(at);
            at += 1;
            match action {
                Action::Callback(case) => {
                    let rest = &actions[at..];
                    let own = rest.iter().take_while(|a| self.continues(a)).count();
                    self.callback(*case, &rest[..own], &here);
                    at += own;
                }
                Action::Operand(stream) => {
                    let name = &self.program.streams[stream.index()].name;
                    let message = format!("marshals `{name}` without a callback before it here");
                    self.errors.push(Kind::Marshalling, &here, message);
                }
                Action::Traverse(unit) => match self.classes[unit.index()] {
                    Class::Silent => {}
                    Class::Tokens => self.unit(*unit),
                    Class::Operands => {
                        let name = &self.program.units[unit.index()].name;
                        let message = format!("unit `{name}` marshals, and no case walks it");
                        self.errors.push(Kind::Marshalling, &here, message);
                    }
                },
                Action::Barrier => {
                    for value in &mut self.value {
                        *value = value.filter(|v| !self.symbols.is_mutable(*v));
                    }
                }
                Action::Prefetch(_) | Action::Store { .. } => {}
            }
        }
    }

    /// Returns true if an action belongs to the preceding callback.
    fn continues(&self, action: &Action) -> bool {
        match action {
            Action::Operand(_) | Action::Prefetch(_) | Action::Store { .. } => true,
            Action::Traverse(unit) => self.classes[unit.index()] != Class::Tokens,
            Action::Callback(_) | Action::Barrier => false,
        }
    }

    /// Runs a unit that pushes tokens.
    fn unit(&mut self, id: UnitId) {
        self.steps += self.state_cost();
        if self.steps >= MAX_STEPS {
            return;
        }
        let unit = &self.program.units[id.index()];
        let place = Place::new(Part::Unit, &unit.name);
        self.actions(&unit.beg, &place.then(0));
        let (set, value) = (self.set.clone(), self.value.clone());
        let written = self.written[id.index()].clone();
        let lo = self.streams[unit.lo.index()];
        let mut supposed: Vec<RegisterId> =
            written.iter().copied().filter(|r| lo.is_some() && value[r.index()] == lo).collect();
        let ind_var = self.symbols.ind_var(id);
        let step = self.symbols.constant(Scalar::I64(unit.step));
        let next = self.symbols.binary(BinaryOp::Add, ind_var, step);
        let errors = self.errors.list.len();
        loop {
            self.forget(&written);
            supposed.iter().for_each(|r| self.value[r.index()] = Some(ind_var));
            self.actions(&unit.ite, &place.then(1));
            let counters = supposed.len();
            supposed.retain(|r| self.value[r.index()] == Some(next));
            if supposed.len() == counters {
                break;
            }
            // Some registers were no counters of this unit: discard the errors that followed from the assumption.
            self.errors.list.truncate(errors);
            (self.set, self.value) = (set.clone(), value.clone());
        }
        // The loop may not run at all.
        (self.set, self.value) = (set, value);
        self.forget(&written);
        self.actions(&unit.end, &place.then(2));
    }

    /// Returns the cost of copying the state, in statements.
    fn state_cost(&self) -> usize {
        1 + self.set.len() / 64
    }

    fn forget(&mut self, written: &BTreeSet<RegisterId>) {
        written.iter().for_each(|r| self.value[r.index()] = None);
    }

    fn callback(&mut self, case: CaseId, operands: &'a [Action], pushed: &Place) {
        let case = &self.program.cases[case.index()];
        let place = Place::new(Part::Case, &case.name);
        let mut cursor = Cursor::new(operands, pushed.clone());
        self.body(&case.body, &place, &mut Feed::Operands(&mut cursor));
        self.left_over(&cursor, &format!("case `{}`", case.name));
    }

    /// Reports operands that are marshalled but not popped.
    fn left_over(&mut self, cursor: &Cursor, by: &str) {
        if cursor.broken {
            return;
        }
        for action in &cursor.actions[cursor.at..] {
            let what = match action {
                Action::Operand(stream) => {
                    format!("operand `{}`", self.program.streams[stream.index()].name)
                }
                Action::Traverse(unit) if self.classes[unit.index()] == Class::Operands => {
                    format!("what unit `{}` marshals", self.program.units[unit.index()].name)
                }
                _ => continue,
            };
            let message = format!("{what} is never popped by {by}");
            self.errors.push(Kind::Marshalling, &cursor.place, message);
            return;
        }
    }

    fn body(&mut self, body: &'a [Stmt], place: &Place, feed: &mut Feed<'_, 'a>) {
        for (at, stmt) in body.iter().enumerate() {
            self.steps += 1;
            if self.steps >= MAX_STEPS {
                return;
            }
            let place = &place.then(at);
            match stmt {
                Stmt::Set(register, value) => {
                    self.reads(value, place);
                    let value = self.symbol(value);
                    self.assign(*register, value, place);
                }
                Stmt::Pop(register) => self.pop(*register, place, feed),
                Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
                    self.reads_address(addr, place);
                    self.reads(value, place);
                }
                Stmt::Prefetch(addr, _) => self.reads_address(addr, place),
                Stmt::Matmul { out, a, b, .. } => {
                    [out, a, b].into_iter().for_each(|addr| self.reads_address(addr, place));
                }
                Stmt::For(counted) => self.counted(counted, None, place, &mut Feed::Nothing),
                Stmt::Walk(unit, counted) => self.walk(*unit, counted, place, feed),
            }
        }
    }

    fn pop(&mut self, register: RegisterId, place: &Place, feed: &mut Feed<'_, 'a>) {
        let declared = &self.program.registers[register.index()];
        let Feed::Operands(cursor) = feed else {
            let message = format!("pops `{}` inside a loop of the execute unit", declared.name);
            self.errors.push(Kind::Marshalling, place, message);
            return self.assign(register, None, place);
        };
        let next = self.next(cursor, None);
        let value = match next {
            Some(Action::Operand(stream)) => {
                cursor.at += 1;
                let ty = self.program.streams[stream.index()].ty;
                self.popped_type(*stream, ty, declared.ty, &declared.name, place);
                self.streams[stream.index()]
            }
            other => {
                if !cursor.broken {
                    let found = match other {
                        Some(Action::Traverse(unit)) => {
                            format!("unit `{}` is traversed", self.program.units[unit.index()].name)
                        }
                        _ => "nothing more is marshalled".to_owned(),
                    };
                    let message =
                        format!("pops `{}`, and {found} by {}", declared.name, cursor.place);
                    self.errors.push(Kind::Marshalling, place, message);
                }
                cursor.broken = true;
                None
            }
        };
        self.assign(register, value, place);
    }

    fn popped_type(
        &mut self,
        stream: StreamId,
        pushed: Type,
        popped: Type,
        register: &str,
        place: &Place,
    ) {
        if pushed != popped {
            let stream = &self.program.streams[stream.index()].name;
            let message =
                format!("pops `{register}` of {popped}, and `{stream}` of {pushed} is marshalled");
            self.errors.push(Kind::Marshalling, place, message);
        }
    }

    /// Returns the next action that concerns the execute unit; `walked` does even if it pushes nothing.
    fn next(&self, cursor: &mut Cursor<'a>, walked: Option<UnitId>) -> Option<&'a Action> {
        while let Some(action) = cursor.actions.get(cursor.at) {
            let silent = match action {
                Action::Traverse(unit) => {
                    self.classes[unit.index()] == Class::Silent && Some(*unit) != walked
                }
                Action::Prefetch(_) | Action::Store { .. } | Action::Barrier => true,
                Action::Operand(_) | Action::Callback(_) => false,
            };
            if !silent {
                return Some(action);
            }
            cursor.at += 1;
        }
        None
    }

    fn walk(&mut self, id: UnitId, counted: &'a Loop, place: &Place, feed: &mut Feed<'_, 'a>) {
        let unit = &self.program.units[id.index()];
        match feed {
            Feed::Nothing => {
                let message = format!("walks `{}` inside a loop of the execute unit", unit.name);
                self.errors.push(Kind::Marshalling, place, message);
            }
            Feed::Operands(cursor) => match self.next(cursor, Some(id)) {
                Some(Action::Traverse(found)) if *found == id => cursor.at += 1,
                found => {
                    if !cursor.broken {
                        let found = match found {
                            Some(Action::Operand(s)) => {
                                format!("`{}` is marshalled", self.program.streams[s.index()].name)
                            }
                            Some(Action::Traverse(u)) => {
                                format!("`{}` is traversed", self.program.units[u.index()].name)
                            }
                            _ => "nothing is traversed".to_owned(),
                        };
                        let message =
                            format!("walks `{}`, and {found} by {}", unit.name, cursor.place);
                        self.errors.push(Kind::Marshalling, place, message);
                    }
                    cursor.broken = true;
                }
            },
        }
        for (bound, of_unit, name) in
            [(&counted.lo, unit.lo, "first index"), (&counted.hi, unit.hi, "bound")]
        {
            let (here, there) = (self.symbol(bound), self.streams[of_unit.index()]);
            if here.is_none() || here != there {
                let stream = &self.program.streams[of_unit.index()].name;
                let message = format!(
                    "the {name} of the walk is not provably `{stream}`, the {name} of unit `{}`",
                    unit.name
                );
                self.errors.push(Kind::WalkBounds, place, message);
            }
        }
        if counted.step != unit.step {
            let (walk, step) = (counted.step, unit.step);
            let message = format!("the walk steps by {walk}, and unit `{}` by {step}", unit.name);
            self.errors.push(Kind::WalkBounds, place, message);
        }
        let of_unit = Place::new(Part::Unit, &unit.name);
        for (event, actions) in [(0, &unit.beg), (2, &unit.end)] {
            if actions.iter().any(|a| matches!(a, Action::Operand(_))) {
                let message = "is walked, and marshals outside its iterations";
                self.errors.push(Kind::Marshalling, &of_unit.then(event), message);
            }
        }
        let mut cursor = Cursor::new(&unit.ite, of_unit);
        let operands = self.classes[id.index()] != Class::Tokens;
        cursor.broken = !operands;
        if !operands {
            let message = format!("walks `{}`, which pushes tokens", unit.name);
            self.errors.push(Kind::Marshalling, place, message);
        }
        self.counted(counted, Some(id), place, &mut Feed::Operands(&mut cursor));
        self.left_over(&cursor, &format!("the walk of `{}`", unit.name));
    }

    fn counted(
        &mut self,
        counted: &'a Loop,
        unit: Option<UnitId>,
        place: &Place,
        feed: &mut Feed<'_, 'a>,
    ) {
        self.reads(&counted.lo, place);
        self.reads(&counted.hi, place);
        let mut written = BTreeSet::from([counted.var]);
        written_by(&counted.body, &mut written);
        self.steps += self.state_cost();
        let set = self.set.clone();
        self.forget(&written);
        let index = unit.map(|unit| self.symbols.ind_var(unit));
        self.assign(counted.var, index, place);
        self.running.push(counted.var);
        self.body(&counted.body, place, feed);
        self.running.pop();
        self.set = set;
        self.forget(&written);
    }

    fn assign(&mut self, register: RegisterId, value: Option<Symbol>, place: &Place) {
        if self.running.contains(&register) {
            let name = &self.program.registers[register.index()].name;
            let message = format!("changes `{name}`, the variable of a loop around here");
            self.errors.push(Kind::Structure, place, message);
        }
        self.set[register.index()] = true;
        self.value[register.index()] = value;
    }

    fn reads_address(&mut self, addr: &Addr<Expr>, place: &Place) {
        addr.expressions().for_each(|i| self.reads(i, place));
    }

    /// Reports registers that an expression reads before they are set on every path.
    fn reads(&mut self, expr: &Expr, place: &Place) {
        match expr {
            Expr::Register(register) => {
                if !self.set[register.index()] {
                    let name = &self.program.registers[register.index()].name;
                    let message = format!("reads `{name}`, which may not have been set");
                    self.errors.push(Kind::Unset, place, message);
                    self.set[register.index()] = true;
                }
            }
            Expr::Const(_) | Expr::Size(_) => {}
            Expr::Load(addr) => self.reads_address(addr, place),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|x| self.reads(x, place)),
            Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| self.reads(x, place)),
            Expr::Unary(_, x)
            | Expr::Fold(_, x)
            | Expr::Cast(_, x)
            | Expr::Broadcast(_, x)
            | Expr::Iota(_, x) => self.reads(x, place),
        }
    }

    /// Returns the symbolic value of an expression, if it is known.
    fn symbol(&mut self, expr: &Expr) -> Option<Symbol> {
        match expr {
            Expr::Register(register) => self.value[register.index()],
            Expr::Const(value) => Some(self.symbols.constant(*value)),
            Expr::Size(size) => Some(self.symbols.size(*size)),
            Expr::Load(addr) if addr.lanes.is_none() => {
                // The execute unit itself may have written the tensor in between, so the value is unknown.
                if self.program.tensors[addr.tensor.index()].writable() {
                    return None;
                }
                let index: Option<Vec<Symbol>> =
                    addr.index.iter().map(|i| self.symbol(i)).collect();
                index.map(|index| self.symbols.load(self.program, addr.tensor, index))
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.symbol(a)?, self.symbol(b)?);
                Some(self.symbols.binary(*op, a, b))
            }
            Expr::Cast(dtype, x) => {
                let x = self.symbol(x)?;
                Some(self.symbols.cast(*dtype, x))
            }
            Expr::Load(_)
            | Expr::Unary(..)
            | Expr::Fold(..)
            | Expr::Select(..)
            | Expr::Broadcast(..)
            | Expr::Iota(..) => None,
        }
    }
}
