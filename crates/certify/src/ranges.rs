//! Checks that loop variables keep to the values of their loops when a step replaces them by other values. A rule of
//! `fix` or `rename` read backward may replace them by any value.

use super::conditions::VISITS;
use super::places::{Place, Span};
use super::terms::{Fact, Linear, T};
use super::{Checker, Means, Refusal};
use ember_language::sexp::{Sexp, deeper};
use ember_values::distance::ANY_WIDTH;
use ember_values::primitive::form::{By, Form, Operation};
use ember_values::scalar::{Chosen, DType, LARGEST_SIZE, Linear as Effect, Scalar};
use std::collections::BTreeSet;

/// The number of bounds that are examined for one value.
pub(super) const DEPTH: usize = 8;

/// The largest product that is taken not to overflow with a number below its second factor added, apart from numbers of
/// elements.
const PRODUCT: u64 = 1 << 62;

/// The largest number that is bounded.
pub(super) const BOUND: u64 = 1 << 50;

/// The values that replace a loop variable: from one value up to, but not including, another; only the first value if
/// there is no second.
type Gets = (T, Option<T>);

impl Checker<'_> {
    /// The variables that get values in one side of a rule and not in the other, where those are not known to be of
    /// the loop, and which are not declared to be anywhere.
    pub(super) fn loose(
        &mut self,
        from: &Sexp,
        to: &Sexp,
        means: &Means<'_>,
    ) -> Result<Vec<String>, Refusal> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        self.noted(from, means, &mut before)?;
        self.noted(to, means, &mut after)?;
        after.retain(|gets| !before.contains(gets));
        Ok(self.unknown(after))
    }

    /// Returns the loop variables of all parts of a program that may get values outside of their loops.
    pub(super) fn loose_in(&mut self, program: T) -> Vec<String> {
        let found = self.all_gets(program);
        self.unknown(found)
    }

    /// Returns the loop variables that may get values outside of their loops in parts of a term, and not in another.
    pub(super) fn loose_between(&mut self, old: T, new: T) -> Vec<String> {
        let (before, mut after) = (self.all_gets(old), self.all_gets(new));
        after.retain(|gets| !before.contains(gets));
        self.unknown(after)
    }

    /// Returns the variables of all parts of a term that get values.
    fn all_gets(&mut self, term: T) -> Vec<(T, Gets)> {
        let (mut open, mut seen, mut found) = (vec![term], BTreeSet::new(), Vec::new());
        while let Some(at) = open.pop() {
            if seen.insert(at) {
                found.extend(self.gets(at));
                open.extend(self.node(at).1);
            }
        }
        found
    }

    fn unknown(&self, found: Vec<(T, Gets)>) -> Vec<String> {
        let found = found.into_iter();
        let loose = found.filter(|(variable, gets)| {
            !self.anywhere.contains(variable) && !self.within(*variable, *gets)
        });
        loose.map(|(variable, _)| self.node(variable).0.to_owned()).collect()
    }

    /// Notes the variables of a rule's side that get values.
    fn noted(
        &mut self,
        side: &Sexp,
        means: &Means<'_>,
        found: &mut Vec<(T, Gets)>,
    ) -> Result<(), Refusal> {
        let Some((name, operands)) = side.form() else { return Ok(()) };
        for operand in operands {
            deeper(|| self.noted(operand, means, found))?;
        }
        let form = self.operator(name, operands.len()).and_then(|own| own.form);
        if let Some(Form::Replaced { .. }) = form {
            let term = self.read(side, means)?;
            found.extend(self.gets(term));
        }
        Ok(())
    }

    /// Returns the variable that a term replaces, and the values that replace it. A value in the place of a variable that
    /// does not occur is no value of it.
    fn gets(&mut self, term: T) -> Option<(T, Gets)> {
        let Form::Replaced { by, x, .. } = self.form(term)? else { return None };
        let (variable, gets) = self.replaces(term)?;
        let occurs = self.fact(x).free.contains(self.node(variable).0);
        (occurs || !matches!(by, By::Value(_))).then_some((variable, gets))
    }

    /// Returns the variable that a term replaces, and the values that would replace it wherever it occurs.
    fn replaces(&mut self, term: T) -> Option<(T, Gets)> {
        let iv = self.rules.table().named(Form::iv(()), None)?.to_string();
        let Form::Replaced { variable, by, .. } = self.form(term)? else { return None };
        let gets = match by {
            By::Value(value) => (value, None),
            By::Variable(to) => (self.add((iv, vec![to])), None),
            By::Lanes { from, hi, .. } => (self.add((iv, vec![from])), Some(hi)),
        };
        Some((variable, gets))
    }

    /// Returns true if a term replaces a variable by values that it may have.
    pub(super) fn keeps_to_loop(&mut self, term: T) -> bool {
        self.replaces(term).is_some_and(|gets| self.unknown(vec![gets]).is_empty())
    }

    /// Returns the loop variable of which a term is the value.
    fn iv(&self, term: T) -> Option<T> {
        self.form(term)?.as_iv()
    }

    /// Returns true if values are some that a loop gives its variable.
    fn within(&self, variable: T, (value, end): Gets) -> bool {
        let own = self.bounds_of(variable);
        own.iter().any(|[lo, hi, step]| {
            let each = self.fact(*step).integer() == Some(1);
            if let Some(end) = end {
                return each && self.at_most(*lo, value, DEPTH) && self.at_most(end, *hi, DEPTH);
            }
            let first = value == *lo && self.less(*lo, *hi);
            let other = self.iv(value).filter(|other| !self.anywhere.contains(other));
            let others = other.map(|other| self.bounds_of(other)).unwrap_or_default();
            first
                || others.iter().any(|[from, to, by]| {
                    let same = from == lo && self.fact(*by).integer() == self.fact(*step).integer();
                    (each || same)
                        && self.at_most(*lo, *from, DEPTH)
                        && self.at_most(*to, *hi, DEPTH)
                })
                || each && self.at_most(*lo, value, DEPTH) && self.less(value, *hi)
        })
    }

    /// The largest distance from 0 that an integer may have, where it is evaluated.
    pub(super) fn magnitude(&self, term: T, depth: usize) -> Option<u64> {
        let fact = self.fact(term);
        let depth = depth.checked_sub(1)?;
        if fact.dtype != Some(DType::I64) || fact.place.is_some() || fact.wide {
            return None;
        }
        let known = fact.range.map(|(least, most)| least.unsigned_abs().max(most.unsigned_abs()));
        if let Some(known) = known.filter(|known| *known <= BOUND) {
            return Some(known);
        }
        let of = |term: T| self.magnitude(term, depth);
        if let Some(variable) = self.iv(term) {
            let bounds = self.bounds_of(variable);
            let each = |[lo, hi, _]: &[T; 3]| Some(of(*lo)?.max(of(*hi)?));
            return bounds.iter().find_map(each).filter(|_| !self.anywhere.contains(&variable));
        }
        match self.form(term)? {
            Form::Binary(Operation::Is(op), [a, b]) => op.magnitude(of(a), of(b)),
            // Offsets that never fall end at a size.
            Form::Loaded { address, early: None } => {
                let tensor = self.tensors.get(&self.fact(address).place.as_ref()?.1)?;
                tensor.rises.then_some(LARGEST_SIZE)
            }
            _ => None,
        }
    }

    /// Returns a number that the second of two bounded numbers is more than the first, at least, as loop variables are
    /// below the ends of their loops.
    pub(super) fn distance_in_loop(&self, a: T, b: T) -> Option<i64> {
        let linear = |term: T| self.fact(term).linear.as_ref();
        let mut distance = linear(b)?.sub(linear(a)?)?;
        // The distance is least where a variable of the lesser number is next to the end of its loop.
        for (name, _) in distance.terms.clone().iter().filter(|(_, by)| **by < 0) {
            let variable = self.known.get(&(name.clone(), Vec::new()));
            let Some(end) = variable.and_then(|own| self.fixed_end(*own)) else { continue };
            let last = linear(end)?.sub(&Linear::constant(1))?;
            distance = distance.with(name.clone(), &last)?;
        }
        let bounded = |term: T| self.magnitude(term, DEPTH).is_some_and(|n| n <= BOUND);
        distance.as_constant().filter(|_| bounded(a) && bounded(b))
    }

    /// Returns the end of the loop over a variable, where that is one bounded number, whatever the iterations of other
    /// loops and the contents of memory.
    fn fixed_end(&self, variable: T) -> Option<T> {
        let ends = self.bounds_of(variable).into_iter().map(|[_, end, _]| end);
        let fixed = |end: &T| {
            let nothing = self.touches(*end, &mut { VISITS }).is_some_and(|own| own.is_empty());
            let bounded = self.magnitude(*end, DEPTH).is_some_and(|n| n <= BOUND);
            self.fact(*end).free.is_empty() && nothing && bounded
        };
        ends.filter(|_| !self.anywhere.contains(&variable)).find(fixed)
    }

    /// Returns true if the product of two integers does not overflow, even with a number below the second added.
    pub(super) fn bounded_product(&self, a: T, b: T) -> bool {
        let [x, y] = [a, b].map(|term| self.magnitude(term, DEPTH));
        let small = x.zip(y).and_then(|(x, y)| x.checked_mul(y)).is_some_and(|n| n <= PRODUCT);
        // A loop variable that starts at 0 or later is less than the end of its loop.
        let counted = self.iv(a).filter(|variable| {
            let mut starts = self.bounds_of(*variable).into_iter().map(|[lo, ..]| lo);
            starts.any(|lo| self.fact(lo).range.is_some_and(|(least, _)| least >= 0))
        });
        let counted = counted.and_then(|variable| self.fixed_end(variable));
        let sizes = [counted.unwrap_or(a), b].map(|term| self.fact(term).linear.clone());
        let [Some(x), Some(y)] = sizes else { return small };
        // A tensor has at most as many elements as the largest size says.
        let named = |extent: &Sexp| Some(Linear::variable(format!("%{}", extent.atom()?)));
        small
            || self.tensors.values().any(|tensor| match &tensor.shape[..] {
                [rows, columns] => {
                    let [rows, columns] = [rows, columns].map(named);
                    let [x, y] = [Some(x.clone()), Some(y.clone())];
                    (rows == x && columns == y) || (rows == y && columns == x)
                }
                _ => false,
            })
    }

    /// Returns true if a place is one element that its tensor has for all sizes.
    pub(super) fn is_there(&self, Place(_, tensor, index): &Place) -> bool {
        let shape = self.tensors.get(tensor).map(|own| &own.shape);
        let known = |(at, extent): (&Option<Span>, &Sexp)| {
            let extent = extent.atom().and_then(|extent| extent.parse::<i64>().ok());
            let at = at.as_ref().and_then(|at| at.index()?.as_constant());
            at.zip(extent).is_some_and(|(at, extent)| (0..extent).contains(&at))
        };
        shape.is_some_and(|shape| shape.len() == index.len() && index.iter().zip(shape).all(known))
    }

    /// Notes the range of a value that a given equation implies: that it is not below, or not above, a number.
    pub(super) fn note_range(&mut self, rule: &str) {
        let Some(given) = self.given.rule(rule) else { return };
        let (_, rule) = &*given;
        let plain =
            [rule.wheres.len(), rule.fors.len(), rule.lets.len(), rule.whens.len()] == [0; 4];
        if !plain || rule.rhs.atom() != Some("1") {
            return;
        }
        let Ok(comparison) = self.read(&rule.lhs, &Means::new()) else { return };
        let Some(Form::Binary(Operation::Is(op), [a, b])) = self.form(comparison) else { return };
        let holds = |a, b| op.apply(Scalar::I64(a), Scalar::I64(b)) == Some(Scalar::I64(1));
        if !op.compares() || !holds(0, 1) || holds(1, 0) {
            return;
        }
        let apart = i64::from(!holds(0, 0));
        let numbers = [a, b].map(|term| self.fact(term).number.and_then(Scalar::as_i64));
        let (term, range) = match numbers {
            [Some(least), None] => (b, least.checked_add(apart).map(|least| (least, i64::MAX))),
            [None, Some(most)] => (a, most.checked_sub(apart).map(|most| (i64::MIN, most))),
            _ => return,
        };
        let Fact { dtype, place, wide, free, range: own, .. } = self.fact(term);
        let fixed = *dtype == Some(DType::I64) && place.is_none() && !wide && free.is_empty();
        let Some((least, most)) = range.filter(|_| fixed) else { return };
        let (from, to) = own.unwrap_or((i64::MIN, i64::MAX));
        let range = (least.max(from), most.min(to));
        if range.0 <= range.1 {
            self.terms[term].1.range = Some(range);
        }
    }

    /// Returns the largest distance between two values of a loop variable.
    pub(super) fn width(&self, variable: T) -> u64 {
        if self.anywhere.contains(&variable) {
            return u64::MAX;
        }
        let by_range = self.values(variable).map(|(least, last)| last.abs_diff(least));
        let far = |term: T| self.magnitude(term, DEPTH);
        let by_bounds = |[lo, hi, _]: &[T; 3]| Some(far(*lo)?.saturating_add(far(*hi)?));
        let bounds = self.bounds_of(variable);
        let widths = bounds.iter().filter_map(by_bounds).chain(by_range);
        widths.min().unwrap_or(ANY_WIDTH)
    }

    /// All spellings of a variable's bounds.
    pub(super) fn bounds_of(&self, variable: T) -> Vec<[T; 3]> {
        let all = self.spellings.iter().filter(|(_, words)| words.contains(&variable));
        all.map(|([_, lo, hi, step], _)| [*lo, *hi, *step]).collect()
    }

    /// Returns the variables that the bounds of a loop variable depend on, and with them the values that it has.
    pub(super) fn bounding(&self, variable: T) -> BTreeSet<String> {
        let of = |[lo, hi, _]: [T; 3]| &self.fact(lo).free | &self.fact(hi).free;
        let all = self.bounds_of(variable).into_iter().map(of);
        all.reduce(|some, others| &some & &others).unwrap_or_default()
    }

    /// Returns true if a form mentions variables whose values depend on those of another variable.
    pub(super) fn follows(&self, form: &Linear, variable: &str) -> bool {
        form.terms.keys().any(|known| {
            let known = self.known.get(&(known.clone(), Vec::new()));
            known.is_some_and(|known| self.bounding(*known).contains(variable))
        })
    }

    /// Returns true if a number is less than another, by their ranges, or by their distance where neither overflows.
    fn less(&self, a: T, b: T) -> bool {
        let range = |term: T| self.fact(term).range;
        // A sum of a number and a positive one, which does not overflow.
        let next =
            self.binary(b, |op| op.linear() == Some(Effect::Sum)).filter(|both| both[0] == a);
        let above = next.and_then(|[first, by]| {
            let (_, most) = range(by).filter(|(least, _)| *least > 0)?;
            range(first)?.1.checked_add(most)
        });
        range(a).zip(range(b)).is_some_and(|(x, y)| x.1 < y.0)
            || self.distance(a, b).is_some_and(|n| n > 0)
            || above.is_some()
    }

    /// Returns the number that the second of two numbers is more than the first, where that is known. Affine forms are
    /// equal to numbers up to multiples of 2^64, so that the ranges of the numbers must leave but one distance.
    fn distance(&self, a: T, b: T) -> Option<i64> {
        let (x, y) = (self.fact(a), self.fact(b));
        let ((x_least, x_most), (y_least, y_most)) = (x.range?, y.range?);
        y_most.checked_sub(x_least)?;
        y_least.checked_sub(x_most)?;
        y.linear.as_ref()?.sub(x.linear.as_ref()?)?.as_constant()
    }

    /// Returns true if a number is at most another.
    fn at_most(&self, a: T, b: T, depth: usize) -> bool {
        let ranges = self.fact(a).range.zip(self.fact(b).range);
        if a == b
            || ranges.is_some_and(|(x, y)| x.1 <= y.0)
            || self.distance(a, b).is_some_and(|n| n >= 0)
        {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        let chosen = |t: T, one: Chosen| self.binary(t, |op| op.chooses() == Some(one));
        let below = |p: T| self.at_most(p, b, depth);
        let above = |p: T| self.at_most(a, p, depth);
        chosen(a, Chosen::Least).is_some_and(|both| both.into_iter().any(below))
            || chosen(b, Chosen::Greatest).is_some_and(|both| both.into_iter().any(above))
            || chosen(a, Chosen::Greatest).is_some_and(|both| both.into_iter().all(below))
            || chosen(b, Chosen::Least).is_some_and(|both| both.into_iter().all(above))
            // A loop variable is at least where its loop starts.
            || self.iv(b).is_some_and(|variable| {
                !self.anywhere.contains(&variable)
                    && self.bounds_of(variable).iter().any(|[lo, ..]| self.at_most(a, *lo, depth))
            })
    }
}
