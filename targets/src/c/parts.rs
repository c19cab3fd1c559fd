//! Loops over the vectors of a value, and the order in which these are computed.

use super::expression::Writer;
use super::vectors::Pieces;
use crate::dlc::{Expr, Program, Stmt, TensorId, Type};
use ember_values::scalar::DType;
use std::collections::BTreeSet;

/// The bytes of a cache line.
pub(super) const LINE: u64 = 64;

impl Writer<'_> {
    /// Writes a statement on one vector, `p`, for all vectors of a value.
    pub fn each(&mut self, value: &Expr, line: &str) {
        let lanes = self.program.type_of(value).lanes;
        let count = self.pieces(lanes).count;
        if count == 1 {
            return self.out.line(line);
        }
        match self.swapped(value, lanes) {
            None => self.out.line(format!("for (int p = 0; p < {count}; p++) {line}")),
            Some(by) => {
                let function = self.functions.plain("swapped", Type::scalar(DType::I64));
                self.out.open(format!("for (int k = 0; k < {count}; k++)"));
                self.out.line(format!("const int p = {function}(k, {count}, {by});"));
                self.out.line(line);
                self.out.close();
            }
        }
    }

    /// Returns how many vectors change places with as many after them, if a value reads a row that was asked for ahead.
    fn swapped(&self, value: &Expr, lanes: u32) -> Option<u64> {
        let Pieces { lanes: own, count, .. } = self.pieces(lanes);
        let mut by = None;
        value.walk(&mut |part| {
            if let Expr::Load(addr) = part
                && addr.lanes.as_ref().is_some_and(|run| run.count == lanes)
                && self.looked_up.contains(&addr.tensor)
            {
                let bytes = self.program.tensors[addr.tensor.index()].dtype.bytes_of(own.into());
                by = by.or((self.row_swap * LINE).checked_div(bytes));
            }
        });
        by.filter(|by| *by > 0 && 2 * *by <= u64::from(count))
    }
}

/// Returns the tensors whose rows a program asks for ahead.
pub(super) fn looked_up(program: &Program) -> BTreeSet<TensorId> {
    let mut found = BTreeSet::new();
    asked_for(&program.main, &mut found);
    found
}

fn asked_for(stmts: &[Stmt], found: &mut BTreeSet<TensorId>) {
    for stmt in stmts {
        match stmt {
            Stmt::Prefetch(addr, _) => {
                found.insert(addr.tensor);
            }
            Stmt::For(counted) | Stmt::Walk(_, counted) => asked_for(&counted.body, found),
            _ => {}
        }
    }
}
