//! The checker's terms, each once and behind its operands, so that two are equal where their numbers are;
//! how they are read, and what is known of each, derived anew from its operands.

use super::places::Place;
use super::{Checker, Means};
use crate::sexp::{Sexp, deeper};
use ember_targets::scalar::{BinaryOp, DType, Scalar, UnaryOp};
use std::collections::{BTreeMap, BTreeSet};

/// A term, by its place among all.
pub(super) type T = usize;

/// An operator, name or number, and its operands.
pub(super) type Node = (String, Vec<T>);

/// Coefficients of loop variables and sizes, by name, none of them 0; that of [`ONE`] is the constant.
pub(super) type Linear = BTreeMap<String, i64>;

const ONE: &str = "1";

/// Sorts by how much an operand says of the element type of the whole, the most first.
const TYPED: [&str; 6] = ["DType", "'a", "Tensor", "Address", "Name", "Value"];

#[derive(Default)]
pub(super) struct Fact {
    /// The element type, of an address that of its tensor; and whether it may be more than one scalar.
    pub dtype: Option<DType>,
    pub wide: bool,
    pub number: Option<Scalar>,
    pub range: Option<(i64, i64)>,
    pub linear: Option<Linear>,
    /// The place that an address is.
    pub place: Option<Place>,
    /// The loop variables that it depends on, and those of its own loops.
    pub free: BTreeSet<String>,
    pub loops: BTreeSet<String>,
    /// Whether its tensors are declared, its loops have their variables' bounds, and none stands within
    /// one over the same variable.
    pub fits: bool,
}

impl Fact {
    pub fn integer(&self) -> Option<i64> {
        self.range.filter(|(least, most)| least == most).map(|(n, _)| n)
    }
}

/// The linear form of `a OP b`.
fn linear(op: BinaryOp, a: &Linear, b: &Linear) -> Option<Linear> {
    match (op, constant(a), constant(b)) {
        (BinaryOp::Add, ..) => plus(a, 1, b),
        (BinaryOp::Sub, ..) => plus(a, -1, b),
        (BinaryOp::Mul, Some(k), _) => plus(&Linear::new(), k, b),
        (BinaryOp::Mul, _, Some(k)) => plus(&Linear::new(), k, a),
        _ => None,
    }
}

/// `a + k b`.
pub(super) fn plus(a: &Linear, k: i64, b: &Linear) -> Option<Linear> {
    let mut sum = a.clone();
    for (name, own) in b {
        let at = sum.entry(name.clone()).or_default();
        *at = at.checked_add(own.checked_mul(k)?)?;
    }
    sum.retain(|_, k| *k != 0);
    Some(sum)
}

/// The number that a linear form is.
pub(super) fn constant(form: &Linear) -> Option<i64> {
    form.keys().all(|name| name == ONE).then(|| coefficient(form, ONE))
}

pub(super) fn coefficient(form: &Linear, of: &str) -> i64 {
    form.get(of).copied().unwrap_or_default()
}

pub(super) fn once(name: &str) -> Linear {
    Linear::from([(name.to_owned(), 1)])
}

impl Checker<'_> {
    pub(super) fn add(&mut self, node: Node) -> T {
        if let Some(term) = self.known.get(&node) {
            return *term;
        }
        let fact = self.derived(&node.0, &node.1);
        self.known.insert(node.clone(), self.terms.len());
        self.terms.push((node, fact));
        self.terms.len() - 1
    }

    pub(super) fn node(&self, term: T) -> (&str, &[T]) {
        let (name, operands) = &self.terms[term].0;
        (name, operands)
    }

    pub(super) fn name(&self, term: T) -> &str {
        &self.terms[term].0.0
    }

    pub(super) fn fact(&self, term: T) -> &Fact {
        &self.terms[term].1
    }

    /// Reads a term, or a pattern with terms for its variables.
    pub(super) fn read(&mut self, text: &Sexp, means: &Means<'_>) -> Result<T, String> {
        let items = text.list().unwrap_or(std::slice::from_ref(text));
        let (first, items) = items.split_first().ok_or("an empty list")?;
        let name = first.atom().ok_or("a word was expected")?;
        let operands = items.iter().map(|item| deeper(|| self.read(item, means)));
        let operands: Vec<T> = operands.collect::<Result<_, _>>()?;
        let number = |t: T| self.fact(t).integer();
        let term = match (name, &operands[..]) {
            ("var", &[name, lo, hi, step]) => self.spellings.get(&[name, lo, hi, step]).copied(),
            ("!", &[op, a, b]) => BinaryOp::parse(self.name(op))
                .and_then(|op| op.checked(number(a)?, number(b)?))
                .map(|n| self.add((n.to_string(), Vec::new()))),
            (v, []) if v.starts_with('?') => means.get(v).map(|(term, _)| *term),
            // Only a declaration makes the word of a loop variable.
            (word, []) if word.starts_with('@') => {
                self.known.get(&(word.to_owned(), operands)).copied()
            }
            _ => Some(self.add((name.to_owned(), operands))),
        };
        term.ok_or_else(|| format!("`{name}` is not known"))
    }

    /// A term with another part at a position, where the one that is expected stands.
    pub(super) fn replaced(&mut self, whole: T, way: &[Sexp], old: T, new: T) -> Option<T> {
        let Some((first, rest)) = way.split_first() else { return (whole == old).then_some(new) };
        let (name, mut operands) = self.terms[whole].0.clone();
        let below = operands.get_mut(first.atom()?.parse::<usize>().ok()?)?;
        *below = deeper(|| self.replaced(*below, rest, old, new))?;
        Some(self.add((name, operands)))
    }

    /// What is known of an operator, name or number with its operands.
    pub(super) fn derived(&self, name: &str, operands: &[T]) -> Fact {
        let facts: Vec<&Fact> = operands.iter().map(|t| self.fact(*t)).collect();
        let word = |i: usize| operands.get(i).map_or("", |t| self.name(*t));
        let operator = self.rules.operator(name, operands.len());
        let op = name.strip_prefix("scf.").unwrap_or_default();
        let (unary, binary) = (UnaryOp::parse(op), BinaryOp::parse(op));
        let mut fact = Fact { place: self.place(name, operands), ..Fact::default() };
        fact.dtype = match (name, operator.sort.as_str()) {
            ("iv" | "size" | "dim" | "emb.extent" | "scf.lt", _) => Some(DType::I64),
            (_, "DType") => DType::parse(name),
            (_, "'a" | "Address" | "Tensor" | "Value") => TYPED
                .iter()
                .find_map(|sort| operator.sorts.iter().rposition(|own| own == sort))
                .and_then(|typed| facts[typed].dtype),
            _ => self.tensors.get(name).map(|tensor| tensor.dtype),
        };
        fact.wide = match name {
            "vec" | "scf.broadcast" | "scf.lanes" => true,
            "scf.fold" | "emb.element" | "emb.extent" => false,
            _ => operator.sort == "Tensor" || facts.iter().any(|operand| operand.wide),
        };
        let dtype = fact.dtype;
        fact.number = match (name, &facts[..]) {
            ("const", _) => word(1).parse().ok().zip(dtype).map(|(x, d)| Scalar::from_f64(d, x)),
            ("scf.one", _) => dtype.map(|dtype| Scalar::from_f64(dtype, 1.0)),
            ("scf.identity", _) => BinaryOp::parse(word(0)).and_then(|op| op.identity(dtype?)),
            ("scf.cast" | "scf.convert", [_, x]) => x.number.zip(dtype).map(|(x, d)| x.cast(d)),
            ("rename" | "fix", [_, _, body]) => body.number,
            (_, [x]) => unary.and_then(|op| op.apply(x.number?)),
            (_, [a, b]) => binary.and_then(|op| op.apply(a.number?, b.number?)),
            (word, []) => word.parse().ok().map(Scalar::I64),
            _ => None,
        };
        (fact.range, fact.linear) = match (name, &facts[..], fact.number) {
            (.., Some(Scalar::I64(n))) => (Some((n, n)), None),
            ("iv", [_], _) => (self.values(operands[0]), Some(once(word(0)))),
            ("size" | "dim" | "emb.extent", ..) => {
                let n = self.extent(operands).and_then(|n| n.parse().ok());
                let range = n.map_or((0, i64::MAX), |n| (n, n));
                (Some(range), word(0).starts_with('%').then(|| once(word(0))))
            }
            ("scf.cast" | "scf.convert", [_, x], _) if dtype == x.dtype => {
                (x.range, x.linear.clone())
            }
            (_, [a, b], _) => (
                binary.and_then(|op| op.range(a.range?, b.range?)),
                binary.and_then(|op| linear(op, a.linear.as_ref()?, b.linear.as_ref()?)),
            ),
            _ => (None, None),
        };
        for (at, operand) in facts.iter().enumerate() {
            let bound = operator.binds.filter(|(variable, body)| at == *variable || at == *body);
            let bound = bound.map(|(variable, _)| word(variable));
            fact.free.extend(operand.free.iter().filter(|v| bound != Some(v.as_str())).cloned());
            fact.loops.extend(operand.loops.iter().cloned());
        }
        fact.free.extend(name.starts_with('@').then(|| name.to_owned()));
        if let Some(n) = fact.integer() {
            (fact.dtype, fact.number) = (Some(DType::I64), Some(Scalar::I64(n)));
            fact.linear = plus(&Linear::new(), n, &once(ONE));
        }
        if fact.number.is_some() {
            fact.free.clear();
        }
        fact.fits = facts.iter().all(|operand| operand.fits)
            && match (name, operator.binds) {
                ("in" | "out", _) => self.tensors.contains_key(word(0)),
                (_, Some((variable, _))) => {
                    fact.loops.insert(word(variable).to_owned())
                        && self.bounded(name, &operands[variable..])
                }
                _ => true,
            };
        fact
    }

    /// Whether a loop has the bounds of its variable. Only loops of `scf` have them behind it.
    fn bounded(&self, name: &str, operands: &[T]) -> bool {
        let called = self.variables.get(&operands[0]).map(|bounds| self.node(*bounds).1[0]);
        match (called, operands) {
            (Some(called), &[x, lo, hi, step, ..]) if name.starts_with("scf.") => {
                self.spellings.get(&[called, lo, hi, step]) == Some(&x)
            }
            (called, _) => called.is_some() && !name.starts_with("scf."),
        }
    }

    /// The least and the greatest value of a variable whose loop surely runs.
    pub(super) fn values(&self, variable: T) -> Option<(i64, i64)> {
        let bounds = self.node(*self.variables.get(&variable)?).1;
        let [_, lo, hi, step] = bounds else { return None };
        let [lo, hi, step] = [lo, hi, step].map(|bound| self.fact(*bound).range);
        let (lo, hi) = (lo?, hi?);
        let once = step.is_some_and(|step| hi.1 <= lo.0.saturating_add(step.0));
        (lo.1 < hi.0).then(|| (lo.0, if once { lo.1 } else { hi.1 - 1 }))
    }
}
