//! The claims about two visits, written as formulas that contradict them.

use super::symbolic::{Functions, Inexpressible, Side, VALUE, Visit, WRAPPED, defined, mentions};
use ember_values::scalar::BinaryOp;
use itertools::Itertools;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A negated claim: formulas that hold together if the claim is wrong.
pub(super) struct Negated {
    pub what: String,
    /// Formulas that must all hold.
    pub formulas: Vec<String>,
    /// Alternative formulas for the absence of a value, easier ones first; each is added to `formulas` in turn.
    pub no_one: Vec<String>,
    /// The constants that the formulas mention.
    pub constants: Vec<String>,
}

impl Negated {
    fn new(what: String, formulas: Vec<String>, constants: Vec<String>) -> Negated {
        Negated { what, formulas, no_one: Vec::new(), constants }
    }
}

/// A visit of one side, and the visits of the other side that share it: one, or several if a loop was split or joined.
pub(super) struct Shared<'a> {
    one: &'a Visit,
    parts: Vec<&'a Visit>,
    /// True if `one` is a visit of the left side.
    left: bool,
}

impl<'a> Shared<'a> {
    /// Returns the pairs of a visit of the left side and a visit of the right side.
    pub fn pairs(&self) -> impl Iterator<Item = (&'a Visit, &'a Visit)> {
        let (one, left) = (self.one, self.left);
        self.parts.iter().map(move |part| if left { (one, *part) } else { (*part, one) })
    }

    /// Returns the names of the sides of `one` and of the parts.
    fn sides(&self) -> [&'static str; 2] {
        if self.left { ["left", "right"] } else { ["right", "left"] }
    }
}

/// Pairs the visits of the left side with those of the right side: in order if both have as many, and else one visit
/// with all that share it.
pub(super) fn pair<'a>(left: &'a Side, right: &'a Side) -> Result<Vec<Shared<'a>>, Inexpressible> {
    let leaves = |side: &'a Side| {
        let mut of: BTreeMap<(&str, usize), Vec<&Visit>> = BTreeMap::new();
        for visit in &side.visits {
            of.entry((visit.leaf.as_str(), visit.args.len())).or_default().push(visit);
        }
        of
    };
    let mut rights = leaves(right);
    let mut shared = Vec::new();
    for (leaf, lefts) in leaves(left) {
        let others = rights.remove(&leaf).unwrap_or_default();
        match (&lefts[..], &others[..]) {
            (lefts, others) if lefts.len() == others.len() => {
                let pairs = lefts.iter().zip(others);
                shared.extend(pairs.map(|(l, r)| Shared { one: l, parts: vec![*r], left: true }));
            }
            ([one], [_, ..]) => shared.push(Shared { one, parts: others, left: true }),
            ([_, ..], [one]) if leaf.0 != VALUE => {
                shared.push(Shared { one, parts: lefts, left: false });
            }
            _ => return Err(shapes(left, right)),
        }
    }
    if !rights.is_empty() {
        return Err(shapes(left, right));
    }
    for (l, r) in shared.iter().flat_map(Shared::pairs) {
        let lost = l.id.keys().find(|k| !r.id.contains_key(*k) && !l.free_of.contains(*k));
        if let Some(lost) = lost {
            return Err(Inexpressible(format!("`{}` has no {lost} on the right", l.leaf)));
        }
    }
    Ok(shared)
}

/// Reports the leaves of each side if they differ.
fn shapes(left: &Side, right: &Side) -> Inexpressible {
    let names = |side: &Side| side.visits.iter().map(|v| v.leaf.as_str()).sorted().join(", ");
    Inexpressible(format!("left: {}; right: {}", names(left), names(right)))
}

/// Adds the claims about a leaf that both sides reach.
pub(super) fn of_leaf(shared: &Shared, claims: &mut Vec<Negated>) {
    let Shared { one, parts, .. } = shared;
    let leaf = &one.leaf;
    let [own, other] = shared.sides();
    claims.push(reached([own, other], one, parts, |part| same_id(one, part, &part.id)));
    // The right side of a value may have more active lanes than the left side; these lanes are ignored.
    if leaf != VALUE {
        claims.extend(
            parts
                .iter()
                .map(|part| reached([other, own], part, &[one], |_| same_id(one, part, &part.id))),
        );
        once(leaf, own, one, parts[0], one, claims);
        for (k, part) in parts.iter().enumerate() {
            once(leaf, other, one, part, part, claims);
            for another in parts[k + 1..].iter().map(|another| again(another)) {
                let both = part.domain.iter().chain(&another.domain).cloned();
                claims.push(Negated::new(
                    format!("`{leaf}` is reached by one part of the {other} side only"),
                    both.chain([common_id(one, part, part, &another)]).collect(),
                    [part.counters.clone(), another.counters].concat(),
                ));
            }
        }
    }
    for (l, r) in shared.pairs() {
        of_pair(l, r, claims);
    }
}

/// Returns the claim that a visit of the first side is reached by some of the second, at the time for which `same` gives
/// a formula. None reaches it if each of them does not; the first alternative states this for witnesses, the last for
/// all values.
fn reached(
    [own, other]: [&str; 2],
    from: &Visit,
    to: &[&Visit],
    same: impl Fn(&Visit) -> String,
) -> Negated {
    let ways =
        to.iter().map(|to| none(to, from, &all(to.domain.iter().cloned().chain([same(to)]))));
    let ways = ways.collect_vec();
    let easier = all(ways.iter().filter_map(|way| way.first().cloned()));
    let every = all(ways.iter().filter_map(|way| way.last().cloned()));
    Negated {
        what: format!("`{}` of the {own} side is reached by the {other} side", from.leaf),
        formulas: from.domain.clone(),
        no_one: [easier, every].into_iter().dedup().collect(),
        constants: from.counters.clone(),
    }
}

/// Adds the claim that a side reaches a leaf only once for the same loop variables.
fn once(leaf: &str, name: &str, l: &Visit, r: &Visit, side: &Visit, claims: &mut Vec<Negated>) {
    if side.counters.is_empty() {
        return;
    }
    let again = again(side);
    let differ = side.counters.iter().zip(&again.counters);
    let differ = differ.map(|(a, b)| format!("(not (= {a} {b}))"));
    let formulas = side.domain.iter().chain(&again.domain).cloned();
    let formulas = formulas.chain([common_id(l, r, side, &again), any(differ)]);
    claims.push(Negated::new(
        format!("`{leaf}` of the {name} side is reached once"),
        formulas.collect(),
        [side.counters.clone(), again.counters.clone()].concat(),
    ));
}

/// Adds the claims about a leaf that both sides reach.
fn of_pair(l: &Visit, r: &Visit, claims: &mut Vec<Negated>) {
    let leaf = &l.leaf;
    let same = same_id(l, r, &r.id);
    if !r.must.is_empty() {
        let idle = any(r.must.iter().map(|active| format!("(not {active})")));
        claims.push(Negated::new(
            format!("every lane in which `{leaf}` is folded is active"),
            r.domain.iter().cloned().chain([idle]).collect(),
            r.counters.clone(),
        ));
    }
    let differ: Vec<String> = l
        .args
        .iter()
        .zip(&r.args)
        .filter(|(a, b)| a != b)
        .map(|(a, b)| format!("(not (= {a} {b}))"))
        .collect();
    if !differ.is_empty() {
        claims.push(Negated::new(
            format!("`{leaf}` is reached with the same indices"),
            l.domain.iter().chain(&r.domain).cloned().chain([same, any(differ)]).collect(),
            [l.counters.clone(), r.counters.clone()].concat(),
        ));
    }
}

/// Returns the claim that the right side keeps the order of two leaves.
pub(super) fn order((la, ra): (&Visit, &Visit), (lb, rb): (&Visit, &Visit)) -> Negated {
    let (lb, rb) = (again(lb), again(rb));
    let domains = la.domain.iter().chain(&ra.domain).chain(&lb.domain).chain(&rb.domain).cloned();
    let linked = [
        same_id(la, ra, &ra.id),
        same_id(&lb, &rb, &rb.id),
        before(&la.order, &lb.order),
        format!("(not {})", before(&ra.order, &rb.order)),
    ];
    let constants = [&la.counters, &ra.counters, &lb.counters, &rb.counters];
    Negated::new(
        format!("`{}` before `{}` stays before it", la.leaf, lb.leaf),
        domains.chain(linked).collect(),
        constants.into_iter().flatten().cloned().collect(),
    )
}

/// Returns the formula that the loop variables common to both sides are equal.
fn same_id(l: &Visit, r: &Visit, of: &BTreeMap<String, String>) -> String {
    let common = l.id.iter().filter(|(name, _)| r.id.contains_key(*name));
    all(common.filter_map(|(name, value)| Some(format!("(= {value} {})", of.get(name)?))))
}

/// Returns the formula that the common loop variables are equal at two times of one side.
fn common_id(l: &Visit, r: &Visit, side: &Visit, again: &Visit) -> String {
    let common = l.id.keys().filter(|name| r.id.contains_key(*name));
    all(common
        .filter_map(|name| Some(format!("(= {} {})", side.id.get(name)?, again.id.get(name)?))))
}

/// Returns the formula that one position in an order precedes another.
fn before(a: &[String], b: &[String]) -> String {
    let place = |k: usize| {
        let equal = (0..k).map(|i| format!("(= {} {})", a[i], b[i]));
        all(equal.chain([format!("(< {} {})", a[k], b[k])]))
    };
    any((0..a.len().min(b.len())).map(place))
}

/// Returns a copy of the visit with fresh counters, for a second time.
fn again(visit: &Visit) -> Visit {
    let other = |name: &String| format!("{name}_again");
    let renamed = |text: &String| {
        visit.counters.iter().fold(text.clone(), |text, name| replaced(&text, name, &other(name)))
    };
    Visit {
        leaf: visit.leaf.clone(),
        counters: visit.counters.iter().map(other).collect(),
        domain: visit.domain.iter().map(renamed).collect(),
        order: visit.order.iter().map(renamed).collect(),
        id: visit.id.iter().map(|(name, value)| (name.clone(), renamed(value))).collect(),
        free_of: visit.free_of.clone(),
        witnesses: visit.witnesses.clone(),
        args: visit.args.iter().map(renamed).collect(),
        must: visit.must.iter().map(renamed).collect(),
    }
}

/// Replaces a name in a formula.
fn replaced(text: &str, from: &str, to: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_whitespace() || c == '(' || c == ')' {
            out.push_str(if word == from { to } else { &word });
            word.clear();
            out.push(c);
        } else {
            word.push(c);
        }
    }
    out.pop();
    out
}

fn all(formulas: impl IntoIterator<Item = String>) -> String {
    joined("and", "true", formulas)
}

fn any(formulas: impl IntoIterator<Item = String>) -> String {
    joined("or", "false", formulas)
}

fn joined(word: &str, nothing: &str, formulas: impl IntoIterator<Item = String>) -> String {
    let formulas = formulas.into_iter().collect_vec();
    match &formulas[..] {
        [] => nothing.to_owned(),
        [one] => one.clone(),
        several => format!("({word} {})", several.join(" ")),
    }
}

/// Returns formulas stating that no values of a visit's counters satisfy `formula`: first for the values that follow
/// from another visit's loop variables, if there are any, then for all values.
fn none(visit: &Visit, from: &Visit, formula: &str) -> Vec<String> {
    if visit.counters.is_empty() {
        return vec![format!("(not {formula})")];
    }
    let bound = visit.counters.iter().map(|name| format!("({name} Int)")).join(" ");
    let every = format!("(forall ({bound}) (not {formula}))");
    match witnessed(visit, from, formula) {
        Some(one) => vec![format!("(not {one})"), every],
        None => vec![every],
    }
}

/// Substitutes the values of a visit's counters that follow from another visit's loop variables.
fn witnessed(visit: &Visit, from: &Visit, formula: &str) -> Option<String> {
    let mut formula = formula.to_owned();
    let mut known: Vec<(&String, String)> = Vec::new();
    for (counter, witness) in visit.counters.iter().zip(&visit.witnesses) {
        let names = |name: &str| witness.of.split([' ', '(', ')']).any(|word| word == name);
        // A variable that a rule only finds shares no name with the loop that it strip-mines; a single loop variable is
        // unambiguous.
        let only = || from.id.iter().next().filter(|_| from.id.len() == 1);
        let (_, value) = from.id.iter().find(|(name, _)| names(name)).or_else(only)?;
        let start = known.iter().fold(witness.from.clone(), |text, (c, v)| replaced(&text, c, v));
        let value = match witness.step {
            1 => format!("(- {value} {start})"),
            n => format!("(div (- {value} {start}) {n})"),
        };
        formula = replaced(&formula, counter, &value);
        known.push((counter, value));
    }
    Some(formula)
}

/// Builds a script of declarations and assertions.
pub(super) fn script(
    functions: &Functions,
    constants: &[String],
    formulas: impl Iterator<Item = String>,
) -> String {
    let formulas = formulas.collect_vec();
    let mut script = String::new();
    for op in BinaryOp::ALL {
        let name = defined(op);
        if let Some(solver) = op.solver()
            && formulas.iter().any(|formula| mentions(formula, &name))
        {
            let _ = writeln!(script, "(define-fun {name} ((a Int) (b Int)) Int {solver})");
        }
    }
    for (name, value) in WRAPPED {
        if formulas.iter().any(|formula| mentions(formula, name)) {
            let _ = writeln!(script, "(define-fun {name} ((x Int)) Int {value})");
        }
    }
    for (name, (arity, predicate)) in functions {
        let sort = if *predicate { "Bool" } else { "Int" };
        let _ = writeln!(script, "(declare-fun {name} ({}) {sort})", vec!["Int"; *arity].join(" "));
    }
    for name in constants {
        let _ = writeln!(script, "(declare-const {name} Int)");
    }
    for formula in formulas {
        let _ = writeln!(script, "(assert {formula})");
    }
    script
}
