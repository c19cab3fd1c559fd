//! The addresses that the execute unit uses, and the tensors that the access unit uses.

use crate::dlc::{Action, Addr, Expr, Program, RegisterId, Stmt, StreamKind, TensorId};
use ember_values::affine::Affine;
use ember_values::scalar::Scalar;

impl Program {
    /// Iterates over main and the bodies of all cases.
    pub fn parts(&self) -> impl Iterator<Item = &Vec<Stmt>> {
        std::iter::once(&self.main).chain(self.cases.iter().map(|case| &case.body))
    }

    /// Iterates over the same bodies, to change them.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Vec<Stmt>> {
        std::iter::once(&mut self.main).chain(self.cases.iter_mut().map(|case| &mut case.body))
    }

    /// Returns the tensors that the access unit loads or stores.
    pub fn streamed(&self) -> Vec<TensorId> {
        let loaded = self.streams.iter().filter_map(|stream| match &stream.kind {
            StreamKind::Mem { addr, .. } => Some(addr.tensor),
            _ => None,
        });
        let units = self.units.iter().flat_map(|unit| [&unit.beg, &unit.ite, &unit.end]).flatten();
        let stored = units.chain(&self.access).filter_map(|action| match action {
            Action::Store { addr, .. } => Some(addr.tensor),
            _ => None,
        });
        loaded.chain(stored).collect()
    }
}

/// Visits the addresses of a statement, but not those in the body of a loop.
pub fn each_address(stmt: &Stmt, visit: &mut dyn FnMut(&Addr<Expr>)) {
    let mut loads = |expr: &Expr| {
        expr.walk(&mut |part| {
            if let Expr::Load(addr) = part {
                visit(addr);
            }
        });
    };
    match stmt {
        Stmt::Set(_, value) => loads(value),
        Stmt::Pop(_) => {}
        Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
            addr.expressions().for_each(&mut loads);
            loads(value);
            visit(addr);
        }
        Stmt::Prefetch(addr, _) => {
            addr.expressions().for_each(&mut loads);
            visit(addr);
        }
        Stmt::Matmul { out, a, b, .. } => {
            for addr in [out, a, b] {
                addr.expressions().for_each(&mut loads);
            }
            [out, a, b].into_iter().for_each(visit);
        }
        Stmt::For(own) | Stmt::Walk(_, own) => {
            loads(&own.lo);
            loads(&own.hi);
        }
    }
}

/// Returns an index as an affine form of registers, if it is one.
pub fn affine(index: &Expr) -> Option<Affine<RegisterId>> {
    match index {
        Expr::Register(own) => Some(Affine::variable(*own)),
        Expr::Const(Scalar::I64(n)) => Some(Affine::constant(*n)),
        Expr::Binary(op, a, b) => Affine::apply(*op, &affine(a)?, &affine(b)?),
        _ => None,
    }
}

/// Changes every address of statements, those in the bodies of loops included.
pub fn each_address_mut(body: &mut [Stmt], change: &mut dyn FnMut(&mut Addr<Expr>)) {
    for stmt in body {
        match stmt {
            Stmt::Set(_, value) => in_expr(value, change),
            Stmt::Pop(_) => {}
            Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
                in_addr(addr, change);
                in_expr(value, change);
            }
            Stmt::Prefetch(addr, _) => in_addr(addr, change),
            Stmt::Matmul { out, a, b, .. } => {
                [out, a, b].into_iter().for_each(|addr| in_addr(addr, change));
            }
            Stmt::For(own) | Stmt::Walk(_, own) => {
                in_expr(&mut own.lo, change);
                in_expr(&mut own.hi, change);
                each_address_mut(&mut own.body, change);
            }
        }
    }
}

fn in_addr(addr: &mut Addr<Expr>, change: &mut dyn FnMut(&mut Addr<Expr>)) {
    addr.expressions_mut().for_each(|index| in_expr(index, change));
    change(addr);
}

fn in_expr(expr: &mut Expr, change: &mut dyn FnMut(&mut Addr<Expr>)) {
    match expr {
        Expr::Register(_) | Expr::Const(_) | Expr::Size(_) => {}
        Expr::Load(addr) => in_addr(addr, change),
        Expr::Unary(_, x)
        | Expr::Fold(_, x)
        | Expr::Cast(_, x)
        | Expr::Broadcast(_, x)
        | Expr::Iota(_, x) => in_expr(x, change),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|x| in_expr(x, change)),
        Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| in_expr(x, change)),
    }
}
