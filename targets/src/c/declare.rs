//! The places where registers are declared: in the innermost block that all of their uses are in.

use crate::dlc::{Addr, Expr, Loop, Program, RegisterId, Stmt};
use std::collections::{BTreeMap, BTreeSet};

/// A block by the positions of the loops around it.
pub(super) type Block = Vec<usize>;

/// The registers that each block declares, by themselves or as the variable of its loop.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    /// The registers of a block, in their order in the program.
    pub of: BTreeMap<Block, Vec<RegisterId>>,
    /// The variables that are only used inside of their loop.
    pub of_loops: BTreeSet<RegisterId>,
}

impl Declarations {
    /// Finds the places for all registers of a coupled program.
    pub fn of(program: &Program) -> Declarations {
        let mut uses = Uses::default();
        uses.body(&program.main, &mut Block::new());
        let mut found = Declarations::default();
        for (register, block) in uses.blocks {
            match uses.loops.get(&register) {
                Some(own) if *own == block => _ = found.of_loops.insert(register),
                _ => found.of.entry(block).or_default().push(register),
            }
        }
        found
    }
}

#[derive(Default)]
struct Uses {
    /// The innermost common block of each register's uses.
    blocks: BTreeMap<RegisterId, Block>,
    /// The body of the loop that each variable belongs to.
    loops: BTreeMap<RegisterId, Block>,
}

impl Uses {
    fn note(&mut self, register: RegisterId, block: &Block) {
        let known = self.blocks.entry(register).or_insert_with(|| block.clone());
        let common = known.iter().zip(block).take_while(|(a, b)| a == b).count();
        known.truncate(common);
    }

    fn body(&mut self, body: &[Stmt], block: &mut Block) {
        for (at, stmt) in body.iter().enumerate() {
            let mut own = BTreeSet::new();
            direct(stmt, &mut own);
            own.into_iter().for_each(|register| self.note(register, block));
            if let Stmt::For(counted) | Stmt::Walk(_, counted) = stmt {
                block.push(at);
                self.note(counted.var, block);
                self.loops.insert(counted.var, block.clone());
                self.body(&counted.body, block);
                block.pop();
            }
        }
    }
}

/// Collects the registers of a statement, without those of a loop's body and its variable.
fn direct(stmt: &Stmt, found: &mut BTreeSet<RegisterId>) {
    match stmt {
        Stmt::Set(register, value) => {
            found.insert(*register);
            in_expr(value, found);
        }
        Stmt::Pop(register) => _ = found.insert(*register),
        Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
            in_addr(addr, found);
            in_expr(value, found);
        }
        Stmt::Prefetch(addr, _) => in_addr(addr, found),
        Stmt::Matmul { out, a, b, .. } => {
            [out, a, b].into_iter().for_each(|addr| in_addr(addr, found));
        }
        Stmt::For(Loop { lo, hi, .. }) | Stmt::Walk(_, Loop { lo, hi, .. }) => {
            in_expr(lo, found);
            in_expr(hi, found);
        }
    }
}

/// Collects the registers of a statement and of everything in it.
pub(super) fn registers(stmt: &Stmt, found: &mut BTreeSet<RegisterId>) {
    direct(stmt, found);
    if let Stmt::For(counted) | Stmt::Walk(_, counted) = stmt {
        found.insert(counted.var);
        counted.body.iter().for_each(|inner| registers(inner, found));
    }
}

fn in_addr(addr: &Addr<Expr>, found: &mut BTreeSet<RegisterId>) {
    addr.expressions().for_each(|index| in_expr(index, found));
}

/// Collects the registers of an expression.
pub(super) fn in_expr(expr: &Expr, found: &mut BTreeSet<RegisterId>) {
    expr.walk(&mut |expr| {
        if let Expr::Register(register) = expr {
            found.insert(*register);
        }
    });
}
