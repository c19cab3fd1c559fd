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
        let Some(indices) = indices(program, tensor, &shape) else { continue };
        for body in made.parts_mut() {
            each_address_mut(body, &mut |addr| {
                if addr.tensor == tensor {
                    let own = indices.iter().map(|register| Expr::Register(*register));
                    addr.index.splice(0..0, own);
                }
            });
        }
        made.tensors[at] = TensorDecl { name: name.to_owned(), shape, ..part.clone() };
    }
    made
}

/// Returns the variables of the loops whose iterations each have a part of a tensor; `None` if an iteration may read what
/// it has not written.
fn indices(program: &Program, tensor: TensorId, shape: &[Dim]) -> Option<Vec<RegisterId>> {
    let part = &program.tensors[tensor.index()];
    let around = shape.strip_suffix(&part.shape[..]).filter(|around| !around.is_empty())?;
    if part.purpose != Purpose::Scratch || program.streamed().contains(&tensor) {
        return None;
    }
    let mut loops = common(program, tensor)?.into_iter();
    let mut inner = None;
    let mut found = Vec::new();
    for extent in around {
        let own = loops.find(|own| own.step == 1 && is_zero(&own.lo) && is(&own.hi, *extent))?;
        found.push(own.var);
        inner = Some(own);
    }
    let variables = variables(program);
    let filling = Filling { tensor, shape: &part.shape, variables: &variables };
    let fits = found.iter().all(|var| variables.contains(var));
    (fits && filling.body(&inner?.body, false).is_some()).then_some(found)
}

/// Returns the loops around all uses of a tensor, outermost first; `None` if it is not used.
fn common(program: &Program, tensor: TensorId) -> Option<Vec<&Loop>> {
    let mut open: Vec<(&Stmt, Vec<&Loop>)> = Vec::new();
    for body in program.parts() {
        open.extend(body.iter().map(|stmt| (stmt, Vec::new())));
    }
    let mut found: Option<Vec<&Loop>> = None;
    while let Some((stmt, around)) = open.pop() {
        let mut uses = false;
        each_address(stmt, &mut |addr| uses |= addr.tensor == tensor);
        if uses {
            let both = |known: Vec<&_>| {
                let same = known.iter().zip(&around).take_while(|(a, b)| std::ptr::eq(**a, **b));
                around[..same.count()].to_vec()
            };
            found = Some(found.map_or_else(|| around.clone(), both));
        }
        if let Stmt::For(own) | Stmt::Walk(_, own) = stmt {
            let inner: Vec<&Loop> = around.into_iter().chain([own]).collect();
            open.extend(own.body.iter().map(|stmt| (stmt, inner.clone())));
        }
    }
    found
}

/// Returns the registers that are the variable of one loop and nothing else.
fn variables(program: &Program) -> BTreeSet<RegisterId> {
    let (mut found, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<&Stmt> = program.parts().flatten().collect();
    while let Some(stmt) = open.pop() {
        match stmt {
            Stmt::Set(register, _) | Stmt::Pop(register) => {
                others.insert(*register);
            }
            Stmt::For(own) | Stmt::Walk(_, own) => {
                if !found.insert(own.var) {
                    others.insert(own.var);
                }
                open.extend(&own.body);
            }
            _ => {}
        }
    }
    &found - &others
}

fn is_zero(expr: &Expr) -> bool {
    constant(expr) == Some(0)
}

fn constant(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Const(value) => value.as_i64(),
        _ => None,
    }
}

/// Returns true if an expression is an extent.
fn is(expr: &Expr, extent: Dim) -> bool {
    match (expr, extent) {
        (Expr::Size(size), Dim::Size(extent)) => *size == extent,
        (_, Dim::Const(n)) => constant(expr).and_then(|own| u64::try_from(own).ok()) == Some(n),
        _ => false,
    }
}

/// The test that a tensor is written as a whole before it is read.
struct Filling<'a> {
    tensor: TensorId,
    shape: &'a [Dim],
    /// The registers that are the variable of one loop and nothing else.
    variables: &'a BTreeSet<RegisterId>,
}

impl Filling<'_> {
    /// Returns whether all of the tensor has been written after some statements, from whether it has been before; `None`
    /// if one of them reads it earlier.
    fn body(&self, body: &[Stmt], mut full: bool) -> Option<bool> {
        for stmt in body {
            if !full && self.reads(stmt) {
                return None;
            }
            if let Stmt::For(own) | Stmt::Walk(_, own) = stmt {
                self.body(&own.body, full)?;
            }
            full |= self.fills(stmt, &mut Vec::new());
        }
        Some(full)
    }

    /// Returns true if a statement, apart from those in the body of a loop, reads the tensor. What it only brings nearer
    /// does not count.
    fn reads(&self, stmt: &Stmt) -> bool {
        let (mut uses, mut first) = (0_usize, 0);
        each_address(stmt, &mut |addr| uses += usize::from(addr.tensor == self.tensor));
        if let Stmt::Store(addr, _)
        | Stmt::Prefetch(addr)
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
        if addr.tensor != self.tensor || addr.rows.is_some() {
            return false;
        }
        let mut idle: Vec<&Loop> = loops.to_vec();
        let last = addr.index.len().saturating_sub(1);
        let counted = addr.index.iter().zip(self.shape).enumerate().all(|(at, (index, extent))| {
            let lanes = addr.lanes.as_ref().filter(|_| at == last);
            let limited = lanes.is_none_or(|lanes| is(&lanes.limit, *extent));
            limited && self.counts(index, lanes.map_or(1, |own| own.count), *extent, &mut idle)
        });
        let runs =
            |own: &&Loop| constant(&own.lo).zip(constant(&own.hi)).is_some_and(|(lo, hi)| lo < hi);
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
                if !gapless || !is_zero(&own.lo) || !self.variables.contains(&register) {
                    return None;
                }
                if single && scale == 1 && is(&own.hi, extent) {
                    return Some(());
                }
                let trips = constant(&own.hi)?.checked_add(own.step - 1)? / own.step;
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
