//! The places that terms read and write: tensors with indices, as far as these are linear.

use super::Checker;
use super::terms::{Linear, T};
use ember_language::sexp::deeper;
use std::collections::BTreeSet;
use std::fmt;

/// What names a tensor (`in`, `out`, `freeze`), its name, and the indices so far; `None` may be any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(pub String, pub String, pub Vec<Option<Linear>>);

/// Places, each with whether it is written.
pub(super) type Touches = BTreeSet<(bool, Place)>;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place(by, tensor, indices) = self;
        write!(f, "{by} {tensor}")?;
        indices.iter().try_for_each(|index| match index {
            Some(index) => write!(f, "[{index}]"),
            None => write!(f, "[*]"),
        })
    }
}

/// Places as certificates repeat them.
pub(super) fn told(touches: &Touches) -> String {
    let told = |(written, place): &(bool, Place)| match written {
        true => format!("writes {place}"),
        false => format!("reads {place}"),
    };
    match touches.is_empty() {
        true => "touches nothing".to_owned(),
        false => touches.iter().map(told).collect::<Vec<_>>().join(" and "),
    }
}

impl Checker<'_> {
    /// The place of an address, or of a stored tensor.
    pub(super) fn place(&self, name: &str, operands: &[T]) -> Option<Place> {
        let of = |t: &T| self.fact(*t).place.clone();
        match (name, operands) {
            ("in" | "out", [x]) => Some(Place(name.into(), self.node(*x).0.into(), Vec::new())),
            ("freeze", [address]) => of(address).map(|own| Place(name.into(), own.1, own.2)),
            ("emb.tensor", [address]) => of(address),
            ("at", [address, index]) => of(address).map(|mut place| {
                place.2.push(self.fact(*index).linear.clone());
                place
            }),
            ("vec" | "rename" | "fix", [.., body]) => Some(self.outside(name, operands, of(body)?)),
            _ => None,
        }
    }

    /// A place in an operand, in whatever iteration where the operator binds a variable.
    fn outside(&self, name: &str, operands: &[T], Place(root, tensor, all): Place) -> Place {
        let binds = self.rules.operator(name, operands.len()).and_then(|own| own.binds);
        let x = binds.map_or("", |(variable, _)| self.node(operands[variable]).0);
        let row = binds.and_then(|(variable, _)| self.row(name, &operands[variable..]));
        let fixed = |index: Option<Linear>| match index? {
            form if form.coefficient(x) == 0 => Some(form),
            form => row.clone().filter(|_| form == Linear::variable(x.into())),
        };
        Place(root, tensor, all.into_iter().map(fixed).collect())
    }

    /// Any index in the row that a loop is over: the row's number, of offsets of this name that never fall.
    fn row(&self, name: &str, bounds: &[T]) -> Option<Linear> {
        let &[_, lo, hi, _, ..] = bounds else { return None };
        let [("scf.load", [p]), ("scf.load", [q])] = [lo, hi].map(|t| self.node(t)) else {
            return None;
        };
        let (p, q) = (self.fact(*p).place.as_ref()?, self.fact(*q).place.as_ref()?);
        let ([Some(first)], [Some(next)]) = (&p.2[..], &q.2[..]) else { return None };
        let loops = name.starts_with("scf.") && self.tensors.get(&p.1).is_some_and(|own| own.rises);
        let follows = p.1 == q.1 && next.sub(first)?.as_constant()? == 1;
        first.add(&Linear::variable(format!("row of {}", p.1))).filter(|_| loops && follows)
    }

    /// What evaluating a term reads and writes; nothing where that is not known or too much. A statement
    /// writes at its first address; all other addresses are read.
    pub(super) fn touches(&self, term: T, visits: &mut usize) -> Option<Touches> {
        *visits = visits.checked_sub(1)?;
        let (name, operands) = self.node(term);
        let known = self.operator(name, operands.len());
        let sort = known.map_or("", |own| own.result.name());
        let (mut writes, mut all) = (sort == "Stmt", Touches::new());
        for (at, operand) in operands.iter().enumerate() {
            for (written, place) in deeper(|| self.touches(*operand, visits))? {
                all.insert((written, self.outside(name, operands, place)));
            }
            let address = known.is_some_and(|own| own.args[at].name() == "Address");
            if address && sort != "Address" && name != "dim" {
                let scratch = (name, at) == ("emb.mp", 5);
                all.insert((writes || scratch, self.fact(*operand).place.clone()?));
                writes = false;
            }
        }
        // One element is a value: what is kept on the way to it is an effect of the statement around.
        all.retain(|(written, _)| !written || name != "emb.element");
        let known = known.is_some() || operands.is_empty();
        (known && !name.ends_with(".barrier")).then_some(all)
    }
}

/// Whether what the one writes and what the other touches are never the same; across a loop variable, in
/// different iterations of its loop.
pub(super) fn apart(writes: &Touches, all: &Touches, across: Option<&str>) -> bool {
    let never = |p: &Option<Linear>, q: &Option<Linear>| {
        let (p, q) = (p.as_ref()?, q.as_ref()?);
        let moves = across.is_some_and(|x| p.coefficient(x) != 0);
        // Where the index moves with the variable, it is the same in no other iteration.
        Some(moves == (q.sub(p)?.as_constant()? == 0))
    };
    let never = |a: &Place, b: &Place| {
        a.1 != b.1 || a.2.iter().zip(&b.2).any(|(p, q)| never(p, q) == Some(true))
    };
    let mut writes = writes.iter().filter(|(written, _)| *written);
    writes.all(|(_, a)| all.iter().all(|(_, b)| never(a, b)))
}
