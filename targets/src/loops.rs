//! The loops of a program: those around all uses of a tensor, the registers that count, and bounds.

use crate::addresses::each_address;
use crate::dlc::{Dim, Expr, Loop, Program, RegisterId, Stmt, TensorId};
use ember_values::scalar::Linear;
use std::collections::BTreeSet;

/// Returns the loops around all uses of a tensor, outermost first; `None` if it is not used.
pub fn around_uses(program: &Program, tensor: TensorId) -> Option<Vec<&Loop>> {
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
pub fn counters(program: &Program) -> BTreeSet<RegisterId> {
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

/// Returns the number that an expression is written as.
pub fn number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Const(value) => value.as_i64(),
        _ => None,
    }
}

/// Returns true if an expression is written as a number.
pub fn is_number(expr: &Expr, n: i64) -> bool {
    number(expr) == Some(n)
}

/// Returns true if an expression is an extent.
pub fn is_extent(expr: &Expr, extent: Dim) -> bool {
    match (expr, extent) {
        (Expr::Size(size), Dim::Size(extent)) => *size == extent,
        (_, Dim::Const(n)) => number(expr).and_then(|own| u64::try_from(own).ok()) == Some(n),
        _ => false,
    }
}

/// Returns the registers that begin at 0 and count by numbers: counters of iterations that the program keeps itself.
pub fn steppers(program: &Program) -> BTreeSet<RegisterId> {
    let (mut found, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<&Stmt> = program.parts().flatten().collect();
    while let Some(stmt) = open.pop() {
        match stmt {
            Stmt::Set(register, Expr::Binary(op, a, by))
                if op.linear() == Some(Linear::Sum)
                    && **a == Expr::Register(*register)
                    && number(by).is_some() =>
            {
                found.insert(*register);
            }
            Stmt::Set(_, value) if is_number(value, 0) => {}
            Stmt::Set(register, _) | Stmt::Pop(register) => {
                others.insert(*register);
            }
            Stmt::For(own) | Stmt::Walk(_, own) => {
                others.insert(own.var);
                open.extend(&own.body);
            }
            _ => {}
        }
    }
    &found - &others
}
