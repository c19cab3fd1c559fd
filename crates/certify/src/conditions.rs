//! The checker's evaluation of rule conditions on terms, from the facts that it derived.

use super::places::{Counter, Place, Touches, apart, distances, told};
use super::ranges::{BOUND, DEPTH};
use super::terms::{Fact, T};
use super::{Checker, Means, Refusal, meant};
use ember_language::sexp::Sexp;
use ember_values::primitive::form::{Form, View};
use ember_values::scalar::DType;

/// The largest number of operators visited to find the places that a term reads and writes.
pub(super) const VISITS: usize = 1 << 14;

/// A rule, applied.
pub struct Applied {
    /// The terms before and after the step.
    pub(super) sides: [T; 2],
    /// The assumptions that its conditions depend on.
    pub reasons: Vec<String>,
    /// Loop variables that may get values which their loops do not give them.
    pub loose: Vec<String>,
}

impl Checker<'_> {
    /// Instantiates a rule with the terms given in the parts of a step. Returns both sides, and for each condition the
    /// facts that it rests on. Returns an error if a condition, or a number chosen for a `:for`, cannot be verified.
    pub fn applied(
        &mut self,
        rule: &str,
        parts: &[Sexp],
        forward: bool,
    ) -> Result<Applied, Refusal> {
        let known = self.given.rule(rule).or_else(|| self.rules.rule(rule));
        let (exact, rule) = &*known.ok_or(Refusal::NoSuchRule)?;
        let (mut means, mut reasons) = (Means::new(), Vec::new());
        for part in parts {
            let (v, items) = part.form().unwrap_or_default();
            let (term, steps) = items.split_first().ok_or(Refusal::EmptyPart)?;
            means.insert(v, (self.read(term, &Means::new())?, steps));
        }
        for (v, term) in &rule.lets {
            let term = self.read(term, &means)?;
            means.insert(&v.text, (term, &[]));
        }
        let numbers = rule.fors.iter().map(|(n, call)| (call, Some(n)));
        for (call, number) in rule.whens.iter().map(|call| (call, None)).chain(numbers) {
            let (name, asked) = call.form().unwrap_or_default();
            // The chosen number is the last argument of a generator.
            let number = number.map(|n| meant(&means, &n.text)).transpose()?;
            // What a parameter is set to decides whether a rule is tried. The number is one of its values.
            if let ("setting" | "at-setting", Some(parameter)) = (name, asked.last()) {
                if let Some((number, _)) = number {
                    self.is_value(parameter, number)?;
                }
                reasons.push(name.to_owned());
                continue;
            }
            let terms = asked.iter().map(|term| self.read(term, &means));
            let mut terms: Vec<T> = terms.collect::<Result<_, _>>()?;
            terms.extend(number.map(|(n, _)| n));
            let mut reason = name.to_owned();
            let holds = self.holds(name, &terms, &mut reason);
            if !holds.ok_or_else(|| Refusal::NotCheckable(reason.clone()))? {
                return Err(Refusal::DoesNotHold(name.to_owned()));
            }
            reasons.push(reason);
        }
        for (v, pattern) in &rule.wheres {
            let (from, steps) = meant(&means, &v.text)?;
            let to = self.read(pattern, &means)?;
            self.leads(from, steps, to)?;
        }
        self.scoped(rule, &means)?;
        let mut sides = [self.read(&rule.lhs, &means)?, self.read(&rule.rhs, &means)?];
        let (from, to) = if forward { (&rule.lhs, &rule.rhs) } else { (&rule.rhs, &rule.lhs) };
        self.bounded_loops(from, to, &means)?;
        // What holds in both directions says so.
        let loose = match forward || rule.both_ways {
            true => Vec::new(),
            false => self.loose(&rule.rhs, &rule.lhs, &means)?,
        };
        if !forward {
            sides.reverse();
        }
        self.exact = self.exact.max(*exact);
        Ok(Applied { sides, reasons, loose })
    }

    /// Returns an error unless a term is a value of a parameter.
    fn is_value(&self, parameter: &Sexp, term: T) -> Result<(), Refusal> {
        let number = self.fact(term).integer();
        let name = parameter.atom().unwrap_or_default();
        match number.and_then(|number| self.rules.is_value(name, number)) {
            Some(true) => Ok(()),
            _ => Err(Refusal::DoesNotHold("setting".to_owned())),
        }
    }

    /// Returns the facts about a term in the spelling of certificates.
    fn told(&self, term: T) -> String {
        let Fact { dtype, range, linear, place, free, .. } = self.fact(term);
        let range = range.or(self.values(term));
        let variables: Vec<&str> = free.iter().map(String::as_str).collect();
        let known = [
            dtype.map(|dtype| dtype.to_string()),
            range.map(|(least, most)| format!("{least} to {most}")),
            linear.as_ref().map(ToString::to_string),
            place.as_ref().map(ToString::to_string),
            (!variables.is_empty()).then(|| format!("over {}", variables.join(" "))),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        if known.is_empty() { "-".to_owned() } else { known.join(", ") }
    }

    /// Returns a variable whose loop has a positive step.
    fn forward(&self, variable: T) -> Option<Counter<'_>> {
        let &[_, _, _, step] = self.node(*self.variables.get(&variable)?).1 else { return None };
        self.fact(step).integer().filter(|step| *step > 0)?;
        self.counter(variable)
    }

    fn counter(&self, variable: T) -> Option<Counter<'_>> {
        let declared = self.node(*self.variables.get(&variable)?).1;
        let step = declared.get(3).and_then(|step| self.fact(*step).integer());
        let own = |step: &i64| *step > 0 && !self.anywhere.contains(&variable);
        let step = step.filter(own).unwrap_or(1);
        Some(Counter { name: self.node(variable).0, step, width: self.width(variable) })
    }

    fn holds(&self, name: &str, terms: &[T], reason: &mut String) -> Option<bool> {
        let facts: Vec<&Fact> = terms.iter().map(|t| self.fact(*t)).collect();
        for (n, term) in terms.iter().enumerate() {
            *reason += if n > 0 { "; " } else { ": " };
            *reason += &self.told(*term);
        }
        let mut touches = |i: usize| {
            let touches = self.touches(*terms.get(i)?, &mut { VISITS })?;
            *reason += &format!("; {}", told(&touches));
            Some(touches)
        };
        let variable = |i: usize| {
            let declared = terms.get(i).filter(|term| self.variables.contains_key(term));
            declared.map(|term| self.node(*term).0)
        };
        let counter = |i: usize| self.counter(*terms.get(i)?);
        let index = |a: &Fact| a.dtype == Some(DType::I64) && a.place.is_none() && !a.wide;
        let runs = |i: usize| terms.get(i).is_some_and(|variable| self.runs(*variable));
        let tensor = |place: &Place| self.tensors.get(&place.1);
        let root = |own: &Place| self.operator(&own.0, 1)?.form;
        let input = |own: &Place| tensor(own).is_some_and(|t| !t.writable);
        Some(match (name, &facts[..]) {
            ("at-most", [a, b]) => a.range?.1 <= b.range?.0,
            ("below", [a, b]) => a.range?.1 < b.range?.0,
            ("at-most-in-loop", [_, _]) => self.distance_in_loop(terms[0], terms[1])? >= 0,
            ("below-in-loop", [_, _]) => self.distance_in_loop(terms[0], terms[1])? > 0,
            ("bounded-product", [_, _]) => self.bounded_product(terms[0], terms[1]),
            ("divides", [a, b]) => b.integer()?.checked_rem(a.integer()?)? == 0,
            ("constant", [a]) => {
                a.number.is_some() || index(a) && a.free.is_empty() && touches(0)?.is_empty()
            }
            ("bounded", [_]) => self.magnitude(*terms.first()?, DEPTH)? <= BOUND,
            ("float", [a]) => a.place.is_none() && a.dtype?.is_float(),
            ("index", [a]) => index(a),
            ("scalar", [a]) => !a.wide && a.dtype.is_some(),
            ("different", [_, _]) => variable(0)? != variable(1)?,
            ("not-free", [_, a]) => !a.free.contains(variable(0)?),
            ("may-run", [a]) => {
                let declared = |name: &String| self.known.get(&(name.clone(), Vec::new())).copied();
                !a.free.iter().filter_map(declared).any(|variable| self.never_runs(variable))
            }
            ("in-scope", [a, b]) => a.free.is_subset(&b.free),
            ("runs", [_]) => runs(0),
            ("runs-once", [_]) => {
                runs(0) && self.values(terms[0]).is_some_and(|(least, most)| least == most)
            }
            ("speculable", [_, _]) => {
                runs(0) || touches(1)?.is_empty() && !self.folds(terms[1], &mut { VISITS })
            }
            ("total", [a]) => {
                let own = touches(0)?;
                let there = own.iter().all(|(_, place)| input(place) && self.is_there(place));
                index(a) && there && !self.folds(terms[0], &mut { VISITS })
            }
            // These conditions only guide the search; they do not affect the correctness of a rule.
            (
                "distinct" | "lane-count" | "loop-free" | "may-be-free" | "unbound" | "untiled",
                _,
            ) => true,
            ("rank", [a, n]) => {
                let (place, missing) = (a.place.as_ref()?, usize::try_from(n.integer()?).ok()?);
                tensor(place)?.shape.len().checked_sub(place.2.len()) == Some(missing)
            }
            ("read-only", [a]) => {
                let own = a.place.as_ref()?;
                matches!(root(own), Some(Form::View { view: View::ReadOnly, .. })) || input(own)
            }
            ("rising", [a]) => {
                let own = a.place.as_ref()?;
                own.2.is_empty() && tensor(own)?.rises
            }
            ("writable", [a]) => {
                matches!(root(a.place.as_ref()?), Some(Form::Root { written: true, .. }))
            }
            ("unread" | "unwritten" | "only-writes", [a, _]) => {
                let (own, read) = (a.place.as_ref()?, name == "unread");
                let only = |other: &Place| (other.1 == own.1) == (name == "only-writes");
                touches(1)?.iter().all(|(written, other)| !(read || *written) || only(other))
            }
            ("reads-only-in", [a]) if a.dtype.is_some() => {
                touches(0)?.iter().all(|(written, place)| !written && input(place))
            }
            ("independent" | "undisturbed", [_, _]) => {
                let (a, b) = (touches(0)?, touches(1)?);
                apart(&b, &a, None) && (name == "undisturbed" || apart(&a, &b, None))
            }
            ("independent-lanes", [_, _, _]) => {
                let both = &touches(1)? | &touches(2)?;
                apart(&both, &both, Some(counter(0)?))
            }
            ("interchangeable", [_, _, _]) => {
                let (all, both) = (touches(2)?, [self.forward(terms[0])?, self.forward(terms[1])?]);
                // Iterations that touch one place differ in one variable only, or in both in the same direction.
                pairs(&all, &all).all(|(p, q)| match distances(p, q, both) {
                    None | Some([Some(0), _] | [_, Some(0)]) => true,
                    Some([outer, inner]) => outer
                        .zip(inner)
                        .is_some_and(|(outer, inner)| outer.signum() == inner.signum()),
                })
            }
            ("separable", [_, _, _]) => {
                let (first, second) = (touches(1)?, touches(2)?);
                let own = [self.forward(terms[0])?];
                // An iteration of the first that touches what one of the second does is not behind it.
                pairs(&second, &first).all(|(p, q)| match distances(p, q, own) {
                    None => true,
                    Some([distance]) => distance.is_some_and(|distance| distance <= 0),
                })
            }
            ("own-lane", [_, a, _]) => {
                let own = Touches::from([(true, a.place.clone()?)]);
                apart(&own, &(&(&touches(1)? | &touches(2)?) | &own), Some(counter(0)?))
            }
            // Generators: the last term is the number, and the answer is whether the rule holds for it.
            ("length", [a, n]) => a.integer() == n.integer() && (2..=4096).contains(&n.integer()?),
            ("half-way", [lo, hi, step, n]) => {
                let length = hi.linear.as_ref()?.sub(lo.linear.as_ref()?)?.as_constant()?;
                let step = step.integer().filter(|step| *step > 0)?;
                let trips = length.checked_add(step - 1)?.checked_div(step)?;
                (2..=64).contains(&trips) && (trips / 2).checked_mul(step) == n.integer()
            }
            ("few-trips" | "one-trip", [lo, hi, step, n]) => {
                let length = hi.linear.as_ref()?.sub(lo.linear.as_ref()?)?.as_constant()?;
                let (step, trips) = (step.integer()?, n.integer()?);
                (trips == 1) == (name == "one-trip")
                    && (1..=8).contains(&trips)
                    && step.checked_mul(trips - 1)? < length
                    && length <= step.checked_mul(trips)?
            }
            _ => return None,
        })
    }
}

/// Returns the pairs of a place of each of two sets, of which one is written.
fn pairs<'a>(a: &'a Touches, b: &'a Touches) -> impl Iterator<Item = (&'a Place, &'a Place)> {
    let both = a.iter().flat_map(move |own| b.iter().map(move |other| (own, other)));
    both.filter(|((own, _), (other, _))| *own || *other).map(|((_, own), (_, other))| (own, other))
}
