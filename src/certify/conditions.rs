//! The conditions of rules, asked of terms. Each answer comes with what it rests on, as a text that a
//! certificate repeats.

use super::Checker;
use super::facts::{Effects, Place};
use super::term::T;
use ember_targets::scalar::DType;
use std::collections::BTreeSet;
use std::fmt::Write;

impl Checker<'_> {
    /// Why a condition holds; an error where that cannot be seen.
    pub(super) fn holds(&mut self, call: T) -> Result<String, String> {
        let name = self.terms.name(call).to_owned();
        let terms = self.terms.operands(call).to_vec();
        let facts: Vec<_> = terms.iter().map(|t| self.fact(*t)).collect();
        let no = || Err(format!("`{name}` does not hold"));
        let yes = |holds: bool, why: String| if holds { Ok(why) } else { no() };
        let index = |i: usize| facts[i].dtype == Some(DType::I64);
        let range = |i: usize| format!("{}..={}", facts[i].range.0, facts[i].range.1);
        let free = |i: usize| self.listed(facts[i].free.iter().copied());
        let (Some(first), Some(last)) = (facts.first(), facts.last()) else { return no() };
        let effects = |i: usize| facts.get(i).and_then(|f| f.effects.as_ref());
        match (name.as_str(), terms.as_slice()) {
            ("at-most", [_, _]) => {
                let holds = first.range.1 <= last.range.0 && index(0) && index(1);
                yes(holds, format!("{} {}", range(0), range(1)))
            }
            ("below", [_, _]) => {
                let holds = first.range.1 < last.range.0 && index(0) && index(1);
                yes(holds, format!("{} {}", range(0), range(1)))
            }
            ("constant", [_]) => {
                let size = first.free.is_empty()
                    && index(0)
                    && first.lanes == Some(1)
                    && effects(0).is_some_and(|e| e.places().next().is_none());
                let number = first.constant.map_or_else(|| "sizes".to_owned(), |x| x.to_string());
                yes(first.constant.is_some() || size, number)
            }
            ("different", [a, b]) => {
                let variable = |t: &T| self.variables.contains_key(self.terms.name(*t));
                yes(a != b && variable(a) && variable(b), self.listed([*a, *b]))
            }
            // It says where a rule is worth trying.
            ("lane-count", [_]) => yes(first.integer().is_some(), range(0)),
            ("distinct", [a, b]) => yes(a != b, "other terms".to_owned()),
            ("divides", [_, _]) => match (first.integer(), last.integer()) {
                (Some(a), Some(b)) => yes(b.checked_rem(a) == Some(0), format!("{a} {b}")),
                _ => no(),
            },
            ("float", [_]) => yes(first.dtype.is_some_and(DType::is_float), typed(first.dtype)),
            ("index", [_]) => yes(index(0) && first.lanes == Some(1), typed(first.dtype)),
            ("scalar", [_]) => yes(first.lanes == Some(1), "1 lane".to_owned()),
            ("not-free", [x, _]) => {
                let variable = self.variables.contains_key(self.terms.name(*x));
                yes(variable && !last.free.contains(x), free(1))
            }
            ("may-be-free", [x, _]) => {
                let variable = self.variables.contains_key(self.terms.name(*x));
                yes(variable && last.free.contains(x), free(1))
            }
            ("loop-free", [_]) => yes(!first.has_loop, "no loop".to_owned()),
            ("rank", [_, _]) => {
                let tensor = first
                    .address
                    .as_ref()
                    .and_then(|a| Some((&a.0, self.tensors.get(&a.0.tensor)?)));
                let rank =
                    tensor.and_then(|(place, t)| t.shape.len().checked_sub(place.index.len()));
                yes(rank.is_some() && rank.map(|n| n as i64) == last.integer(), range(1))
            }
            ("read-only" | "writable", [_]) => match &first.address {
                Some((place, writable, _)) => {
                    yes(*writable == (name == "writable"), place.tensor.clone())
                }
                None => no(),
            },
            ("runs" | "runs-once", [x]) => {
                let Some([lo, hi, step]) = self.bounds(*x) else { return no() };
                let bounds = [&lo, &hi, &step].map(|f| f.integer());
                let once = matches!(bounds, [Some(lo), Some(hi), Some(step)]
                    if lo < hi && lo.checked_add(step).is_some_and(|next| hi <= next));
                let typed = [&lo, &hi].iter().all(|f| f.dtype == Some(DType::I64));
                let runs = name == "runs" && typed && lo.range.1 < hi.range.0;
                let ends =
                    format!("{}..={} {}..={}", lo.range.0, lo.range.1, hi.range.0, hi.range.1);
                yes(once || runs, ends)
            }
            ("speculable", [x, _]) => {
                let runs = self.bounds(*x).is_some_and(|[lo, hi, _]| lo.range.1 < hi.range.0);
                let reads = effects(1).is_some_and(|e| e.reads.is_empty());
                yes(reads || runs, if reads { "no reads" } else { "runs" }.to_owned())
            }
            ("untiled", [x]) => {
                let name = self.variables.get(self.terms.name(*x)).map(|v| self.terms.name(v.name));
                yes(name.is_some_and(|n| n != "outer" && n != "inner"), "untiled".to_owned())
            }
            ("unread", [_, _]) => match (&first.address, effects(1)) {
                (Some(a), Some(e)) => {
                    yes(e.places().all(|p| p.tensor != a.0.tensor), self.places(e))
                }
                _ => no(),
            },
            ("unwritten", [_, _]) => match (&first.address, effects(1)) {
                (Some(a), Some(e)) => {
                    yes(e.writes.iter().all(|p| p.tensor != a.0.tensor), self.places(e))
                }
                _ => no(),
            },
            ("reads-only-in", [_]) => match effects(0) {
                Some(e) => {
                    let fixed = |p: &Place| {
                        p.frozen || self.tensors.get(&p.tensor).is_some_and(|t| !t.writable)
                    };
                    let holds =
                        first.dtype.is_some() && e.writes.is_empty() && e.reads.iter().all(fixed);
                    yes(holds, self.places(e))
                }
                None => no(),
            },
            ("independent", [_, _]) => match (effects(0), effects(1)) {
                (Some(a), Some(b)) => {
                    let apart = |w: &Effects, t: &Effects| {
                        w.writes.iter().all(|w| t.places().all(|t| disjoint(w, t)))
                    };
                    yes(
                        apart(a, b) && apart(b, a),
                        format!("{} | {}", self.places(a), self.places(b)),
                    )
                }
                _ => no(),
            },
            ("independent-lanes", [x, _, _]) => match (effects(1), effects(2)) {
                (Some(a), Some(b)) => {
                    let writes: Vec<&Place> = a.writes.iter().chain(&b.writes).collect();
                    let all: Vec<&Place> = a.places().chain(b.places()).collect();
                    let holds = self.own_lanes(*x, &writes, &all);
                    yes(holds, format!("{} | {}", self.places(a), self.places(b)))
                }
                _ => no(),
            },
            ("own-lane", [x, _, _]) => match (&facts[1].address, effects(1), effects(2)) {
                (Some((write, ..)), Some(a), Some(b)) => {
                    let all: Vec<&Place> = a.places().chain(b.places()).chain([write]).collect();
                    let holds = self.own_lanes(*x, &[write], &all);
                    yes(holds, format!("{} | {}", self.places(a), self.places(b)))
                }
                _ => no(),
            },
            ("unit-stride", [x, _]) => match effects(1) {
                Some(e) => {
                    let unit = |p: &Place| match p.index.split_last() {
                        Some((Some((last, 1)), outer)) => {
                            let fixed = |i: &super::facts::Index| {
                                i.as_ref().is_none_or(|(start, _)| start.coefficient(*x) == 0)
                            };
                            let rank = self.tensors.get(&p.tensor).map(|t| t.shape.len());
                            rank == Some(p.index.len())
                                && last.coefficient(*x) == 1
                                && outer.iter().all(fixed)
                        }
                        _ => false,
                    };
                    yes(!e.writes.is_empty() && e.writes.iter().all(unit), self.places(e))
                }
                None => no(),
            },
            _ => Err(format!("`{name}` is not known")),
        }
    }

    /// The numbers that a generator may give: any of which the rule is right for.
    pub(super) fn gives(&mut self, call: T, n: i64) -> Result<(), String> {
        let name = self.terms.name(call).to_owned();
        let operands = self.terms.operands(call).to_vec();
        let facts: Vec<_> = operands.iter().map(|t| self.fact(*t)).collect();
        let divides = |i: usize| facts[i].integer().and_then(|x| x.checked_rem(n)) == Some(0);
        let right = match (name.as_str(), facts.as_slice()) {
            ("even-simd-lanes" | "even-wide-lanes", [_, _, _]) => {
                (2..=1 << 16).contains(&n) && divides(0) && divides(1)
            }
            ("simd-lanes", [_]) | ("wide-lanes" | "tile-lengths", [_, _]) => {
                (2..=1 << 16).contains(&n)
            }
            ("length", [length]) => length.integer() == Some(n) && (2..=4096).contains(&n),
            ("few-trips" | "one-trip", [lo, hi, step]) => {
                let distance =
                    hi.affine.as_ref().zip(lo.affine.as_ref()).and_then(|(h, l)| h.sub(l));
                let distance = distance.and_then(|d| d.as_constant()).map(|d| d.max(0));
                let step = step.integer().filter(|step| *step > 0);
                let trips = distance.zip(step).and_then(|(d, s)| Some(d.checked_add(s - 1)? / s));
                let most = if name == "one-trip" { 1..=1 } else { 2..=8 };
                trips == Some(n) && most.contains(&n)
            }
            _ => false,
        };
        if right { Ok(()) } else { Err(format!("`{name}` does not give {n}")) }
    }

    /// Whether writes in one iteration touch nothing that another iteration touches.
    fn own_lanes(&self, x: T, writes: &[&Place], all: &[&Place]) -> bool {
        let Some([_, _, step]) = self.bounds(x) else { return false };
        let Some(step) = step.integer() else { return false };
        writes.iter().all(|a| all.iter().all(|b| apart_in(a, b, x, step)))
    }

    /// A variable, or the name of a size.
    fn term_text(&self, term: T) -> &str {
        match self.terms.operands(term) {
            [name] => self.terms.name(*name),
            _ => self.terms.name(term),
        }
    }

    /// Words as a list.
    fn listed(&self, terms: impl IntoIterator<Item = T>) -> String {
        let mut words: Vec<&str> = terms.into_iter().map(|t| self.terms.name(t)).collect();
        words.sort_unstable();
        words.join(" ")
    }

    /// What is read and written, as a text.
    fn places(&self, effects: &Effects) -> String {
        // By their texts, since the order of terms is not that of another list of them.
        let mut texts = BTreeSet::new();
        for (word, places) in [("reads", &effects.reads), ("writes", &effects.writes)] {
            for place in places {
                let mut text = format!("{word} {}", place.tensor);
                for index in &place.index {
                    let Some((start, lanes)) = index else {
                        text += "[*]";
                        continue;
                    };
                    let part = |(t, k): (&T, &i64)| format!("+{k}{}", self.term_text(*t));
                    let mut parts: Vec<String> = start.terms.iter().map(part).collect();
                    parts.sort_unstable();
                    let _ = write!(text, "[{}{}:{lanes}]", start.constant, parts.concat());
                }
                texts.insert(text);
            }
        }
        texts.into_iter().collect::<Vec<_>>().join(" ")
    }
}

fn typed(dtype: Option<DType>) -> String {
    dtype.map_or_else(String::new, |d| d.to_string())
}

/// Whether two places are never the same.
fn disjoint(a: &Place, b: &Place) -> bool {
    a.tensor != b.tensor
        || a.index.iter().zip(&b.index).any(|(x, y)| match (x, y) {
            (Some((x, n)), Some((y, m))) => {
                let distance = y.sub(x).and_then(|d| d.as_constant());
                distance.is_some_and(|d| d >= *n || d <= -m)
            }
            _ => false,
        })
}

/// Whether two places are never the same in different iterations of the loop over `x`.
fn apart_in(a: &Place, b: &Place, x: T, step: i64) -> bool {
    a.tensor != b.tensor
        || a.index.iter().zip(&b.index).any(|(p, q)| match (p, q) {
            (Some((p, n)), Some((q, m))) => {
                let (k, other) = (p.coefficient(x), q.coefficient(x));
                let distance = q.sub(p).and_then(|d| d.as_constant());
                let moves = k.saturating_mul(step).saturating_abs() >= *n.max(m);
                let fixed = k == 0 && other == 0;
                (moves && distance == Some(0))
                    || (fixed && distance.is_some_and(|d| d >= *n || d <= -m))
            }
            _ => false,
        })
}
