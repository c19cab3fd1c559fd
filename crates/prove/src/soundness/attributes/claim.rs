//! Tests each attribute in one case.

use super::What;
use super::subject::Subject;
use crate::soundness::compare::{LOWERED_STEPS, Meaning, meaning};
use crate::soundness::instance::Instance;
use egg::Id;
use ember_interpret::{Elements, Error, Interpreter, Trace, Value};
use ember_language::rules::{Kind, Loop, OpInfo};
use ember_language::term::Head;
use ember_values::primitive::{Ask, Typing, Width};
use ember_values::scalar::{BinaryOp, DType, Scalar};
use std::collections::BTreeMap;

/// The result of testing a claim in one case.
pub(super) enum Found {
    /// The claim is true in this case.
    Agrees,
    /// The case does not test the claim, for this reason.
    Nothing(&'static str),
    /// The claim is false in this case.
    Wrong(String),
    /// The claim is contradicted, if no other case supports it; the text describes the contradiction.
    Against(String),
}

const UNTYPED: &str = "no case has an element";
const EMPTY: &str = "no case has a tensor with elements";
const FAULT: &str = "an operand alone has no meaning in any case";

impl Subject {
    /// Tests a claim.
    pub fn test(&self, info: &OpInfo, what: &What) -> Found {
        let found = match what {
            What::Type(typing) => self.typed(*typing),
            What::Lanes(width) => self.wide(*width),
            What::Cost(_) => Ok(Found::Nothing("no run has a price")),
            What::Rank(rank) => self.of_rank(*rank),
            What::Asks(at, word) => match Ask::default().and(word) {
                Some(ask) => self.asked(info, *at, ask),
                None => Ok(Found::Nothing(UNTYPED)),
            },
            What::Reads(ats) => self.touched(info, ats, "reads", |trace| &trace.reads),
            What::Writes(ats) => self.touched(info, ats, "writes", |trace| &trace.writes),
            What::Loop => match info.looped() {
                Some(own) => self.loops(own),
                None => Ok(Found::Nothing("it is no loop")),
            },
            What::Binds(variable, body) => self.binds(*variable, *body),
            What::Lanewise => self.lanewise(info),
            What::Same(_, other, places) => {
                let operands: Vec<Id> = places.iter().map(|at| self.operands[*at]).collect();
                let mut instance = self.instance.clone();
                let term = instance.terms.op(other, &operands);
                Ok(self.same_as(&instance, term))
            }
            What::Boundary => Ok(self.same_as(&self.instance, self.operands[0])),
            What::Commutes => {
                let operands: Vec<Id> = self.operands.iter().rev().copied().collect();
                let mut instance = self.instance.clone();
                Ok(match self.of(&mut instance, &operands) {
                    Some(term) => self.same_as(&instance, term),
                    None => Found::Nothing(FAULT),
                })
            }
        };
        found.unwrap_or(Found::Nothing(FAULT))
    }

    pub fn fresh(&self) -> Result<Interpreter, Error> {
        self.interpreter(&self.instance)
    }

    /// Returns the element type of the result; `None` if it has no element.
    fn own_type(&self) -> Option<DType> {
        match &self.case.left {
            Meaning::Value(Value::Scalar(x)) => Some(x.dtype()),
            Meaning::Value(Value::Lanes(lanes)) => lanes.iter().flatten().next().map(|x| x.dtype()),
            Meaning::Places(_) | Meaning::Store(..) => None,
        }
    }

    fn typed(&self, typing: Typing<usize>) -> Result<Found, Error> {
        let Some(found) = self.own_type() else { return Ok(Found::Nothing(UNTYPED)) };
        let claimed = match typing {
            Typing::I64 => DType::I64,
            Typing::Of(at) => self.fresh()?.type_at(self.operands[at])?,
            Typing::Named(at) => {
                let name = self.instance.terms[self.operands[at]].name();
                match name.and_then(DType::parse) {
                    Some(dtype) => dtype,
                    None => return Ok(Found::Wrong("the operand names no type".to_owned())),
                }
            }
        };
        Ok(if claimed == found {
            Found::Agrees
        } else {
            Found::Wrong(format!("claimed:    an {claimed}\nfound:      an {found}\n"))
        })
    }

    fn wide(&self, width: Width<usize>) -> Result<Found, Error> {
        let Meaning::Value(value) = &self.case.left else {
            return Ok(Found::Nothing("only values are counted in lanes"));
        };
        let claimed = match width {
            Width::One => 1,
            Width::Of(at) => self.lanes_of(at)?,
            Width::Count(at) => match self.instance.terms[self.operands[at]].head() {
                Head::Int(n) => usize::try_from(n).unwrap_or(0),
                _ => return Ok(Found::Wrong("the operand is no literal number\n".to_owned())),
            },
        };
        let found = value.lanes();
        Ok(if claimed == found {
            Found::Agrees
        } else {
            Found::Wrong(format!("claimed:    {claimed} lanes\nfound:      {found} lanes\n"))
        })
    }

    /// Tests the rank of a tensor.
    fn of_rank(&self, claimed: usize) -> Result<Found, Error> {
        if self.instance.kind != Kind::Tensor {
            return Ok(Found::Nothing("a rule says what its elements are alone"));
        }
        let found = self.fresh()?.rank_at(self.instance.lhs)?;
        Ok(if claimed == found {
            Found::Agrees
        } else {
            Found::Wrong(format!("claimed:    rank {claimed}\nfound:      rank {found}\n"))
        })
    }

    pub fn lanes_of(&self, at: usize) -> Result<usize, Error> {
        let mut run = self.fresh()?;
        match self.kinds[at] {
            Some(Kind::Address) => run.places(self.operands[at]).map(|places| places.len()),
            _ => run.eval(self.operands[at]).map(|value| value.lanes()),
        }
    }

    /// Tests that every element touched is claimed, or is touched by the operands themselves.
    fn touched(
        &self,
        info: &OpInfo,
        claimed: &[usize],
        verb: &str,
        of: fn(&Trace) -> &Elements,
    ) -> Result<Found, Error> {
        let mut run = self.fresh()?.traced();
        evaluate(&mut run, self.instance.kind, self.instance.lhs)?;
        let trace = run.trace();
        // An operator that takes an element can take one of a tensor that has none.
        for (operand, kind) in self.operands.iter().zip(&self.kinds) {
            let taken = info.kind == Some(Kind::Value) && *kind == Some(Kind::Tensor);
            if taken && self.fresh()?.elements(*operand)?.is_empty() {
                return Ok(Found::Nothing(EMPTY));
            }
        }
        let mut allowed = of(&self.operands_trace(info)?).clone();
        for at in claimed {
            allowed.extend(self.fresh()?.covered(self.operands[*at])?);
        }
        Ok(match of(&trace).difference(&allowed).next() {
            None => Found::Agrees,
            Some((name, at)) => Found::Wrong(format!(
                "claimed:    nothing else\nfound:      it {verb} element {at} of {name}\n"
            )),
        })
    }

    /// Returns the elements that the operands and the indices of an element touch, evaluated one after the other. An
    /// operand in which a variable is bound is evaluated for all values of the variable. Something can be put in the
    /// place of a variable that takes no value if the operand does not mention the variable: it is then evaluated once.
    fn operands_trace(&self, info: &OpInfo) -> Result<Trace, Error> {
        let mut run = self.fresh()?.traced();
        for index in &self.indices {
            evaluate(&mut run, Kind::Value, *index)?;
        }
        for (at, operand) in self.operands.iter().enumerate() {
            let Some(kind) = self.kinds[at].or(Some(self.instance.kind)) else { continue };
            if !kind.is_evaluated() {
                continue;
            }
            match info.binds {
                Some((variable, body)) if body == at => {
                    let (lo, count, step) = run.values_of(self.operands[variable])?;
                    let replaced = info.form.is_some_and(|form| form.is_elsewhere());
                    for k in 0..count.max(u64::from(replaced)) {
                        let value = lo.wrapping_add(step.wrapping_mul(k as i64));
                        run.bind(self.operands[variable], value)?;
                        evaluate(&mut run, kind, *operand)?;
                    }
                }
                _ => evaluate(&mut run, kind, *operand)?,
            }
        }
        Ok(run.trace())
    }

    /// Tests a loop by executing it from its parts.
    fn loops(&self, own: Loop) -> Result<Found, Error> {
        let part = |at: usize| self.operands[at];
        let mut run = self.fresh()?;
        let index = |run: &mut Interpreter, at: usize| {
            run.eval(part(at)).map(|value| match value {
                Value::Scalar(Scalar::I64(n)) => Some(n),
                _ => None,
            })
        };
        let (lo, hi) = (index(&mut run, own.lo)?, index(&mut run, own.hi)?);
        let step = index(&mut run, own.step)?;
        let (Some(lo), Some(hi), Some(step @ 1..)) = (lo, hi, step) else {
            return Ok(Found::Wrong("a bound is no scalar i64\n".to_owned()));
        };
        let mut sum = match own.folds {
            Some((op, start)) => {
                let op = self.instance.terms[part(op)].name().and_then(BinaryOp::parse);
                Some((op, run.eval(part(start))?))
            }
            None => None,
        };
        let mut next = Some(lo);
        while let Some(value) = next.filter(|value| *value < hi) {
            run.bind(part(own.variable), value)?;
            match &mut sum {
                None => run.run(part(own.body))?,
                Some((op, sum)) => {
                    let x = run.eval(part(own.body))?;
                    let (Value::Scalar(a), Value::Scalar(b), Some(op)) = (&*sum, x, *op) else {
                        return Ok(Found::Nothing("lanes are folded"));
                    };
                    let Some(folded) = op.apply(*a, b) else { return Ok(Found::Nothing(FAULT)) };
                    *sum = Value::Scalar(folded);
                }
            }
            next = value.checked_add(step);
        }
        let found = match sum {
            Some((_, sum)) => Meaning::Value(sum),
            None => {
                let phases = run.phases();
                Meaning::Store(run.into_store(), BTreeMap::new(), phases)
            }
        };
        Ok(self.beside(&found))
    }

    /// Tests that the value of a bound variable outside the operator has no effect.
    fn binds(&self, variable: usize, body: usize) -> Result<Found, Error> {
        let own = self.operands[variable];
        let outside = self.operands.iter().enumerate();
        let mut outside = outside.filter(|(at, _)| *at != body && *at != variable);
        if outside.any(|(_, operand)| self.instance.mentions(*operand, own)) {
            return Ok(Found::Nothing("the variable stands outside as well"));
        }
        let mut run = self.fresh()?;
        let (lo, count, step) = run.values_of(own)?;
        if count < 2 {
            return Ok(Found::Nothing("the variable has one value"));
        }
        let now = self.case.environment.iter().find(|(v, _)| *v == own).map(|(_, x)| *x);
        let other = if now == Some(lo) { lo.wrapping_add(step) } else { lo };
        let mut environment = self.case.environment.clone();
        environment.retain(|(v, _)| *v != own);
        environment.push((own, other));
        let found = meaning(
            &self.instance,
            self.instance.lhs,
            &self.case.store,
            &environment,
            (self.case.memory, LOWERED_STEPS),
        );
        Ok(match found {
            Ok(found) => self.beside(&found),
            Err(error) => Found::Wrong(format!(
                "claimed:    the variable's value outside is of no account\nfound:      {error}\n"
            )),
        })
    }

    /// Tests that each lane of the result depends on the same lanes of the operands alone.
    fn lanewise(&self, info: &OpInfo) -> Result<Found, Error> {
        let Meaning::Value(result) = &self.case.left else {
            return Ok(Found::Nothing("it is no value"));
        };
        let mut operands: Vec<Option<Value>> = Vec::new();
        for (at, operand) in self.operands.iter().enumerate() {
            operands.push(match self.kinds[at] {
                Some(Kind::Value) if !info.literals.contains(&at) => {
                    Some(self.fresh()?.eval(*operand)?)
                }
                Some(kind) if kind.is_evaluated() && kind != Kind::Value => {
                    return Ok(Found::Nothing("an operand is no value"));
                }
                _ => None,
            });
        }
        let most = operands.iter().flatten().map(Value::lanes).max().unwrap_or(1);
        if most == 1 {
            return Ok(Found::Nothing("no case has several lanes"));
        }
        let Value::Lanes(lanes) = result else {
            return Ok(Found::Wrong(format!(
                "claimed:    each of {most} lanes by itself\nfound:      one scalar, {result}\n"
            )));
        };
        let mut instance = self.instance.clone();
        for (at, lane) in lanes.iter().enumerate() {
            let Some(lane) = lane else { continue };
            let mut alone = Vec::new();
            for (operand, value) in self.operands.iter().zip(&operands) {
                let own = match value {
                    None => Some(*operand),
                    Some(Value::Scalar(x)) => Some(instance.make().number(*x)),
                    Some(Value::Lanes(own)) => {
                        own.get(at).copied().flatten().map(|x| instance.make().number(x))
                    }
                };
                alone.extend(own);
            }
            let found = if alone.len() == self.operands.len() {
                let Some(term) = self.of(&mut instance, &alone) else {
                    return Ok(Found::Nothing(FAULT));
                };
                match self.interpreter(&instance)?.eval(term) {
                    Ok(Value::Scalar(x)) if x == *lane => String::new(),
                    Ok(value) => value.to_string(),
                    Err(error) => error.to_string(),
                }
            } else {
                "a lane that an operand has not".to_owned()
            };
            if !found.is_empty() {
                return Ok(Found::Wrong(format!(
                    "claimed:    lane {at} from lane {at} of its operands alone: {found}\n\
                     found:      {result}\n"
                )));
            }
        }
        Ok(Found::Agrees)
    }

    /// Tests that another term has the same meaning.
    fn same_as(&self, instance: &Instance, other: Id) -> Found {
        let (store, environment) = (&self.case.store, &self.case.environment);
        match meaning(instance, other, store, environment, (self.case.memory, LOWERED_STEPS)) {
            Ok(found) => self.beside(&found),
            Err(error) => {
                let term = instance.terms.part(other);
                Found::Wrong(format!("claimed:    as {term}\nfound:      {error}\n"))
            }
        }
    }

    fn beside(&self, claimed: &Meaning) -> Found {
        if self.case.left.allows(claimed) {
            return Found::Agrees;
        }
        let (found, claimed) = self.case.left.beside(claimed);
        Found::Wrong(format!("claimed:    {claimed}\nfound:      {found}\n"))
    }
}

/// Evaluates a term to trace the elements that it touches.
fn evaluate(run: &mut Interpreter, kind: Kind, term: Id) -> Result<(), Error> {
    match kind {
        Kind::Value => run.eval(term).map(drop),
        Kind::Statement => run.run(term),
        Kind::Tensor => run.elements(term).map(drop),
        Kind::Address => run.places(term).map(drop),
        _ => Ok(()),
    }
}
