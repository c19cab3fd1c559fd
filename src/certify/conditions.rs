//! The conditions of rules, asked of terms, and what each rests on as a text.

use super::facts::{Index, Place, Touches, coefficient, constant, plus};
use super::rules::Rule;
use super::term::T;
use super::{Checker, Means};
use ember_targets::scalar::DType;

/// How many operators are looked at to find what a term reads and writes.
const VISITS: usize = 1 << 16;

impl Checker<'_> {
    /// What the conditions of a rule rest on; an error where one cannot be seen to hold.
    pub(super) fn conditions(
        &mut self,
        rule: &Rule,
        means: &Means<'_>,
    ) -> Result<Vec<String>, String> {
        let mut reasons = Vec::new();
        for (_, values) in rule.clauses.iter().filter(|(key, _)| key == ":when" || key == ":for") {
            for value in values.iter().filter(|value| value.list().is_some()) {
                let call = self.read(value, means)?;
                self.derive();
                let (name, terms) = self.terms.node(call);
                let n = values[0].atom().and_then(|v| self.facts[*means.get(v)?].integer());
                if n.map_or_else(|| self.holds(name, terms), |n| self.gives(name, terms, n))
                    != Some(true)
                {
                    return Err(format!("`{name}` cannot be seen to hold"));
                }
                reasons.push(self.rests_on(name, terms));
            }
        }
        Ok(reasons)
    }

    fn holds(&self, name: &str, terms: &[T]) -> Option<bool> {
        let of = |i: usize| terms.get(i).map(|t| &self.facts[*t]);
        let integer = |i: usize| of(i)?.integer();
        let place = |i: usize| self.place(*terms.get(i)?, &[]);
        let touches = |i: usize| self.touches(*terms.get(i)?, &[], &mut VISITS.clone());
        let value = |i: usize| of(i)?.dtype.filter(|_| place(i).is_none());
        let index = |i: usize| Some(value(i)? == DType::I64 && of(i)?.lanes? == 1);
        let variable = |i: usize| {
            self.variables.get_key_value(terms.get(i)?).map(|(x, _)| self.terms.name(*x))
        };
        let bounds = |i: usize| self.bounds(*terms.get(i)?);
        let runs = |i: usize| Some(bounds(i)?[0].range?.1 < bounds(i)?[1].range?.0);
        let across = |i: usize| Some((variable(i)?, bounds(i)?[2].integer()?));
        let tensor = |place: &Place| self.tensors.get(&place.1);
        let elsewhere =
            |place: Place, all: Touches| all.iter().all(|(_, other)| other.1 != place.1);
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
            "speculable" => touches(1)?.is_empty() || runs(0)?,
            // These say where a rule is worth trying.
            "distinct" | "lane-count" | "loop-free" | "unit-stride" | "untiled" => true,
            "rank" => {
                integer(1)? == (tensor(&place(0)?)?.shape.len() as i64) - (place(0)?.2.len() as i64)
            }
            "read-only" => place(0)?.0 != "out",
            "writable" => place(0)?.0 == "out",
            "unread" => elsewhere(place(0)?, touches(1)?),
            "unwritten" => {
                let writes = touches(1)?.into_iter().filter(|(touch, _)| *touch == "writes");
                elsewhere(place(0)?, writes.collect())
            }
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
            _ => return None,
        })
    }

    /// Whether a generator may give a number.
    fn gives(&self, name: &str, terms: &[T], n: i64) -> Option<bool> {
        let of = |i: usize| terms.get(i).map(|t| &self.facts[*t]);
        let divides = |i: usize| Some(of(i)?.integer()?.checked_rem(n)? == 0);
        let form = |i: usize| of(i)?.linear.as_ref();
        Some(match name {
            "length" => of(0)?.integer()? == n && (2..=4096).contains(&n),
            "simd-lanes" | "wide-lanes" | "tile-lengths" => (2..=1 << 16).contains(&n),
            "even-simd-lanes" | "even-wide-lanes" => n >= 2 && divides(0)? && divides(1)?,
            "few-trips" | "one-trip" => {
                let length = constant(&plus(form(1)?, -1, form(0)?)?)?;
                let step = of(2)?.integer().filter(|step| *step > 0)?;
                let within = length > step.checked_mul(n - 1)? && length <= step.checked_mul(n)?;
                within && if name == "one-trip" { n == 1 } else { (2..=8).contains(&n) }
            }
            _ => return None,
        })
    }

    /// What a condition rests on: of what it asks, the facts that it looks at.
    fn rests_on(&self, name: &str, terms: &[T]) -> String {
        let part = |term: &T| match (self.bounds(*term), &self.facts[*term]) {
            (Some(bounds), _) => {
                format!("{} {:?}", self.terms.name(*term), bounds.map(|b| b.range))
            }
            (_, fact) => match name {
                "at-most" | "below" | "divides" | "constant" => format!("{:?}", fact.range),
                "few-trips" | "one-trip" | "length" => format!("{:?}", fact.linear),
                "not-free" => format!("{:?}", fact.free),
                "float" | "index" | "scalar" => format!("{:?} {:?}", fact.dtype, fact.lanes),
                _ => format!("{:?}", self.touches(*term, &[], &mut VISITS.clone())),
            },
        };
        terms.iter().map(part).collect::<Vec<_>>().join(", ").replace('"', "")
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
