//! The requirements of statements on positions: the tensors that indices point into, and the required ends of offsets.

use super::{Applied, Expr, Extent, Model, Op, TensorId};
use ember_values::operation::{Holds, Kernel, Role};
use std::collections::{BTreeMap, BTreeSet};

/// Indices that must be positions in a tensor's first dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexUse {
    /// The input that holds the indices.
    pub indices: TensorId,
    /// The number of positions.
    pub rows: Extent,
    /// The tensor that the rows belong to; `None` if it is not a single tensor.
    pub table: Option<TensorId>,
    /// The tensors in memory of which each lookup reads a row: the table's, or those that it is a function of.
    pub read: Vec<TensorId>,
}

/// Offsets that must partition lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetsUse {
    /// The input that holds the offsets.
    pub offsets: TensorId,
    /// The input whose elements the offsets partition.
    pub indices: TensorId,
}

/// Lookups that a program may sort by the rows that they name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortUse {
    /// The input that holds the indices.
    pub indices: TensorId,
    /// The scratch memory for the positions of the lookups in their order.
    pub order: TensorId,
    /// The scratch memory for the places where those of each row begin in it.
    pub starts: TensorId,
}

impl Model {
    /// Returns the uses of every input of indices, in the order of the statements, without duplicates; then those of the
    /// inputs that others are prepared of.
    pub fn index_uses(&self) -> Vec<IndexUse> {
        let mut uses = self.uses(|applied, role, positions| {
            let Role::Indices(_, of) = role else { return None };
            let table = applied.value(of)?;
            let rows = table.shape.first()?.clone();
            let (table, read) = (table.source(), table.by_row());
            Some(IndexUse { indices: positions, rows, table, read })
        });
        uses.extend(self.prepared_uses(&uses));
        uses
    }

    /// Returns the uses of every input of offsets, in the order of the statements, without duplicates.
    pub fn offsets_uses(&self) -> Vec<OffsetsUse> {
        self.uses(|applied, role, positions| {
            let Role::Offsets(of) = role else { return None };
            Some(OffsetsUse { offsets: positions, indices: applied.stored(of)? })
        })
    }

    /// Returns the lookups that programs may sort, in the order of the statements.
    pub fn sort_uses(&self) -> Vec<SortUse> {
        self.uses(|applied, role, order| {
            let indices = applied.stored("indices")?;
            let starts = applied.stored("starts")?;
            matches!(role, Role::Scratch(Holds::Order)).then_some(SortUse {
                indices,
                order,
                starts,
            })
        })
    }

    /// Returns the computed tensors that no reference computes, because they depend on operations that only rules lower.
    pub fn unreferenced(&self) -> BTreeSet<TensorId> {
        let mut found = BTreeSet::new();
        for statement in &self.statements {
            let lowered = statement.value.walk().any(|e| e.kernel() == Some(Kernel::Lowered));
            if lowered || statement.reads().iter().any(|tensor| found.contains(tensor)) {
                found.insert(statement.target);
            }
        }
        found
    }

    /// Collects the uses in the operands of all operations, without duplicates.
    fn uses<T: PartialEq>(&self, ask: impl Fn(&Applied, &Role, TensorId) -> Option<T>) -> Vec<T> {
        let mut uses: Vec<T> = Vec::new();
        for applied in self.expressions().filter_map(Expr::applied) {
            let asked = applied
                .tensors()
                .filter_map(|(operand, expr)| ask(applied, &operand.role, expr.stored()?));
            for new in asked {
                if !uses.contains(&new) {
                    uses.push(new);
                }
            }
        }
        uses
    }

    /// Returns the number of elements that an operator reads for its result, without the elements that its operands
    /// read. It is the work of the operator up to a small factor. Unknown sizes count as 0.
    pub fn work(&self, expr: &Expr, sizes: &BTreeMap<String, u64>) -> u64 {
        let product = |extents: &[Extent]| {
            extents.iter().fold(1u64, |n, e| n.saturating_mul(e.value(sizes).unwrap_or(0)))
        };
        let Op::Apply(applied) = &expr.op else { return 0 };
        let all = |name| applied.value(name).map_or(0, |x| product(&x.shape));
        let columns = |name| applied.value(name).map_or(0, |x| product(&x.shape[1..]));
        match applied.kernel() {
            Kernel::Rows => all("indices").saturating_mul(columns("table")),
            Kernel::Edges => all("indices").saturating_mul(columns("right")).saturating_mul(2),
            Kernel::Triples => all("heads").saturating_mul(columns("entities")).saturating_mul(3),
            Kernel::Fold(_) | Kernel::Mean => all("x"),
            Kernel::Segments(_) => all("values"),
            Kernel::Scatter(_) => all("table").saturating_add(all("rows")),
            Kernel::Columns => {
                all("table").saturating_add(all("indices").saturating_mul(columns("right")))
            }
            Kernel::Product { .. } => {
                let columns = expr.shape.last().map_or(0, |n| product(std::slice::from_ref(n)));
                all("a").saturating_mul(columns)
            }
            _ => product(&expr.shape),
        }
    }

    /// Iterates over every expression of every statement, each before its operands.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.statements.iter().flat_map(|statement| statement.value.walk())
    }
}
