//! The places that terms read and write: tensors with indices. An index is known only if it is linear, or one of some
//! indices from a linear one on.

use super::Checker;
use super::terms::{Linear, T};
use ember_language::rules::{Kind, OpInfo};
use ember_language::sexp::deeper;
use ember_values::distance::{Distance, distance, stay_apart};
use ember_values::primitive::form::{Block, By, Form, View};
use ember_values::scalar::Chosen;
use std::collections::BTreeSet;
use std::fmt;

/// The most indices from one on that are told apart from others: far fewer than a machine word has, so that none of them
/// is passed over by wrapping.
const MOST_LANES: i64 = 1 << 32;

/// The operator that names a tensor, the name of the tensor, and the indices so far; an index `None` may be any index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(pub String, pub String, pub Vec<Option<Span>>);

/// The indices from a linear one on, so many.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) first: Linear,
    pub(super) lanes: i64,
}

impl Span {
    fn one(first: Linear) -> Span {
        Span { first, lanes: 1 }
    }

    /// Returns the index, if it is one.
    pub(super) fn index(&self) -> Option<&Linear> {
        (self.lanes == 1).then_some(&self.first)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            1 => write!(f, "{}", self.first),
            lanes => write!(f, "{} and {} more", self.first, lanes - 1),
        }
    }
}

/// A set of places, each with a flag that is true if it is written.
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

/// Returns places in the spelling of certificates.
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
    /// Returns the place of an address or of a stored tensor.
    pub(super) fn place(&self, name: &str, operands: &[T]) -> Option<Place> {
        let info = self.operator(name, operands.len())?;
        let of = |term: T| self.fact(term).place.clone();
        match info.form(operands)? {
            Form::Root { name: tensor, .. } => {
                Some(Place(name.into(), self.node(tensor).0.into(), Vec::new()))
            }
            Form::View { address, view: View::ReadOnly } => {
                of(address).map(|own| Place(name.into(), own.1, own.2))
            }
            Form::View { address, view: View::Tensor } => of(address),
            Form::View { address, view: View::At(index) } => {
                let mut place = of(address)?;
                place.2.push(self.fact(index).linear.clone().map(Span::one));
                Some(place)
            }
            Form::Replaced { x, .. } => Some(self.outside(name, operands, of(x)?)),
            _ => None,
        }
    }

    /// Returns an operand's place as seen from outside the operator, which may bind a variable: in any iteration, or
    /// with the value that it gives the variable.
    fn outside(&self, name: &str, operands: &[T], Place(root, tensor, all): Place) -> Place {
        let binds = self.binds(name, operands.len());
        let x = binds.map_or("", |(variable, _)| self.node(operands[variable]).0);
        let row = binds.and_then(|_| self.row(name, operands));
        let strip = binds.and_then(|_| self.strip(name, operands));
        let itself = Linear::variable(x.into());
        let value = match self.operator(name, operands.len()).and_then(|info| info.form(operands)) {
            Some(Form::Replaced { by: By::Value(value), .. }) => self.fact(value).linear.clone(),
            Some(Form::Replaced { by: By::Variable(other), .. }) => {
                Some(Linear::variable(self.node(other).0.into()))
            }
            _ => None,
        };
        let fixed = |index: Option<Span>| match index? {
            span if self.follows(&span.first, x) => None,
            span if span.first.coefficient(x) == 0 => Some(span),
            span => match &value {
                Some(value) => {
                    let first = span.first.with(x.to_owned(), value)?;
                    Some(Span { first, ..span })
                }
                None if span.first == itself && span.lanes == 1 => {
                    row.clone().map(Span::one).or_else(|| strip.clone())
                }
                None => None,
            },
        };
        Place(root, tensor, all.into_iter().map(fixed).collect())
    }

    /// Returns the values that a loop's variable stays within: those from its first on that are below the sum of that and a
    /// number, which the end is, or is not above.
    fn strip(&self, name: &str, operands: &[T]) -> Option<Span> {
        let own = self.operator(name, operands.len())?.looped()?;
        let (lo, hi) = (operands[own.lo], operands[own.hi]);
        self.fact(operands[own.step]).integer().filter(|step| *step > 0)?;
        let first = self.fact(lo).linear.clone()?;
        let lanes = |end: T| {
            let lanes = self.fact(end).linear.as_ref()?.sub(&first)?.as_constant()?;
            // A sum that wraps is below the first value, so that the loop does not run.
            (1..=MOST_LANES).contains(&lanes).then_some(lanes)
        };
        let lesser = self.binary(hi, |op| op.chooses() == Some(Chosen::Least));
        let lanes = lanes(hi).or_else(|| lesser?.into_iter().find_map(lanes))?;
        Some(Span { first, lanes })
    }

    /// Returns a place of a product of which so many rows from some row on are computed: of its output or first factor.
    fn some_rows(&self, info: &OpInfo, operands: &[T], at: T, place: Place) -> Place {
        let Some(Form::Product {
            out, factors: [a, b], block: Block::Rows([count, _, first]), ..
        }) = info.form(operands)
        else {
            return place;
        };
        let lanes = self.fact(count).integer().filter(|n| (1..=MOST_LANES).contains(n));
        let span = self.fact(first).linear.clone().zip(lanes);
        let Place(root, tensor, mut index) = place;
        // What is also the second factor is read as a whole.
        if at != b && (at == out || at == a) && index.is_empty() {
            index.push(span.map(|(first, lanes)| Span { first, lanes }));
        }
        Place(root, tensor, index)
    }

    /// Returns the index that represents any element of the row that a loop iterates over: the row's number in the
    /// tensor of non-decreasing offsets.
    fn row(&self, name: &str, operands: &[T]) -> Option<Linear> {
        let own = self.operator(name, operands.len())?.looped()?;
        let loaded = |bound: usize| match self.form(operands[bound])? {
            Form::Loaded { address, early: None } => self.fact(address).place.as_ref(),
            _ => None,
        };
        let (p, q) = (loaded(own.lo)?, loaded(own.hi)?);
        let ([Some(first)], [Some(next)]) = (&p.2[..], &q.2[..]) else { return None };
        let (first, next) = (first.index()?, next.index()?);
        let rises = self.tensors.get(&p.1).is_some_and(|own| own.rises);
        let follows = p.1 == q.1 && next.sub(first)?.as_constant()? == 1;
        first.add(&Linear::variable(format!("row of {}", p.1))).filter(|_| rises && follows)
    }

    /// Returns the places that evaluating a term reads and writes; `None` if they are unknown or `visits` is exhausted.
    /// The dialect declares the places that an operator touches by itself.
    pub(super) fn touches(&self, term: T, visits: &mut usize) -> Option<Touches> {
        *visits = visits.checked_sub(1)?;
        let (name, operands) = self.node(term);
        let info = self.operator(name, operands.len());
        let own = match info.and_then(|info| info.touches.as_ref()) {
            Some(own) => own,
            // Numbers, names of the model and loop variables are not operators and touch nothing.
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
                let at = *operands.get(*at)?;
                let place = self.fact(at).place.clone()?;
                let place = match info {
                    Some(info) => self.some_rows(info, operands, at, place),
                    None => place,
                };
                all.insert((written, place));
            }
        }
        // A value writes nothing: memory used to compute it is an effect of the enclosing statement.
        let value = info.and_then(|info: &OpInfo| info.kind) == Some(Kind::Value);
        all.retain(|(written, _)| !(*written && value));
        Some(all)
    }

    /// Returns true if a term may fold lanes, which fails if one is inactive, or if `visits` is exhausted.
    pub(super) fn folds(&self, term: T, visits: &mut usize) -> bool {
        let Some(left) = visits.checked_sub(1) else { return true };
        *visits = left;
        let (name, operands) = self.node(term);
        let own = self.operator(name, operands.len());
        own.is_some_and(|own| own.folded_lanes().is_some())
            || operands.iter().any(|operand| deeper(|| self.folds(*operand, visits)))
    }
}

/// A loop variable: its name, a number of which all distances between its values are multiples, and the largest of them.
#[derive(Clone, Copy)]
pub(super) struct Counter<'a> {
    pub(super) name: &'a str,
    pub(super) step: i64,
    pub(super) width: u64,
}

/// Returns true if no place written in `writes` overlaps a place in `all`. If a loop variable is given, the two are
/// taken in different iterations of its loop.
pub(super) fn apart(writes: &Touches, all: &Touches, across: Option<Counter<'_>>) -> bool {
    let never = |p: &Option<Span>, q: &Option<Span>| {
        let (p, q) = (p.as_ref()?, q.as_ref()?);
        let by = across.map_or(0, |x| p.first.coefficient(x.name));
        let distance = q.first.sub(&p.first)?.as_constant()?;
        // Indices that move with the variable must begin alike on both sides and be apart in every other iteration;
        // indices that do not move must be apart.
        Some(match across {
            Some(x) if by != 0 => {
                distance == 0 && stay_apart(by, x.step, p.lanes.max(q.lanes), x.width)
            }
            _ => distance >= p.lanes || distance <= -q.lanes,
        })
    };
    let never = |a: &Place, b: &Place| {
        a.1 != b.1 || a.2.iter().zip(&b.2).any(|(p, q)| never(p, q) == Some(true))
    };
    let mut writes = writes.iter().filter(|(written, _)| *written);
    writes.all(|(_, a)| all.iter().all(|(_, b)| never(a, b)))
}

/// Returns how far the iterations in which two places are the same element are apart, from the first place to the
/// second, in each loop variable; `None` for a variable where that is not known, and nothing if there are no such
/// iterations. What is known follows from an index that depends on one of the variables alone.
pub(super) fn distances<const N: usize>(
    p: &Place,
    q: &Place,
    variables: [Counter<'_>; N],
) -> Option<[Option<i64>; N]> {
    if p.1 != q.1 {
        return None;
    }
    // A variable of one value is at no distance from itself.
    let mut known = variables.map(|variable| (variable.width == 0).then_some(0));
    // A distance that one dimension tells may leave another dimension with one distance to tell.
    for _ in 0..N {
        for (a, b) in p.2.iter().zip(&q.2) {
            let [a, b] = [a, b].map(|span| span.as_ref().and_then(Span::index));
            let apart = a.zip(b).and_then(|(a, b)| a.sub(b)?.as_constant());
            let (Some(a), Some(apart)) = (a, apart) else { continue };
            let by = variables.map(|variable| a.coefficient(variable.name));
            let rest = by.iter().zip(known).try_fold(apart, |apart, (by, distance)| {
                apart.checked_sub(by.checked_mul(distance.unwrap_or(0))?)
            });
            let mut open = (0..N).filter(|at| by[*at] != 0 && known[*at].is_none());
            match (rest, open.next(), open.next()) {
                (Some(rest), None, _) if rest != 0 => return None,
                (Some(rest), Some(at), None) => {
                    known[at] = match distance(by[at], rest, variables[at].width) {
                        Distance::Never => return None,
                        Distance::Is(distance) => Some(distance),
                        Distance::Unknown => None,
                    }
                }
                _ => {}
            }
        }
    }
    Some(known)
}
