//! The checker's terms: their storage, their reader, and the facts derived about each. Terms are stored once, after
//! their operands, so that two terms are equal if their numbers are equal.

use super::places::Place;
use super::typing::LARGEST;
use super::{Checker, Means, Refusal, meant};
use ember_language::rules::{Kind, Loop, OpInfo, Sort};
use ember_language::sexp::{Sexp, deeper};
use ember_values::affine::Affine;
use ember_values::primitive::form::{By, Condition, Form, Number, Operation};
use ember_values::primitive::{Typing, Width};
use ember_values::scalar::{BinaryOp, DType, Linear as Effect, Scalar};
use std::collections::{BTreeMap, BTreeSet};

/// A term, by its index among all terms.
pub(super) type T = usize;

/// An operator, name or number with its operands.
pub(super) type Node = (String, Vec<T>);

/// An integer as a linear form over named loop variables and sizes.
pub(super) type Linear = Affine<String>;

#[derive(Default)]
pub(super) struct Fact {
    /// The sort; `None` for what has none.
    pub sort: Option<Sort>,
    /// The element type (of an address, the type of its tensor), and true if the term may have more than one lane.
    pub dtype: Option<DType>,
    pub wide: bool,
    pub number: Option<Scalar>,
    pub range: Option<(i64, i64)>,
    pub linear: Option<Linear>,
    /// The place of an address.
    pub place: Option<Place>,
    /// The loop variables that the term depends on, and the variables of the loops within it.
    pub free: BTreeSet<String>,
    pub loops: BTreeSet<String>,
    /// True if the tensors of the term are declared, its loops have the bounds of their variables, and no loop is
    /// nested in one over the same variable.
    pub fits: bool,
    /// Returns true if sorts, element types and ranks are as operators ask.
    pub typed: bool,
}

impl Fact {
    pub fn integer(&self) -> Option<i64> {
        self.range.filter(|(least, most)| least == most).map(|(n, _)| n)
    }

    /// Returns the least and the greatest value of an index; those of its type if no others are known.
    fn interval(&self) -> Option<(i64, i64)> {
        let index = self.dtype == Some(DType::I64) && self.place.is_none();
        self.range.or(index.then_some((i64::MIN, i64::MAX)))
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

    /// Reads a term, or a pattern whose variables are replaced by terms.
    pub(super) fn read(&mut self, text: &Sexp, means: &Means<'_>) -> Result<T, Refusal> {
        let items = text.list().unwrap_or(std::slice::from_ref(text));
        let (first, items) = items.split_first().ok_or(Refusal::EmptyList)?;
        let name = first.atom().ok_or(Refusal::NoWord)?;
        // Parentheses without operands are around an operator: no reader of programs takes them around a number.
        let alone = text.list().is_some() && items.is_empty();
        if alone && self.rules.table().get(name.into(), 0).is_none() {
            return Err(Refusal::NotApplicable(name.to_owned()));
        }
        let operands = items.iter().map(|item| deeper(|| self.read(item, means)));
        let operands: Vec<T> = operands.collect::<Result<_, _>>()?;
        if let Some(bounds) = self.bounds(name, &operands) {
            let known = self.spellings.get(&bounds).and_then(|words| words.first()).copied();
            return known.ok_or_else(|| Refusal::NotKnown(name.to_owned()));
        }
        let term = match (name, &operands[..]) {
            ("!", &[op, a, b]) => BinaryOp::parse(self.node(op).0)
                .and_then(|op| op.checked(self.fact(a).integer()?, self.fact(b).integer()?))
                .map(|n| self.add((n.to_string(), Vec::new()))),
            (v, []) if v.starts_with('?') => Some(meant(means, v)?.0),
            // Only a declaration introduces the word of a loop variable.
            (word, []) if word.starts_with('@') => {
                self.known.get(&(word.to_owned(), operands)).copied()
            }
            _ => Some(self.add((name.to_owned(), operands))),
        };
        term.ok_or_else(|| Refusal::NotKnown(name.to_owned()))
    }

    /// Returns the part of a term at a position.
    pub(super) fn part(&self, whole: T, way: &[Sexp]) -> Option<T> {
        way.iter().try_fold(whole, |term, at| {
            self.node(term).1.get(at.atom()?.parse::<usize>().ok()?).copied()
        })
    }

    /// Replaces the part of a term at a position; `None` unless the expected part is there.
    pub(super) fn replaced(&mut self, whole: T, way: &[Sexp], old: T, new: T) -> Option<T> {
        let Some((first, rest)) = way.split_first() else { return (whole == old).then_some(new) };
        let (name, mut operands) = self.terms[whole].0.clone();
        let below = operands.get_mut(first.atom()?.parse::<usize>().ok()?)?;
        *below = deeper(|| self.replaced(*below, rest, old, new))?;
        Some(self.add((name, operands)))
    }

    /// Returns the declarations of an operator that belongs to no unit. For an operator of a unit, only the binding is
    /// known.
    pub(super) fn operator(&self, name: &str, operands: usize) -> Option<&OpInfo> {
        self.rules.table().get(name.into(), operands).filter(|own| own.has_facts())
    }

    /// Returns the positions of the variable that an operator binds and of the operand in which it binds it.
    pub(super) fn binds(&self, name: &str, operands: usize) -> Option<(usize, usize)> {
        self.rules.table().binds(name.into(), operands)
    }

    /// Returns the form of a term; `None` for an operator of a unit.
    pub(super) fn form(&self, term: T) -> Option<Form<T>> {
        let (name, operands) = self.node(term);
        self.operator(name, operands.len())?.form(operands)
    }

    /// Returns the operands of a term that is this operation.
    pub(super) fn binary(&self, term: T, is: impl Fn(BinaryOp) -> bool) -> Option<[T; 2]> {
        match self.form(term)? {
            Form::Binary(Operation::Is(op), operands) => is(op).then_some(operands),
            _ => None,
        }
    }

    /// Returns the name and the bounds of a loop variable that is written with the operator used in declarations.
    fn bounds(&self, name: &str, operands: &[T]) -> Option<[T; 4]> {
        let declared = self.rules.table().declarer()?;
        let own = self.operator(name, operands.len()).filter(|_| declared.as_str() == name)?;
        own.variable().map(|places| places.map(|at| operands[at]))
    }

    /// Returns true if a term is a leaf: a number, a name of the model or the word of a loop variable.
    pub(super) fn is_leaf(&self, name: &str, operands: &[T]) -> bool {
        let word = name.starts_with(['%', '@']) || name.parse::<f64>().is_ok();
        operands.is_empty() && word && self.rules.table().get(name.into(), 0).is_none()
    }

    /// Derives the facts about an operator, name or number with its operands.
    pub(super) fn derived(&self, name: &str, operands: &[T]) -> Fact {
        let facts: Vec<&Fact> = operands.iter().map(|t| self.fact(*t)).collect();
        let word = |i: usize| operands.get(i).map_or("", |t| self.node(*t).0);
        let known = self.operator(name, operands.len());
        let binds = self.binds(name, operands.len());
        let form = known.and_then(|own| own.form(operands));
        let place = self.place(name, operands);
        let mut fact = Fact { place, sort: self.sorted(name, operands), ..Fact::default() };
        fact.dtype = match known.and_then(|own| own.typing) {
            Some(Typing::I64) => Some(DType::I64),
            Some(Typing::Of(at)) => facts.get(at).and_then(|own| own.dtype),
            Some(Typing::Named(at)) => DType::parse(word(at)),
            None => fact.place.as_ref().and_then(|own| self.tensors.get(&own.1)).map(|t| t.dtype),
        };
        fact.wide = match known.and_then(|own| own.width) {
            Some(Width::One) => false,
            // A one-lane vector is accepted together with scalars, so that every value operand counts.
            Some(Width::Of(at)) => facts.iter().enumerate().any(|(i, own)| {
                let kind = known.and_then(|info| info.operand_kinds[i]);
                own.wide && (i == at || kind == Some(Kind::Value))
            }),
            Some(Width::Count(_)) => true,
            None => {
                let tensor = known.and_then(|own| own.kind) == Some(Kind::Tensor);
                tensor || facts.iter().any(|operand| operand.wide)
            }
        };
        let dtype = fact.dtype;
        let number = |term: T| self.fact(term).number;
        fact.number = match form {
            Some(Form::Number { value: Number::Literal(number), .. }) => {
                let number = self.node(number).0.parse().ok().zip(dtype);
                number.map(|(x, dtype)| Scalar::from_f64(dtype, x))
            }
            Some(Form::Number { value: Number::Start(op), .. }) => {
                let op = op.known(|op| BinaryOp::parse(self.node(op).0));
                op.and_then(|op| op.identity(dtype?))
            }
            Some(Form::Carried { x, to: Some(_) }) => {
                number(x).zip(dtype).map(|(x, dtype)| x.cast(dtype))
            }
            Some(Form::Replaced { by: By::Variable(_), x, .. }) => number(x),
            Some(Form::Replaced { variable, by: By::Value(value), x }) => number(x).or_else(|| {
                let values = [(variable, number(value)?)];
                self.number_with(x, &values.into(), &mut BTreeMap::new())
            }),
            Some(Form::Unary(Operation::Is(op), x)) => number(x).and_then(|x| op.apply(x)),
            Some(Form::Binary(Operation::Is(op), [a, b])) => {
                number(a).zip(number(b)).and_then(|(a, b)| op.apply(a, b))
            }
            Some(Form::Select { condition: Condition::NotZero(condition), of: [a, b] }) => {
                let chosen = self.fact(condition).integer();
                chosen.and_then(|n| number(if n != 0 { a } else { b }))
            }
            None if operands.is_empty() => name.parse().ok().map(Scalar::I64),
            _ => None,
        };
        let variable = |name: &str, mark: char| {
            name.starts_with(mark).then(|| Linear::variable(name.to_owned()))
        };
        (fact.range, fact.linear) = match (form, fact.number, form.and_then(Form::as_iv)) {
            (_, Some(Scalar::I64(n)), _) => (Some((n, n)), None),
            (_, _, Some(own)) => {
                let known = Some(own).filter(|own| !self.anywhere.contains(own));
                (known.and_then(|own| self.values(own)), variable(self.node(own).0, '@'))
            }
            (Some(Form::Replaced { variable, by: By::Value(value), x }), _, _) => {
                let linear = |term: T| self.fact(term).linear.as_ref();
                let variable = self.node(variable).0.to_owned();
                let fixed = linear(x).zip(linear(value));
                let fixed = fixed.filter(|(x, _)| !self.follows(x, &variable));
                (None, fixed.and_then(|(x, value)| x.with(variable, value)))
            }
            (Some(Form::Number { value: Number::Size(name), .. }), _, _) => {
                (Some((0, LARGEST)), variable(self.node(name).0, '%'))
            }
            (Some(Form::Extent { of, k }), _, _) => {
                let extent = |Place(_, tensor, index): &Place| {
                    let k = usize::try_from(self.fact(k).integer()?).ok()?;
                    self.tensors.get(tensor)?.shape.get(index.len().checked_add(k)?)?.atom()
                };
                let n = self.fact(of.operand()).place.as_ref().and_then(extent);
                let range = n.and_then(|n| n.parse().ok()).map_or((0, LARGEST), |n| (n, n));
                (Some(range), n.map(|n| Linear::variable(format!("%{n}"))))
            }
            (Some(Form::Select { condition: Condition::NotZero(_), of: [a, b] }), _, _) => {
                let ranges = self.fact(a).range.zip(self.fact(b).range);
                (ranges.map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))), None)
            }
            (Some(Form::Binary(Operation::Is(op), operands)), _, _) => {
                let [a, b] = operands.map(|operand| self.fact(operand));
                let range = a.interval().zip(b.interval()).and_then(|(a, b)| op.range(a, b));
                let range = range.or(op.compares().then_some((0, 1)));
                let range = self.remainders(op, operands).or(range);
                let linear = a.linear.as_ref().zip(b.linear.as_ref());
                (range, linear.and_then(|(a, b)| Linear::apply(op, a, b)))
            }
            _ => (None, None),
        };
        for (at, operand) in facts.iter().enumerate() {
            let bound = binds.filter(|(variable, body)| at == *variable || at == *body);
            let bound = bound.map(|(variable, _)| word(variable));
            fact.free.extend(operand.free.iter().filter(|v| bound != Some(v.as_str())).cloned());
            fact.loops.extend(operand.loops.iter().cloned());
        }
        fact.free.extend(name.starts_with('@').then(|| name.to_owned()));
        // Where another variable has another value, this one may have none that its loop gives it.
        fact.free.extend(form.and_then(Form::as_iv).into_iter().flat_map(|own| self.bounding(own)));
        if let Some(n) = fact.integer() {
            (fact.dtype, fact.number) = (Some(DType::I64), Some(Scalar::I64(n)));
            fact.linear = Some(Linear::constant(n));
        }
        if fact.number.is_some() {
            fact.free.clear();
        }
        fact.fits = facts.iter().all(|operand| operand.fits)
            && match (form, binds) {
                (Some(Form::Root { name, .. }), _) => self.tensors.contains_key(self.node(name).0),
                // What is outside of the body, such as the start of a reduction, is in no loop over the variable.
                (_, Some((variable, body))) => {
                    fact.loops.insert(word(variable).to_owned());
                    !facts[body].loops.contains(word(variable))
                        && self.bounded(
                            operands[variable],
                            known.and_then(OpInfo::looped),
                            operands,
                        )
                }
                _ => true,
            };
        fact.typed = self.typed(name, operands, &fact);
        fact
    }

    /// Returns the number that a value is if loop variables have these values, as far as arithmetic alone gives it.
    /// `known` holds the numbers that were found before.
    fn number_with(
        &self,
        term: T,
        values: &BTreeMap<T, Scalar>,
        known: &mut BTreeMap<T, Option<Scalar>>,
    ) -> Option<Scalar> {
        let fact = self.fact(term);
        if let Some(number) = fact.number.map(Some).or_else(|| known.get(&term).copied()) {
            return number;
        }
        let mut of = |x: T| deeper(|| self.number_with(x, values, known));
        let form = self.form(term)?;
        let given = form.as_iv().map(|variable| values.get(&variable).copied());
        let number = given.unwrap_or_else(|| match form {
            Form::Replaced { variable, by: By::Value(value), x } => {
                let value = of(value);
                let mut values = values.clone();
                // The variable has this value within, whether it is known or not.
                values.remove(&variable);
                values.extend(value.map(|value| (variable, value)));
                deeper(|| self.number_with(x, &values, &mut BTreeMap::new()))
            }
            Form::Unary(Operation::Is(op), x) => of(x).and_then(|x| op.apply(x)),
            Form::Binary(Operation::Is(op), [a, b]) => {
                of(a).zip(of(b)).and_then(|(a, b)| op.apply(a, b))
            }
            Form::Select { condition: Condition::NotZero(condition), of: [a, b] } => {
                of(condition).and_then(|n| of(if n == Scalar::I64(0) { b } else { a }))
            }
            _ => None,
        });
        known.insert(term, number);
        number
    }

    /// Returns the range of `x - (x / c) * c`, the remainder of a truncated division, with the factors in either order;
    /// `None` for any other operation.
    fn remainders(&self, op: BinaryOp, [x, product]: [T; 2]) -> Option<(i64, i64)> {
        let quotient = |term| self.binary(term, |op| op.undoes() == Some(Effect::Product));
        let [a, b] = self.binary(product, |op| op.linear() == Some(Effect::Product))?;
        let c = if quotient(a) == Some([x, b]) { b } else { a };
        let divided = [a, b].iter().any(|factor| quotient(*factor) == Some([x, c]));
        let [x, c] = [self.fact(x).interval()?, self.fact(c).interval()?];
        BinaryOp::remainders(x, c).filter(|_| op.linear() == Some(Effect::Difference) && divided)
    }

    /// Returns true if a variable is declared and the loop over it, unless it belongs to a unit, has the declared
    /// bounds.
    fn bounded(&self, variable: T, own: Option<Loop>, operands: &[T]) -> bool {
        self.variables.get(&variable).is_some_and(|bounds| {
            own.is_none_or(|own| {
                let [lo, hi, step] = [own.lo, own.hi, own.step].map(|at| operands[at]);
                let spelled = [self.node(*bounds).1[0], lo, hi, step];
                self.spellings.get(&spelled).is_some_and(|words| words.contains(&variable))
            })
        })
    }

    /// Returns the least and the greatest value that a loop may give its variable; `None` where it is not known, or
    /// where the loop never runs.
    pub(super) fn values(&self, variable: T) -> Option<(i64, i64)> {
        let [lo, hi] = self.ends(variable)?;
        let &[_, _, _, step] = self.node(*self.variables.get(&variable)?).1 else { return None };
        let step = self.fact(step).integer()?;
        // The last value is as many steps from the first as there is room for.
        let last = match lo.0 == lo.1 {
            true => {
                hi.1.checked_sub(1)?
                    .checked_sub(lo.0)?
                    .checked_div(step)?
                    .checked_mul(step)?
                    .checked_add(lo.0)?
            }
            false if hi.1 <= lo.0.saturating_add(step) => lo.1,
            false => hi.1 - 1,
        };
        (lo.0 < hi.1).then_some((lo.0, last))
    }

    /// Returns true if a loop is known to run.
    pub(super) fn runs(&self, variable: T) -> bool {
        self.ends(variable).is_some_and(|[lo, hi]| lo.1 < hi.0)
    }

    /// Returns true if a loop is known never to run.
    pub(super) fn never_runs(&self, variable: T) -> bool {
        self.ends(variable).is_some_and(|[lo, hi]| hi.1 <= lo.0)
    }

    /// Returns the ranges of a loop's bounds.
    fn ends(&self, variable: T) -> Option<[(i64, i64); 2]> {
        let &[_, lo, hi, _] = self.node(*self.variables.get(&variable)?).1 else { return None };
        Some([self.fact(lo).range?, self.fact(hi).range?])
    }
}
