//! The checker's terms, each once and behind its operands, so that two are equal where their numbers are;
//! how they are read, and what is known of each, derived anew from its operands.

use super::places::Place;
use super::{Checker, Means, Refusal, meant};
use ember_language::rules::Operator;
use ember_language::sexp::{Sexp, deeper};
use ember_values::affine::Affine;
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};
use std::collections::BTreeSet;

/// A term, by its place among all.
pub(super) type T = usize;

/// An operator, name or number, and its operands.
pub(super) type Node = (String, Vec<T>);

/// The form of an integer over loop variables and sizes, by name.
pub(super) type Linear = Affine<String>;

/// Dialects whose operators do what their sorts say. Of others is known which variables they bind.
const KNOWN: [&str; 5] = ["core", "emb", "equiv", "nn", "scf"];

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

    pub(super) fn fact(&self, term: T) -> &Fact {
        &self.terms[term].1
    }

    /// Reads a term, or a pattern with terms for its variables.
    pub(super) fn read(&mut self, text: &Sexp, means: &Means<'_>) -> Result<T, Refusal> {
        let items = text.list().unwrap_or(std::slice::from_ref(text));
        let (first, items) = items.split_first().ok_or(Refusal::EmptyList)?;
        let name = first.atom().ok_or(Refusal::NoWord)?;
        let operands = items.iter().map(|item| deeper(|| self.read(item, means)));
        let operands: Vec<T> = operands.collect::<Result<_, _>>()?;
        let term = match (name, &operands[..]) {
            ("var", &[name, lo, hi, step]) => self.spellings.get(&[name, lo, hi, step]).copied(),
            ("!", &[op, a, b]) => BinaryOp::parse(self.node(op).0)
                .and_then(|op| op.checked(self.fact(a).integer()?, self.fact(b).integer()?))
                .map(|n| self.add((n.to_string(), Vec::new()))),
            (v, []) if v.starts_with('?') => Some(meant(means, v)?.0),
            // Only a declaration makes the word of a loop variable.
            (word, []) if word.starts_with('@') => {
                self.known.get(&(word.to_owned(), operands)).copied()
            }
            _ => Some(self.add((name.to_owned(), operands))),
        };
        term.ok_or_else(|| Refusal::NotKnown(name.to_owned()))
    }

    /// A term with another part at a position, where the one that is expected stands.
    pub(super) fn replaced(&mut self, whole: T, way: &[Sexp], old: T, new: T) -> Option<T> {
        let Some((first, rest)) = way.split_first() else { return (whole == old).then_some(new) };
        let (name, mut operands) = self.terms[whole].0.clone();
        let below = operands.get_mut(first.atom()?.parse::<usize>().ok()?)?;
        *below = deeper(|| self.replaced(*below, rest, old, new))?;
        Some(self.add((name, operands)))
    }

    /// An operator of a dialect that is known.
    pub(super) fn operator(&self, name: &str, operands: usize) -> Option<&Operator> {
        self.rules.operator(name, operands).filter(|own| KNOWN.contains(&own.dialect.as_str()))
    }

    /// What is known of an operator, name or number with its operands.
    pub(super) fn derived(&self, name: &str, operands: &[T]) -> Fact {
        let facts: Vec<&Fact> = operands.iter().map(|t| self.fact(*t)).collect();
        let word = |i: usize| operands.get(i).map_or("", |t| self.node(*t).0);
        let known = self.operator(name, operands.len());
        let sort = known.map_or("", |own| own.result.name());
        let binds = self.rules.operator(name, operands.len()).and_then(|own| own.binds);
        let op = name.strip_prefix("scf.").unwrap_or_default();
        let variable =
            |mark| word(0).starts_with::<char>(mark).then(|| Linear::variable(word(0).into()));
        let (unary, binary) = (UnaryOp::parse(op), BinaryOp::parse(op));
        let mut fact = Fact { place: self.place(name, operands), ..Fact::default() };
        fact.dtype = match (name, sort) {
            ("iv" | "size" | "dim" | "emb.extent" | "scf.lt", _) => Some(DType::I64),
            (_, "DType") => DType::parse(name),
            (_, "'a" | "Address" | "Tensor" | "Value") => TYPED
                .iter()
                .find_map(|sort| known?.args.iter().rposition(|own| own.name() == *sort))
                .and_then(|typed| facts[typed].dtype),
            _ => self.tensors.get(name).map(|tensor| tensor.dtype),
        };
        fact.wide = match name {
            "vec" | "scf.broadcast" | "scf.lanes" => true,
            "scf.fold" | "emb.element" | "emb.extent" => false,
            _ => sort == "Tensor" || facts.iter().any(|operand| operand.wide),
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
            ("iv", [_], _) => (self.values(operands[0]), variable('@')),
            ("size", ..) => (Some((0, i64::MAX)), variable('%')),
            ("dim" | "emb.extent", [address, k], _) => {
                let extent = |Place(_, tensor, index): &Place| {
                    let k = index.len().checked_add(usize::try_from(k.integer()?).ok()?)?;
                    self.tensors.get(tensor)?.shape.get(k)?.atom()
                };
                let n = address.place.as_ref().and_then(extent);
                let range = n.and_then(|n| n.parse().ok()).map_or((0, i64::MAX), |n| (n, n));
                (Some(range), n.map(|n| Linear::variable(format!("%{n}"))))
            }
            (_, [a, b], _) => (
                binary.and_then(|op| op.range(a.range?, b.range?)),
                binary.and_then(|op| Linear::apply(op, a.linear.as_ref()?, b.linear.as_ref()?)),
            ),
            _ => (None, None),
        };
        for (at, operand) in facts.iter().enumerate() {
            let bound = binds.filter(|(variable, body)| at == *variable || at == *body);
            let bound = bound.map(|(variable, _)| word(variable));
            fact.free.extend(operand.free.iter().filter(|v| bound != Some(v.as_str())).cloned());
            fact.loops.extend(operand.loops.iter().cloned());
        }
        fact.free.extend(name.starts_with('@').then(|| name.to_owned()));
        if let Some(n) = fact.integer() {
            (fact.dtype, fact.number) = (Some(DType::I64), Some(Scalar::I64(n)));
            fact.linear = Some(Linear::constant(n));
        }
        if fact.number.is_some() {
            fact.free.clear();
        }
        fact.fits = facts.iter().all(|operand| operand.fits)
            && match (name, binds) {
                ("in" | "out", _) => self.tensors.contains_key(word(0)),
                (_, Some((variable, _))) => {
                    fact.loops.insert(word(variable).to_owned())
                        && self.bounded(name, &operands[variable..])
                }
                _ => true,
            };
        fact
    }

    /// Whether a loop has the bounds of its variable, where they stand behind it, as in loops of `scf`.
    fn bounded(&self, name: &str, operands: &[T]) -> bool {
        self.variables.get(&operands[0]).is_some_and(|bounds| match operands {
            &[x, lo, hi, step, ..] if name.starts_with("scf.") => {
                self.spellings.get(&[self.node(*bounds).1[0], lo, hi, step]) == Some(&x)
            }
            _ => !name.starts_with("scf."),
        })
    }

    /// The least and the greatest value of a variable whose loop surely runs.
    pub(super) fn values(&self, variable: T) -> Option<(i64, i64)> {
        let &[_, lo, hi, step] = self.node(*self.variables.get(&variable)?).1 else { return None };
        let (lo, hi) = (self.fact(lo).range?, self.fact(hi).range?);
        let once = self.fact(step).range.is_some_and(|step| hi.1 <= lo.0.saturating_add(step.0));
        (lo.1 < hi.0).then(|| (lo.0, if once { lo.1 } else { hi.1 - 1 }))
    }
}
