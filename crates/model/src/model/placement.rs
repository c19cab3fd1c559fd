//! The placement of functions of tables whose rows are looked up: at each lookup, or once in advance for all rows.
//!
//! A table usually has many more rows than a batch reads, so that only the rows that are read should be computed. If the
//! lookups read the same rows again and again, the whole table is cheaper. The data's statistics decide.

use super::{Applied, Expr, Model};
use crate::data::Instance;
use ember_language::diagnostic::Span;
use ember_values::operation::{self, Element, Operand, Reads};
use std::collections::{BTreeMap, BTreeSet};

/// The number of times that a row must be read on average so that its functions are computed in advance. A row in
/// advance takes the function once, and in addition a store and a load of every element.
const READS: u64 = 2;

impl Model {
    /// Returns the functions of tables that are cheaper to compute in advance on the data of a seed, by their spans. Data
    /// that cannot be made is reported where it is used.
    pub fn in_advance(&self, seed: Option<u64>) -> BTreeSet<Span> {
        let mut calls = self.statements.iter().flat_map(|statement| statement.value.walk());
        let is_one =
            |call: &Expr| call.applied().into_iter().flat_map(functions_of_tables).next().is_some();
        match calls.any(is_one).then(|| self.instantiate(seed)) {
            Some(Ok(instance)) => self.often_read(&instance),
            _ => BTreeSet::new(),
        }
    }

    fn often_read(&self, instance: &Instance) -> BTreeSet<Span> {
        let mut lookups: BTreeMap<String, Function<'_>> = BTreeMap::new();
        for call in self.statements.iter().flat_map(|statement| statement.value.walk()) {
            for (operand, table) in call.applied().into_iter().flat_map(functions_of_tables) {
                let function = lookups.entry(table.key()).or_insert_with(|| Function::of(table));
                function.spans.insert(table.span);
                let read = call.applied().map_or(0, |call| self.read(call, operand, instance));
                function.reads = function.reads.saturating_add(read);
            }
        }
        let often = lookups.into_values().filter(|function| function.is_often_read(instance));
        often.flat_map(|function| function.spans).collect()
    }

    /// Returns the number of rows of an operand that an operation reads.
    fn read(&self, call: &Applied, operand: &Operand, instance: &Instance) -> u64 {
        let lookups: Vec<(&str, u64)> = call
            .tensors()
            .filter_map(|(operand, indices)| match operand.role {
                operation::Role::Indices(_, table) => Some((table, indices.stored()?)),
                _ => None,
            })
            .map(|(table, indices)| (table, &self.tensor(indices).name))
            .filter_map(|(table, name)| Some((table, instance.tensors.get(name)?.len())))
            .collect();
        let own = lookups.iter().filter(|(table, _)| *table == operand.name);
        let own: u64 = own.map(|(_, read)| read).sum();
        // A side of a product of edges without indices of its own is read at every edge.
        if own > 0 { own } else { lookups.iter().map(|(_, read)| *read).max().unwrap_or(0) }
    }
}

/// A function of a table, with the lookups of its rows.
struct Function<'a> {
    table: &'a Expr,
    spans: BTreeSet<Span>,
    reads: u64,
}

impl Function<'_> {
    fn of(table: &Expr) -> Function<'_> {
        Function { table, spans: BTreeSet::new(), reads: 0 }
    }

    fn is_often_read(&self, instance: &Instance) -> bool {
        let rows = self.table.shape.first().and_then(|extent| extent.value(&instance.sizes));
        rows.is_some_and(|rows| self.reads > rows.saturating_mul(READS))
    }
}

/// Iterates over the operands of an operation that are functions of tables whose rows it looks up.
fn functions_of_tables(call: &Applied) -> impl Iterator<Item = (&Operand, &Expr)> {
    let looked_up =
        |operand: &Operand| matches!(operand.role, operation::Role::Tensor(_, Reads::Rows));
    let is_function = |table: &Expr| table.walk().any(|part| part.element() == Element::Function);
    call.tensors().filter(move |(operand, table)| looked_up(operand) && is_function(table))
}
