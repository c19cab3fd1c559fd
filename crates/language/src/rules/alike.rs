//! Operators that may stand in each other's place without any change of sorts, types or widths: for mutants.

use super::operators::{Kind, OpInfo, Operators};
use egg::Symbol;
use ember_values::scalar::BinaryOp;

impl Operators {
    /// Returns the operator that replaces another one in a mutant: of those that compute with the same operands and
    /// properties, the next by name. `None` if there is no other.
    pub fn instead(&self, info: &OpInfo) -> Option<Symbol> {
        let class = |info: &OpInfo| {
            let computes = info.kind == Some(Kind::Value) && info.lanewise;
            let folds = info.kind == Some(Kind::Operation)
                && BinaryOp::parse(info.name.as_str()).is_some_and(BinaryOp::folds);
            (computes, folds)
        };
        let alike = |other: &&OpInfo| {
            other.operand_kinds == info.operand_kinds
                && (other.kind, other.unit, other.typing) == (info.kind, info.unit, info.typing)
                && (other.width, &other.asks) == (info.width, &info.asks)
                && class(other) == class(info)
        };
        if class(info) == (false, false) {
            return None;
        }
        let mut names: Vec<&str> =
            self.iter().filter(alike).map(|other| other.name.as_str()).collect();
        names.sort_unstable();
        let at = names.iter().position(|name| *name == info.name.as_str())?;
        let other = names[(at + 1) % names.len()];
        (other != info.name.as_str()).then(|| Symbol::from(other))
    }
}

impl OpInfo {
    /// Returns true if its last two operands may change places without any change of its meaning.
    pub fn commutes(&self) -> bool {
        self.operation().is_some_and(BinaryOp::folds)
    }
}
