//! The conditions of rules, asked of terms by what is known of these.

use super::places::{Place, Touches, apart};
use super::rules::Rule;
use super::terms::{Fact, T, constant, plus};
use super::{Checker, Means, no};
use crate::sexp::{Sexp, clauses};
use ember_targets::scalar::DType;

type Conditions<'a, 's> = Result<(&'a Rule, Means<'s>, Vec<String>), String>;

/// How many operators are looked at to find what a term reads and writes.
const VISITS: usize = 1 << 14;

impl<'a> Checker<'a> {
    /// A rule, what its variables stand for, and what each of its conditions rests on; an error where one
    /// cannot be seen to hold. So with each number that it is given.
    pub(super) fn conditions<'s>(&mut self, rule: &str, parts: &'s [Sexp]) -> Conditions<'a, 's> {
        let rule = self.rules.rules.get(rule).ok_or("no such rule")?;
        let (mut means, mut reasons) = (Means::new(), Vec::new());
        for part in parts {
            let Some((v, [term, steps @ ..])) = part.form() else { return no("an empty part") };
            means.insert(v, (self.read(term, &Means::new())?, steps));
        }
        for (key, values) in clauses(&rule.items).filter(|(key, _)| [":when", ":for"].contains(key))
        {
            // A number is asked for as what stands last.
            let (number, calls) = values.split_at(usize::from(key == ":for").min(values.len()));
            for call in calls {
                let (name, asked) = call.form().unwrap_or_default();
                let terms = asked.iter().chain(number).map(|term| self.read(term, &means));
                let terms: Vec<T> = terms.collect::<Result<_, _>>()?;
                let mut reason = name.to_owned();
                let holds = self.holds(name, &terms, &mut reason);
                if !holds.ok_or_else(|| format!("not checkable: `{name}`"))? {
                    return Err(format!("`{name}` does not hold"));
                }
                reasons.push(reason.replace("None ", "").replace("Some", "").replace('"', ""));
            }
        }
        Ok((rule, means, reasons))
    }

    fn holds(&self, name: &str, terms: &[T], reason: &mut String) -> Option<bool> {
        let facts: Vec<&Fact> = terms.iter().map(|t| self.fact(*t)).collect();
        for (term, Fact { dtype, range, linear, place, free, .. }) in terms.iter().zip(&facts) {
            let range = range.or(self.values(*term));
            *reason += &format!(", {dtype:?} {range:?} {linear:?} {place:?} {free:?}");
        }
        let mut touches = |i: usize| {
            let touches = self.touches(*terms.get(i)?, &mut { VISITS })?;
            *reason += &format!(", {touches:?}");
            Some(touches)
        };
        // A loop variable, and of its bounds the step.
        let variable = |i: usize| {
            let bounds = self.node(*self.variables.get(terms.get(i)?)?).1;
            Some((self.name(terms[i]), self.fact(*bounds.last()?)))
        };
        let across = |i| variable(i).and_then(|(x, step)| Some((x, step.integer()?)));
        let index = |a: &Fact| a.dtype == Some(DType::I64) && a.place.is_none() && !a.wide;
        let values = |i: usize| self.values(*terms.get(i)?);
        let tensor = |place: &Place| self.tensors.get(&place.1);
        Some(match (name, &facts[..]) {
            ("at-most", [a, b]) => a.range?.1 <= b.range?.0,
            ("below", [a, b]) => a.range?.1 < b.range?.0,
            ("divides", [a, b]) => b.integer()?.checked_rem(a.integer()?)? == 0,
            ("constant", [a]) => {
                a.number.is_some() || index(a) && a.free.is_empty() && touches(0)?.is_empty()
            }
            ("float", [a]) => a.place.is_none() && a.dtype?.is_float(),
            ("index", [a]) => index(a),
            ("scalar", [a]) => !a.wide && a.dtype.is_some(),
            ("different", [_, _]) => variable(0)?.0 != variable(1)?.0,
            ("not-free", [_, a]) => !a.free.contains(variable(0)?.0),
            ("runs", [_]) => values(0).is_some(),
            ("runs-once", [_]) => values(0).is_some_and(|(least, most)| least == most),
            ("speculable", [_, _]) => values(0).is_some() || touches(1)?.is_empty(),
            // These say where a rule is worth trying, and no more.
            ("distinct" | "lane-count" | "loop-free" | "untiled", _) => true,
            ("rank", [a, n]) => {
                let place = a.place.as_ref()?;
                let missing = tensor(place)?.shape.len().checked_sub(place.2.len())?;
                usize::try_from(n.integer()?).ok()? == missing
            }
            ("read-only", [a]) => a.place.as_ref()?.0 != "out",
            ("writable", [a]) => a.place.as_ref()?.0 == "out",
            ("unread" | "unwritten", [a, _]) => {
                let own = a.place.as_ref()?;
                let none = |(written, other): (bool, Place)| {
                    name == "unwritten" && !written || other.1 != own.1
                };
                touches(1)?.into_iter().all(none)
            }
            ("only-writes", [a, _]) => {
                let own = a.place.as_ref()?;
                touches(1)?.into_iter().all(|(written, other)| !written || other.1 == own.1)
            }
            ("reads-only-in", [a]) if a.dtype.is_some() && a.place.is_none() => {
                let fixed = |p: &Place| p.0 == "freeze" || tensor(p).is_some_and(|t| !t.writable);
                touches(0)?.iter().all(|(written, place)| !written && fixed(place))
            }
            ("undisturbed", [_, _]) => {
                let (a, b) = (touches(0)?, touches(1)?);
                apart(&b, &a, None)
            }
            ("independent", [_, _]) => {
                let (a, b) = (touches(0)?, touches(1)?);
                apart(&a, &b, None) && apart(&b, &a, None)
            }
            ("independent-lanes", [_, _, _]) => {
                let both = &touches(1)? | &touches(2)?;
                apart(&both, &both, Some(across(0)?))
            }
            ("own-lane", [_, a, _]) => {
                let own = Touches::from([(true, a.place.clone()?)]);
                apart(&own, &(&(&touches(1)? | &touches(2)?) | &own), Some(across(0)?))
            }
            // Numbers that a rule is right for, the last of the terms.
            ("length", [a, n]) => {
                a.integer()? == n.integer()? && (2..=4096).contains(&n.integer()?)
            }
            ("even-simd-lanes" | "even-wide-lanes", [lo, hi, _, n]) => {
                let rest = |bound: &Fact| bound.integer()?.checked_rem(n.integer()?);
                n.integer()? > 1 && rest(lo)? == 0 && rest(hi)? == 0
            }
            ("few-trips" | "one-trip", [lo, hi, step, n]) => {
                let length = constant(&plus(hi.linear.as_ref()?, -1, lo.linear.as_ref()?)?)?;
                let (step, trips) = (step.integer()?, n.integer()?);
                let before = step.checked_mul(trips.checked_sub(1)?)?;
                let most = if name == "one-trip" { 1..=1 } else { 2..=8 };
                most.contains(&trips) && before < length && length.checked_sub(before)? <= step
            }
            _ => return None,
        })
    }
}
