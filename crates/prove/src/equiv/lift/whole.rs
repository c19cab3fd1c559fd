//! Reads the tensors that a program has for one iteration at a time as whole tensors, with a part for each iteration.
//!
//! A program may keep what one iteration of a loop computes in scratch memory that the next iteration uses again
//! ([`ember_targets::contract`]). It does the same with a part of a whole tensor for each iteration, if every iteration
//! writes all of that memory before it reads any: so it reads nothing that another iteration left there, and the final
//! contents of scratch memory are ignored.

use ember_targets::addresses::{affine, each_address, each_address_mut};
use ember_targets::contract::whole_name;
use ember_targets::dlc::{
    Addr, Dim, Expr, Loop, Program, Purpose, RegisterId, Stmt, TensorDecl, TensorId,
};
use ember_targets::loops::{around_uses, counters, is_extent, is_number, number};
use ember_targets::strips::{Strip, Through};
use std::collections::BTreeSet;

/// Returns the program with whole tensors where it has parts of these for one iteration; `whole` returns the extents of
/// a whole tensor by its name and the declaration of its part.
pub(in super::super) fn widened(
    program: &Program,
    whole: impl Fn(&str, &TensorDecl) -> Option<Vec<Dim>>,
) -> Program {
    let mut made = program.clone();
    for at in 0..program.tensors.len() {
        let part = &program.tensors[at];
        let Some(name) = whole_name(part) else { continue };
        let known = made.tensors.iter().any(|other| other.name == name);
        let Some(shape) = whole(name, part).filter(|_| !known) else { continue };
        let tensor = TensorId(at as u32);
        let found = indices(program, tensor, &shape).map(Parts::Indexed);
        let Some(parts) = found.or_else(|| strip(program, tensor, &shape)) else { continue };
        let mut wider = made.clone();
        for body in wider.parts_mut() {
            each_address_mut(body, &mut |addr| {
                if addr.tensor == tensor {
                    parts.place(addr);
                }
            });
        }
        wider.tensors[at] = TensorDecl { name: name.to_owned(), shape, ..part.clone() };
        let own = match parts {
            Parts::Indexed(_) => true,
            Parts::Strips(_) => uses_own(&wider, tensor, &part.shape),
        };
        if own {
            made = wider;
        }
    }
    made
}

/// How a tensor is made of its parts.
enum Parts {
    /// The variables of loops are its first indices.
    Indexed(Vec<RegisterId>),
    /// They are strips of its rows.
    Strips(Strip),
}

impl Parts {
    /// Returns the place in the whole tensor of a place in a part.
    fn place(&self, addr: &mut Addr<Expr>) {
        match self {
            Parts::Indexed(variables) => {
                let own = variables.iter().map(|register| Expr::Register(*register));
                addr.index.splice(0..0, own);
            }
            Parts::Strips(strip) => strip.count_rows(addr, false),
        }
    }
}

/// Returns the declarations of the whole tensors of which a program has strips of rows, as many as the outermost loop around
/// all uses counts.
pub(in super::super) fn of_strips(program: &Program) -> Vec<TensorDecl> {
    let whole = |(at, part): (usize, &TensorDecl)| {
        let name = whole_name(part)?;
        let (Dim::Const(rows), own) = part.shape.split_first()? else { return None };
        let outer = around_uses(program, TensorId(at as u32))?.into_iter().next()?;
        let Expr::Size(all) = outer.hi else { return None };
        let steps = u64::try_from(outer.step).ok() == Some(*rows);
        let free = program.tensors.iter().all(|other| other.name != name);
        let shape = [&[Dim::Size(all)], own].concat();
        (steps && free).then(|| TensorDecl { name: name.to_owned(), shape, ..part.clone() })
    };
    program.tensors.iter().enumerate().filter_map(whole).collect()
}

/// Returns how a matrix may be made of the strips of its rows that the outermost loop around all uses takes in turn.
fn strip(program: &Program, tensor: TensorId, shape: &[Dim]) -> Option<Parts> {
    let part = &program.tensors[tensor.index()];
    let (Dim::Const(rows), own) = part.shape.split_first()? else { return None };
    if part.purpose != Purpose::Scratch || program.streamed().contains(&tensor) {
        return None;
    }
    let (all, others) = shape.split_first()?;
    let outer = around_uses(program, tensor)?.into_iter().next()?;
    let strip = Strip { first: outer.var, rows: *rows, all: *all };
    (own == others).then_some(Parts::Strips(strip))
}

/// Returns true if each iteration of the loop over strips writes its rows of a whole tensor before it reads any, and uses
/// no others; `part` has the extents of a strip.
fn uses_own(program: &Program, tensor: TensorId, part: &[Dim]) -> bool {
    let counters = counters(program);
    let outer = around_uses(program, tensor).and_then(|around| around.into_iter().next());
    let Some((strip, outer)) = Strip::of(program, tensor).zip(outer) else { return false };
    let filling =
        Filling { tensor, shape: part, strip: Some(strip), row: None, counters: &counters };
    part.first() == Some(&Dim::Const(strip.rows)) && filling.body(&outer.body, false).is_some()
}

/// Returns the variables of the loops whose iterations each have a part of a tensor; `None` if an iteration may read what
/// it has not written.
fn indices(program: &Program, tensor: TensorId, shape: &[Dim]) -> Option<Vec<RegisterId>> {
    let part = &program.tensors[tensor.index()];
    let around = shape.strip_suffix(&part.shape[..]).filter(|around| !around.is_empty())?;
    if part.purpose != Purpose::Scratch || program.streamed().contains(&tensor) {
        return None;
    }
    let mut loops = around_uses(program, tensor)?.into_iter();
    let mut inner = None;
    let mut found = Vec::new();
    for extent in around {
        let own = loops
            .find(|own| own.step == 1 && is_number(&own.lo, 0) && is_extent(&own.hi, *extent))?;
        found.push(own.var);
        inner = Some(own);
    }
    let counters = counters(program);
    let filling =
        Filling { tensor, shape: &part.shape, strip: None, row: None, counters: &counters };
    let fits = found.iter().all(|var| counters.contains(var));
    (fits && filling.body(&inner?.body, false).is_some()).then_some(found)
}

/// The test that a tensor is written as a whole before it is read.
struct Filling<'a> {
    tensor: TensorId,
    shape: &'a [Dim],
    /// The rows that count as all of it, if not all do.
    strip: Option<Strip>,
    /// Within a loop over these rows, its variable: then its own row counts as all of it.
    row: Option<RegisterId>,
    /// The registers that are the variable of one loop and nothing else.
    counters: &'a BTreeSet<RegisterId>,
}

impl Filling<'_> {
    /// Returns whether all of the tensor has been written after some statements, from whether it has been before; `None`
    /// if one of them reads it earlier.
    fn body(&self, body: &[Stmt], mut full: bool) -> Option<bool> {
        for stmt in body {
            if !full && self.reads(stmt) || self.row.is_some_and(|row| self.leaves(stmt, row)) {
                return None;
            }
            if let Stmt::For(own) | Stmt::Walk(_, own) = stmt {
                // An iteration of a loop over a strip's rows may read what it has written of its own row.
                let counts = self.strip.is_some_and(|strip| strip.is_counted(own));
                if counts && self.row.is_some() {
                    return None;
                }
                let row = if counts { Some(own.var) } else { self.row };
                Filling { row, ..*self }.body(&own.body, full)?;
            }
            full |= self.fills(stmt, &mut Vec::new());
        }
        Some(full)
    }

    /// Returns true if a statement, apart from those in the body of a loop, uses another row of the tensor.
    fn leaves(&self, stmt: &Stmt, row: RegisterId) -> bool {
        let mut leaves = false;
        each_address(stmt, &mut |addr| {
            let own = addr.index.first() == Some(&Expr::Register(row));
            leaves |= addr.tensor == self.tensor && !own;
        });
        leaves
    }

    /// Returns true if a statement, apart from those in the body of a loop, reads the tensor. What it only brings nearer
    /// does not count.
    fn reads(&self, stmt: &Stmt) -> bool {
        let (mut uses, mut first) = (0_usize, 0);
        each_address(stmt, &mut |addr| uses += usize::from(addr.tensor == self.tensor));
        if let Stmt::Store(addr, _)
        | Stmt::Prefetch(addr, _)
        | Stmt::Matmul { out: addr, adds: false, .. } = stmt
        {
            first = usize::from(addr.tensor == self.tensor);
        }
        uses > first
    }

    /// Returns true if a statement inside of loops writes all of the tensor.
    fn fills<'a>(&self, stmt: &'a Stmt, loops: &mut Vec<&'a Loop>) -> bool {
        match stmt {
            Stmt::Store(addr, _) | Stmt::Matmul { out: addr, adds: false, .. } => {
                self.fill(addr, loops)
            }
            Stmt::For(own) | Stmt::Walk(_, own) => {
                loops.push(own);
                let fills = own.body.iter().any(|stmt| self.fills(stmt, loops));
                loops.pop();
                fills
            }
            _ => false,
        }
    }

    /// Returns true if an address is each element of the tensor in some iteration of loops. Every dimension is
    /// counted through by loops of its own; the others run at least once.
    fn fill(&self, addr: &Addr<Expr>, loops: &[&Loop]) -> bool {
        if addr.tensor != self.tensor {
            return false;
        }
        let mut idle: Vec<&Loop> = loops.to_vec();
        let last = addr.index.len().saturating_sub(1);
        let mut dimensions = addr.index.iter().zip(self.shape).enumerate();
        if let Some(strip) = &self.strip {
            let own_row =
                self.row.is_some_and(|row| addr.index.first() == Some(&Expr::Register(row)));
            match strip.through(addr, &idle) {
                Some(Through::Block) => {}
                Some(Through::Loop(at)) => {
                    idle.remove(at);
                }
                None if own_row => {}
                None => return false,
            }
            dimensions.next();
        }
        let counted = dimensions.all(|(at, (index, extent))| {
            let run = if at == last { &addr.lanes } else { &addr.rows };
            let lanes = run.as_ref().filter(|_| at + 1 >= last);
            let limited = lanes.is_none_or(|lanes| is_extent(&lanes.limit, *extent));
            limited && self.counts(index, lanes.map_or(1, |own| own.count), *extent, &mut idle)
        });
        let runs =
            |own: &&Loop| number(&own.lo).zip(number(&own.hi)).is_some_and(|(lo, hi)| lo < hi);
        counted && idle.iter().all(runs)
    }

    /// Returns true if loops count an index, and `width` elements from it, through an extent; takes them from the loops.
    fn counts(&self, index: &Expr, width: u32, extent: Dim, loops: &mut Vec<&Loop>) -> bool {
        let mut counts = || {
            let form = affine(index).filter(|form| form.constant == 0)?;
            let mut digits: Vec<(i64, RegisterId)> =
                form.terms.into_iter().map(|(register, scale)| (scale, register)).collect();
            digits.sort_unstable();
            let single = digits.len() == 1;
            let mut reached = i64::from(width);
            for (scale, register) in digits {
                let at = loops.iter().position(|own| own.var == register)?;
                let own = loops.remove(at);
                let stride = scale.checked_mul(own.step)?;
                let gapless = 0 < stride && stride <= reached;
                if !gapless || !is_number(&own.lo, 0) || !self.counters.contains(&register) {
                    return None;
                }
                if single && scale == 1 && is_extent(&own.hi, extent) {
                    return Some(());
                }
                let trips = number(&own.hi)?.checked_add(own.step - 1)? / own.step;
                reached = trips.checked_sub(1)?.checked_mul(stride)?.checked_add(reached)?;
                if trips < 1 {
                    return None;
                }
            }
            matches!(extent, Dim::Const(n) if u64::try_from(reached).is_ok_and(|to| to >= n))
                .then_some(())
        };
        counts().is_some()
    }
}
