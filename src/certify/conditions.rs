//! The conditions of rules, asked of terms, and what each rests on as a text.

use super::facts::{Index, Place, Touches, coefficient, constant, plus};
use super::rules::Rule;
use super::term::T;
use super::{Checker, Means};
use ember_targets::scalar::DType;

/// How many operators are looked at to find what a term reads and writes.
const VISITS: usize = 1 << 16;

/// What conditions rest on, each as a text.
pub(super) type Reasons = Result<Vec<String>, String>;

impl Checker<'_> {
    /// What the conditions of a rule rest on, and what its numbers do; an error where one cannot be seen
    /// to hold.
    pub(super) fn conditions(&mut self, rule: &Rule, means: &Means<'_>) -> Reasons {
        let mut reasons = Vec::new();
        for (key, values) in &rule.clauses {
            let (calls, number) = match (key.as_str(), values.as_slice()) {
                (":when", calls) => (calls, None),
                (":for", [number, calls @ ..]) => (calls, Some(self.read(number, means)?)),
                _ => continue,
            };
            for call in calls {
                let call = self.read(call, means)?;
                self.derive();
                let (name, terms) = self.terms.node(call);
                // A number is asked for as what stands last.
                let terms: Vec<T> = terms.iter().copied().chain(number).collect();
                match self.holds(name, &terms) {
                    Some(true) => reasons.push(self.rests_on(name, &terms)),
                    Some(false) => return Err(format!("`{name}` does not hold")),
                    None => return Err(format!("not checkable: `{name}`")),
                }
            }
        }
        Ok(reasons)
    }

    fn holds(&self, name: &str, terms: &[T]) -> Option<bool> {
        let of = |i: usize| terms.get(i).map(|t| &self.facts[*t]);
        let integer = |i: usize| of(i)?.integer();
        let place = |i: usize| self.place(*terms.get(i)?, &[]);
        let touches = |i: usize| self.touches(*terms.get(i)?, &[], &mut { VISITS });
        let value = |i: usize| of(i)?.dtype.filter(|_| place(i).is_none());
        let index = |i: usize| Some(value(i)? == DType::I64 && of(i)?.lanes? == 1);
        let variable = |i: usize| {
            self.variables.get_key_value(terms.get(i)?).map(|(x, _)| self.terms.name(*x))
        };
        let bounds = |i: usize| self.bounds(*terms.get(i)?);
        let runs = |i: usize| Some(bounds(i)?[0].range?.1 < bounds(i)?[1].range?.0);
        let across = |i: usize| Some((variable(i)?, bounds(i)?[2].integer()?));
        let tensor = |place: &Place| self.tensors.get(&place.1);
        // Whether no place of the second is of the first one's tensor, but for what is done as allowed.
        let elsewhere = |allowed: &str| {
            let own = place(0)?.1;
            Some(touches(1)?.iter().all(|(touch, other)| *touch == allowed || other.1 != own))
        };
        Some(match name {
            "at-most" => of(0)?.range?.1 <= of(1)?.range?.0,
            "below" => of(0)?.range?.1 < of(1)?.range?.0,
            "divides" => integer(1)?.checked_rem(integer(0)?)? == 0,
            "constant" if of(0)?.number.is_some() => true,
            "constant" => index(0)? && of(0)?.free.is_empty() && touches(0)?.is_empty(),
            "float" => value(0)?.is_float(),
            "index" => index(0)?,
            "scalar" => of(0)?.lanes? == 1,
            "different" => variable(0)? != variable(1)?,
            "not-free" => !of(1)?.free.contains(variable(0)?),
            "runs" => runs(0)?,
            "runs-once" => self.only(*terms.first()?).is_some(),
            "speculable" => runs(0) == Some(true) || touches(1)?.is_empty(),
            // These say where a rule is worth trying.
            "distinct" | "lane-count" | "loop-free" | "untiled" => true,
            "unit-stride" => {
                let x = variable(0)?;
                let by = |i: &Index| i.as_ref().map_or(0, |(start, _)| coefficient(start, x));
                let unit = |p: &Place| match p.2.split_last() {
                    Some((last @ Some((_, 1)), outer)) => {
                        let all = tensor(p).is_some_and(|t| t.shape.len() == p.2.len());
                        all && by(last) == 1 && outer.iter().all(|i| by(i) == 0)
                    }
                    _ => false,
                };
                touches(1)?.iter().all(|(touch, place)| *touch != "writes" || unit(place))
            }
            "rank" => {
                let place = place(0)?;
                let missing = tensor(&place)?.shape.len().checked_sub(place.2.len())?;
                usize::try_from(integer(1)?).ok()? == missing
            }
            "read-only" => place(0)?.0 != "out",
            "writable" => place(0)?.0 == "out",
            "unread" => elsewhere("")?,
            "unwritten" => elsewhere("reads")?,
            "reads-only-in" => {
                let fixed = |p: &Place| p.0 == "freeze" || tensor(p).is_some_and(|t| !t.writable);
                value(0)?;
                touches(0)?.iter().all(|(touch, place)| *touch == "reads" && fixed(place))
            }
            "independent" => {
                let (a, b) = (touches(0)?, touches(1)?);
                apart(&a, &b, None) && apart(&b, &a, None)
            }
            "independent-lanes" => {
                let all = &touches(1)? | &touches(2)?;
                apart(&all, &all, Some(across(0)?))
            }
            "own-lane" => {
                let own = Touches::from([("writes", place(1)?)]);
                apart(&own, &(&(&touches(1)? | &touches(2)?) | &own), Some(across(0)?))
            }
            // Numbers that a rule is right for, the last of the terms.
            "length" => integer(0)? == integer(1)? && (2..=4096).contains(&integer(1)?),
            "simd-lanes" => integer(1)? > 1,
            "wide-lanes" | "tile-lengths" => integer(2)? > 1,
            "even-simd-lanes" | "even-wide-lanes" => {
                let divided = |i: usize| Some(integer(i)?.checked_rem(integer(3)?)? == 0);
                integer(3)? > 1 && divided(0)? && divided(1)?
            }
            "few-trips" | "one-trip" => {
                let (lo, hi) = (of(0)?.linear.as_ref()?, of(1)?.linear.as_ref()?);
                let (length, step) = (constant(&plus(hi, -1, lo)?)?, integer(2)?);
                let before = step.checked_mul(integer(3)?.checked_sub(1)?)?;
                let most = if name == "one-trip" { 1..=1 } else { 2..=8 };
                most.contains(&integer(3)?)
                    && before < length
                    && length.checked_sub(before)? <= step
            }
            _ => return None,
        })
    }

    /// What a condition rests on: of what it asks, the facts that it looks at.
    fn rests_on(&self, name: &str, terms: &[T]) -> String {
        let part = |term: &T| {
            let (fact, bounds) = (&self.facts[*term], self.bounds(*term));
            match (name, bounds) {
                ("different" | "not-free" | "untiled", Some(_)) => {
                    self.terms.name(*term).to_owned()
                }
                (_, Some(bounds)) => {
                    format!("{} {:?}", self.terms.name(*term), bounds.map(|bound| bound.range))
                }
                ("at-most" | "below" | "divides" | "constant", _) => format!("{:?}", fact.range),
                ("few-trips" | "one-trip" | "length", _) => format!("{:?}", fact.linear),
                ("float" | "index" | "scalar", _) => format!("{:?} {:?}", fact.dtype, fact.lanes),
                ("not-free", _) => format!("{:?}", fact.free),
                _ => format!("{:?}", self.touches(*term, &[], &mut { VISITS })),
            }
        };
        let parts: Vec<String> = terms.iter().map(part).collect();
        parts.join(", ").replace("Some", "").replace('"', "")
    }
}

/// Whether what the one writes and what the other touches are never the same; across iterations of a
/// loop, by its variable and step, in different ones of them.
fn apart(writes: &Touches, all: &Touches, across: Option<(&str, i64)>) -> bool {
    let never = |p: &Index, q: &Index| {
        let ((p, n), (q, m)) = (p.as_ref()?, q.as_ref()?);
        let distance = constant(&plus(q, -1, p)?)?;
        let moves = across.map_or(0, |(x, step)| coefficient(p, x).saturating_mul(step));
        Some(match moves.saturating_abs() {
            0 => distance >= *n || distance <= m.saturating_neg(),
            moves => distance == 0 && moves >= *n.max(m),
        })
    };
    let never = |a: &Place, b: &Place| {
        a.1 != b.1 || a.2.iter().zip(&b.2).any(|(p, q)| never(p, q) == Some(true))
    };
    let mut writes = writes.iter().filter(|(touch, _)| *touch == "writes");
    writes.all(|(_, a)| all.iter().all(|(_, b)| never(a, b)))
}
