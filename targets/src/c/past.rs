//! Stores past the caches: a line of a large tensor that nothing reads need not be read from memory before it is written.

use super::expression::Writer;
use super::parts::LINE;
use super::shared::Seen;
use crate::dlc::{Addr, Dim, Expr, Program, Stmt, TensorId, Type};
use ember_values::scalar::{DType, Scalar};
use itertools::Itertools;
use std::collections::BTreeSet;

impl Writer<'_> {
    /// Declares, for each tensor that may be written past the caches, if it is: if it has more than so many bytes.
    pub fn declare_past(&mut self, most: u64) {
        for tensor in written_by_lines(self.program) {
            let decl = &self.program.tensors[tensor.index()];
            let constant = decl.shape.iter().try_fold(1_u64, |product, dim| match dim {
                Dim::Const(n) => product.checked_mul(*n),
                Dim::Size(_) => None,
            });
            if constant.is_some_and(|elements| decl.dtype.bytes_of(elements) <= most) {
                continue;
            }
            let name = self.names.tensors[tensor.index()].clone();
            let past = self.names.fresh(&format!("{name}_past"));
            let elements = self.names.elements(&decl.shape);
            let most = most / decl.dtype.bytes_of(1);
            self.out.line(format!("const int {past} = {elements} > {most};"));
            self.past.insert(tensor, past);
        }
    }

    /// Lets what was written past the caches be seen before anything that is written later.
    pub fn finish_past(&mut self) {
        if !self.past.is_empty() {
            let function = self.functions.plain("past_written", Type::scalar(DType::I64));
            let any = self.past.values().join(" || ");
            self.out.line(format!("if ({any}) {function}();"));
        }
    }
}

/// Returns the tensors that a program reads nowhere and that it writes by whole lines alone, as far as it knows where they
/// begin.
fn written_by_lines(program: &Program) -> Vec<TensorId> {
    let mut seen = Seen::default();
    seen.body(&program.main);
    let mut multiplied = BTreeSet::new();
    products(&program.main, &mut multiplied);
    let whole = |addr: &Addr<Expr>| {
        let bytes = |elements: u64| program.tensors[addr.tensor.index()].dtype.bytes_of(elements);
        let lanes = addr.lanes.as_ref();
        lanes.is_some_and(|lanes| {
            let fills =
                |limit: Scalar| limit.as_i64().is_some_and(|n| n % i64::from(lanes.count) == 0);
            bytes(u64::from(lanes.count)).is_multiple_of(LINE)
                && matches!(&lanes.limit, Expr::Const(limit) if fills(*limit))
        })
    };
    let alone = |tensor: &&TensorId| !seen.read.contains(tensor) && !multiplied.contains(tensor);
    let by_lines = |tensor: &&TensorId| seen.accesses.get(tensor).into_iter().flatten().all(whole);
    seen.written.iter().filter(alone).filter(by_lines).copied().collect()
}

/// Collects the tensors that products of matrices read or write.
fn products(stmts: &[Stmt], found: &mut BTreeSet<TensorId>) {
    for stmt in stmts {
        match stmt {
            Stmt::Matmul { out, a, b, .. } => found.extend([out.tensor, a.tensor, b.tensor]),
            Stmt::For(counted) | Stmt::Walk(_, counted) => products(&counted.body, found),
            _ => {}
        }
    }
}
