//! The places that terms read and write: tensors with indices, as far as these are linear.

use super::Checker;
use super::terms::{Linear, T, coefficient, constant, once, plus};
use crate::sexp::deeper;
use std::collections::BTreeSet;

/// Where an index starts, how many lanes it has and, if it is any index of a row, by whose offsets; `None`
/// is any index. Offsets never fall, so that different rows have no index in common.
pub(super) type Index = Option<(Linear, i64, String)>;

/// A tensor as `in`, `out` or `freeze` gives it, its name, and the indices that are known so far.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(pub String, pub String, pub Vec<Index>);

/// Places, each with whether it is written.
pub(super) type Touches = BTreeSet<(bool, Place)>;

impl Checker<'_> {
    /// The place of an address, or of a stored tensor.
    pub(super) fn place(&self, name: &str, operands: &[T]) -> Option<Place> {
        let of = |t: &T| self.fact(*t).place.clone();
        match (name, operands) {
            ("in" | "out", [tensor]) => {
                Some(Place(name.to_owned(), self.name(*tensor).to_owned(), Vec::new()))
            }
            ("freeze", [address]) => {
                of(address).map(|Place(_, tensor, index)| Place(name.to_owned(), tensor, index))
            }
            ("emb.tensor", [address]) => of(address),
            ("at", [address, index]) => {
                let (start, lanes) = match self.node(*index) {
                    ("scf.lanes", [n, _, start]) => (start, self.fact(*n).integer()),
                    _ => (index, Some(1)),
                };
                let Place(root, tensor, mut all) = of(address)?;
                let lanes = lanes.filter(|n| *n > 0);
                let start = self.fact(*start).linear.clone();
                all.push(start.zip(lanes).map(|(start, n)| (start, n, String::new())));
                Some(Place(root, tensor, all))
            }
            ("vec" | "rename" | "fix", [.., body]) => Some(self.outside(name, operands, of(body)?)),
            _ => None,
        }
    }

    /// A place in the body of an operator that binds a variable, seen from outside of it.
    fn outside(&self, name: &str, operands: &[T], Place(root, tensor, all): Place) -> Place {
        let bound = self.rules.operator(name, operands.len()).binds;
        let x = bound.map_or("", |(variable, _)| self.name(operands[variable]));
        // What stands for the variable: lanes from a linear form on.
        let to = match (name, operands) {
            ("vec", &[v, _, n, ..]) => Some(once(self.name(v))).zip(self.fact(n).integer()),
            ("rename", &[_, y, _]) => Some((once(self.name(y)), 1)),
            ("fix", &[_, v, _]) => self.fact(v).linear.clone().zip(Some(1)),
            _ => None,
        };
        let loops = bound.filter(|_| name.starts_with("scf."));
        let row = loops.and_then(|(variable, _)| self.row(&operands[variable..]));
        let seen = |index: Index| match (index?, to.as_ref()) {
            (index, _) if coefficient(&index.0, x) == 0 => Some(index),
            ((start, own, rows), Some((to, lanes))) => {
                let k = coefficient(&start, x);
                let start = plus(&plus(&start, k.checked_neg()?, &once(x))?, k, to)?;
                // Lanes from a first one on, or the lanes that it has.
                ((k, own) == (1, 1) || *lanes == 1).then_some((start, own.max(*lanes), rows))
            }
            (index, None) => row.clone().filter(|_| index == (once(x), 1, String::new())),
        };
        Place(root, tensor, all.into_iter().map(seen).collect())
    }

    /// The row of offsets that a loop with these bounds is over, from one offset to the next.
    fn row(&self, bounds: &[T]) -> Index {
        let &[_, lo, hi, _, ..] = bounds else { return None };
        let loaded = |bound| match self.node(bound) {
            ("scf.load", [offset]) => self.fact(*offset).place.as_ref(),
            _ => None,
        };
        let (Place(_, offsets, first), Place(_, others, next)) = (loaded(lo)?, loaded(hi)?);
        let ([Some(p)], [Some(q)]) = (&first[..], &next[..]) else { return None };
        let plain = [p, q].iter().all(|index| index.1 == 1 && index.2.is_empty());
        let follows = offsets == others && constant(&plus(&q.0, -1, &p.0)?)? == 1;
        let rises = self.tensors.get(offsets).is_some_and(|tensor| tensor.rises);
        (plain && follows && rises).then(|| (p.0.clone(), 1, offsets.clone()))
    }

    /// What evaluating a term reads and writes; nothing where that is not known or too much. A statement
    /// writes at its first address; all other addresses are read.
    pub(super) fn touches(&self, term: T, visits: &mut usize) -> Option<Touches> {
        *visits = visits.checked_sub(1)?;
        let (name, operands) = self.node(term);
        let operator = self.rules.operator(name, operands.len());
        let known = operands.is_empty() || !operator.sort.is_empty();
        let mut writes = operator.sort == "Stmt";
        let mut all = Touches::new();
        for (at, operand) in operands.iter().enumerate() {
            let inside = operator.binds.is_some_and(|(_, body)| at == body);
            for (written, place) in deeper(|| self.touches(*operand, visits))? {
                // What an element is computed in is not looked at.
                if !written || !matches!(name, "emb.element" | "emb.extent") {
                    let place = if inside { self.outside(name, operands, place) } else { place };
                    all.insert((written, place));
                }
            }
            let address = operator.sorts.get(at).is_some_and(|sort| sort == "Address");
            if address && operator.sort != "Address" && name != "dim" {
                // The last address of message passing is its scratch memory.
                let written = writes || (name, at) == ("emb.mp", 5);
                all.insert((written, self.fact(*operand).place.clone()?));
                writes = false;
            }
        }
        (known && !name.ends_with(".barrier")).then_some(all)
    }

    /// The extent that `(dim ADDRESS K)` asks for, as it is declared.
    pub(super) fn extent(&self, operands: &[T]) -> Option<&str> {
        let &[address, k] = operands else { return None };
        let Place(_, tensor, index) = self.fact(address).place.as_ref()?;
        let k = index.len().checked_add(usize::try_from(self.fact(k).integer()?).ok()?)?;
        self.tensors.get(tensor)?.shape.get(k)?.atom()
    }
}

/// Whether what the one writes and what the other touches are never the same; across iterations of a
/// loop, by its variable and step, in different ones of them.
pub(super) fn apart(writes: &Touches, all: &Touches, across: Option<(&str, i64)>) -> bool {
    let never = |p: &Index, q: &Index| {
        let ((p, n, rows), (q, m, others)) = (p.as_ref()?, q.as_ref()?);
        let distance = constant(&plus(q, -1, p)?).filter(|_| rows == others)?;
        let moves = across.map_or(0, |(x, step)| coefficient(p, x).saturating_mul(step));
        Some(match moves.saturating_abs() {
            0 => distance >= *n || distance <= m.saturating_neg(),
            moves => distance == 0 && moves >= *n.max(m),
        })
    };
    let never = |a: &Place, b: &Place| {
        a.1 != b.1 || a.2.iter().zip(&b.2).any(|(p, q)| never(p, q) == Some(true))
    };
    let mut writes = writes.iter().filter(|(written, _)| *written);
    writes.all(|(_, a)| all.iter().all(|(_, b)| never(a, b)))
}
