//! The places that terms read and write: tensors with indices, as far as these are linear.

use super::Checker;
use super::terms::{Linear, T};
use ember_language::rules::{Kind, OpInfo};
use ember_language::sexp::deeper;
use ember_values::primitive::Primitive;
use std::collections::BTreeSet;

/// The operator that names a tensor, the tensor's name, and the indices so far; `None` may be any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(pub String, pub String, pub Vec<Option<Linear>>);

/// Places, each with whether it is written.
pub(super) type Touches = BTreeSet<(bool, Place)>;

impl Checker<'_> {
    /// The place of an address, or of a stored tensor.
    pub(super) fn place(&self, name: &str, operands: &[T]) -> Option<Place> {
        let info = self.operator(name, operands.len())?;
        let part = |at: &str| operands.get(info.position(at)?).copied();
        let of = |at: &str| self.fact(part(at)?).place.clone();
        match info.primitive()? {
            Primitive::Root(_) => {
                Some(Place(name.into(), self.node(part("name")?).0.into(), Vec::new()))
            }
            Primitive::Freeze => of("address").map(|own| Place(name.into(), own.1, own.2)),
            Primitive::Stored => of("address"),
            Primitive::Index => {
                let mut place = of("address")?;
                place.2.push(self.fact(part("index")?).linear.clone());
                Some(place)
            }
            Primitive::Vec | Primitive::Rename | Primitive::Fix => {
                Some(self.outside(name, operands, of("x")?))
            }
            _ => None,
        }
    }

    /// A place in an operand, in whatever iteration where the operator binds a variable.
    fn outside(&self, name: &str, operands: &[T], Place(root, tensor, all): Place) -> Place {
        let binds = self.binds(name, operands.len());
        let x = binds.map_or("", |(variable, _)| self.node(operands[variable]).0);
        let row = binds.and_then(|_| self.row(name, operands));
        let fixed = |index: Option<Linear>| match index? {
            form if form.coefficient(x) == 0 => Some(form),
            form => row.clone().filter(|_| form == Linear::variable(x.into())),
        };
        Place(root, tensor, all.into_iter().map(fixed).collect())
    }

    /// Any index in the row that a loop is over: the row's number, of offsets of this name that never fall.
    fn row(&self, name: &str, operands: &[T]) -> Option<Linear> {
        let own = self.operator(name, operands.len())?.looped()?;
        let loaded = |bound: usize| {
            let [address] = self.parts(operands[bound], Primitive::Load)?;
            self.fact(address).place.as_ref()
        };
        let (p, q) = (loaded(own.lo)?, loaded(own.hi)?);
        let ([Some(first)], [Some(next)]) = (&p.2[..], &q.2[..]) else { return None };
        let rises = self.tensors.get(&p.1).is_some_and(|own| own.rises);
        let follows = p.1 == q.1 && next.sub(first)?.as_constant()? == 1;
        first.add(&Linear::variable(format!("row of {}", p.1))).filter(|_| rises && follows)
    }

    /// What evaluating a term reads and writes; nothing where that is not known or too much. What an operator
    /// touches by itself, its dialect says.
    pub(super) fn touches(&self, term: T, visits: &mut usize) -> Option<Touches> {
        *visits = visits.checked_sub(1)?;
        let (name, operands) = self.node(term);
        let info = self.operator(name, operands.len());
        let own = match info.and_then(|info| info.touches.as_ref()) {
            Some(own) => own,
            // Numbers, names of the model and loop variables are no operators.
            None if self.is_leaf(name, operands) => return Some(Touches::new()),
            None => return None,
        };
        let mut all = Touches::new();
        for operand in operands {
            for (written, place) in deeper(|| self.touches(*operand, visits))? {
                all.insert((written, self.outside(name, operands, place)));
            }
        }
        for (written, list) in [(false, &own.reads), (true, &own.writes)] {
            for at in list {
                all.insert((written, self.fact(*operands.get(*at)?).place.clone()?));
            }
        }
        // A value writes nothing: what is kept on the way to it is an effect of the statement around.
        let value = info.and_then(|info: &OpInfo| info.kind) == Some(Kind::Value);
        all.retain(|(written, _)| !(*written && value));
        Some(all)
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
