//! Data that satisfies assumptions by construction: a size or an element of an input that a condition compares is set
//! to where the condition holds, at or near its limit.

use super::assume::{Assumption, Reading};
use super::data::Given;
use super::declare::{Declarations, Purpose};
use super::primitives::form;
use ember_language::rules::Operators;
use ember_language::sexp::Sexp;
use ember_language::term::Term;
use ember_values::primitive::form::{Form, View};
use ember_values::scalar::{BinaryOp, Scalar};
use fastrand::Rng;
use std::collections::BTreeMap;

/// An operand of a condition that data may be given to, and the program that stores the other operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Open {
    place: Place,
    other: Term,
    /// The comparison with the other operand; `None` for equality.
    relation: Option<BinaryOp>,
    /// True if the other operand stands first.
    second: bool,
}

/// The place of an operand.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// A size.
    Size(String),
    /// The element of an input at these indices, each as the program that stores it.
    Element { name: String, indices: Vec<Term> },
}

/// How often conditions are gone through, since one may break another.
const ROUNDS: usize = 3;

/// The most by which a number that satisfies a condition differs from its limit.
const DISTANCE: i64 = 9;

/// The numbers that programs and conditions mention.
type Mentioned<'a> = &'a [i64];

/// Sets sizes so that conditions on them hold, if that is possible.
pub(super) fn settle(
    declarations: &Declarations,
    operators: &Operators,
    sizes: &mut BTreeMap<String, u64>,
    mentioned: Mentioned,
    rng: &mut Rng,
) {
    let mut given = Given { sizes: std::mem::take(sizes), inputs: BTreeMap::new() };
    adjust((declarations, operators), &mut given, mentioned, rng);
    *sizes = given.sizes;
}

/// Sets elements of inputs so that conditions on them hold, if that is possible.
pub(super) fn satisfy(
    declarations: &Declarations,
    operators: &Operators,
    given: &mut Given,
    mentioned: Mentioned,
    rng: &mut Rng,
) {
    if !given.inputs.is_empty() {
        adjust((declarations, operators), given, mentioned, rng);
    }
}

/// Sets operands of the conditions that do not hold: sizes as long as there are no inputs, then elements.
fn adjust(
    context: (&Declarations, &Operators),
    given: &mut Given,
    mentioned: Mentioned,
    rng: &mut Rng,
) {
    for _ in 0..ROUNDS {
        for assumption in &context.0.assumptions {
            let mut open: Vec<&Open> = assumption.open.iter().collect();
            rng.shuffle(&mut open);
            for open in open {
                if assumption.holds(context.0, context.1, given) {
                    break;
                }
                open.set(assumption, context, given, mentioned, rng);
            }
        }
    }
}

impl Open {
    /// Sets the operand to a number for which the condition holds; leaves it as it is if there is none, or if it cannot be
    /// set now.
    fn set(
        &self,
        assumption: &Assumption,
        context: (&Declarations, &Operators),
        given: &mut Given,
        mentioned: Mentioned,
        rng: &mut Rng,
    ) -> Option<()> {
        let value = |program: &Term, given: &Given| {
            assumption.value(program, context, given).and_then(Scalar::as_i64)
        };
        let limit = value(&self.other, given)?;
        let near = [0, 1, -1, rng.i64(-DISTANCE..=DISTANCE)].map(|n| limit.saturating_add(n));
        let small = rng.i64(-1..=DISTANCE);
        let around = mentioned.iter().flat_map(|n| [-1, 0, 1].map(|d| n.saturating_add(d)));
        let numbers: Vec<i64> = near.into_iter().chain([small]).chain(around).collect();
        let fits: Vec<i64> = numbers.into_iter().filter(|n| self.holds(*n, limit)).collect();
        match &self.place {
            Place::Size(name) if given.inputs.is_empty() => {
                let sizes: Vec<u64> = fits.into_iter().filter_map(|n| n.try_into().ok()).collect();
                given.sizes.insert(name.clone(), *rng.choice(&sizes)?);
            }
            Place::Size(_) => {}
            Place::Element { name, indices } => {
                let indices = indices.iter().map(|index| value(index, given));
                let indices: Vec<i64> = indices.collect::<Option<_>>()?;
                let n = *rng.choice(&fits)?;
                let tensor = given.inputs.get_mut(name)?;
                let extents = tensor.shape.iter().zip(&indices);
                let at = extents.into_iter().try_fold(0u64, |at, (extent, index)| {
                    let index = u64::try_from(*index).ok().filter(|index| index < extent)?;
                    at.checked_mul(*extent)?.checked_add(index)
                })?;
                tensor.set(at, Scalar::I64(n).cast(tensor.dtype));
            }
        }
        Some(())
    }

    /// Returns true if the condition holds for a number.
    fn holds(&self, n: i64, other: i64) -> bool {
        let [a, b] = if self.second { [other, n] } else { [n, other] }.map(Scalar::I64);
        match self.relation {
            Some(op) => op.apply(a, b).is_some_and(|truth| truth != Scalar::I64(0)),
            None => a == b,
        }
    }
}

impl Reading<'_> {
    /// Returns the operands of a comparison that data may be given to.
    pub(super) fn open(&self, [a, b]: [&Sexp; 2], relation: Option<BinaryOp>) -> Vec<Open> {
        let sides = [(a, b, false), (b, a, true)].into_iter();
        let open = sides.filter_map(|(own, other, second)| {
            let place = self.place(own)?;
            let (_, other) = self.integer(other).ok()?;
            Some(Open { place, other, relation, second })
        });
        open.collect()
    }

    /// Returns the size or the element that a value is, perhaps converted.
    fn place(&self, value: &Sexp) -> Option<Place> {
        if let Some(name) = value.atom() {
            let is_size = self.declarations.sizes().iter().any(|size| size == name);
            return is_size.then(|| Place::Size(name.to_owned()));
        }
        let operators = self.book.signature.table();
        match form(operators, value)? {
            Form::Carried { x, to: Some(_) } => {
                self.place(x).filter(|place| matches!(place, Place::Element { .. }))
            }
            Form::Loaded { address, early: None } => {
                let (name, indices) = self.element(address)?;
                Some(Place::Element { name, indices })
            }
            _ => None,
        }
    }

    /// Returns the input and the indices of an address.
    fn element(&self, address: &Sexp) -> Option<(String, Vec<Term>)> {
        let at = super::primitives::name(
            self.book.signature.table(),
            Form::View { address: (), view: View::At(()) },
        );
        let [tensor, indices @ ..] = address.items(at)? else { return None };
        let (name, mut known) = match tensor.atom() {
            Some(name) => (name.to_owned(), Vec::new()),
            None => self.element(tensor)?,
        };
        let is_input = |declared: &super::declare::Declared| declared.purpose == Purpose::Input;
        self.declarations.tensor(&name).filter(|declared| is_input(declared))?;
        for index in indices {
            known.push(self.integer(index).ok()?.1);
        }
        Some((name, known))
    }
}
