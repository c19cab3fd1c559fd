//! Assumptions: `(assume CONDITION …)` restricts a comparison to the sizes and inputs for which each condition holds. A
//! condition is `(= A B)`, two equal integers, or a value that is not 0.
//!
//! No other data is tried. A proof may use that equal integers replace each other, that a condition which compares is 1,
//! and that of two ordered integers the first is the lesser. The certificate declares these equations, as it does those
//! of a layout.

use super::data::Given;
use super::declare::{Declarations, Declared, Purpose};
use super::equation::Equation;
use super::forms::{atom, printed};
use super::layout::{STEPS, only_inputs, store, stored};
use super::primitives::form;
use super::satisfy::Open;
use super::sides::{What, program};
use ember_analysis::facts::Interval;
use ember_interpret::{Interpreter, Store};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::{Operators, RuleBook};
use ember_language::sexp::Sexp;
use ember_language::term::Term;
use ember_language::text::written_out;
use ember_targets::tensor::Tensor;
use ember_values::primitive::form::{Form, Operation};
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// The head of the form.
pub(super) const ASSUME: &str = "assume";

/// A condition that the data of a comparison satisfies.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// The condition as it was read.
    text: Sexp,
    /// The check of data.
    check: Check,
    /// The tensor that the programs of the check store their values in.
    result: String,
    /// The equations that follow from the condition.
    pub(super) equations: Vec<Equation>,
    /// The value that the condition compares with a number, with the range that follows.
    pub(super) range: Option<(Term, Interval)>,
    /// The operands of the condition that data may be given to.
    pub(super) open: Vec<Open>,
}

/// Programs that each store a value, and the requirement on the values.
#[derive(Clone, Debug, PartialEq)]
enum Check {
    /// The value is not 0.
    NotZero(Term),
    /// The values are the same.
    Same(Box<[Term; 2]>),
}

impl Assumption {
    /// Reads the conditions of all forms.
    pub(super) fn read_all(
        forms: &[Sexp],
        book: &RuleBook,
        declarations: &Declarations,
    ) -> Checked<Vec<Assumption>> {
        let (mut assumptions, mut errors) = (Vec::new(), Vec::new());
        for form in forms {
            let conditions = form.items(ASSUME).unwrap_or_default();
            if conditions.is_empty() {
                let error = Diagnostic::error("nothing is assumed", form.span, "no condition");
                errors.push(error.with_help("write `(assume CONDITION …)`"));
            }
            for condition in conditions {
                match read(condition, book, declarations, assumptions.len()) {
                    Ok(assumption) => assumptions.push(assumption),
                    Err(found) => errors.extend(found),
                }
            }
        }
        if errors.is_empty() { Ok(assumptions) } else { Err(errors) }
    }

    /// Returns the text of the condition.
    pub fn text(&self) -> String {
        printed(&self.text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns true if data satisfies the condition; a condition without a value is not satisfied.
    pub(super) fn holds(
        &self,
        declarations: &Declarations,
        operators: &Operators,
        given: &Given,
    ) -> bool {
        let value = |program: &Term| self.value(program, (declarations, operators), given);
        match &self.check {
            Check::NotZero(program) => {
                value(program).is_some_and(|value| value != Scalar::zero(DType::I64))
            }
            Check::Same(sides) => {
                let [a, b] = sides.each_ref().map(value);
                a.is_some() && a == b
            }
        }
    }

    /// Returns the value that a program stores; `None` if it does not end or has a fault.
    pub(super) fn value(
        &self,
        program: &Term,
        (declarations, operators): (&Declarations, &Operators),
        given: &Given,
    ) -> Option<Scalar> {
        let sizes = declarations.all_sizes(&given.sizes);
        let mut store = Store { tensors: given.inputs.clone(), sizes };
        store.tensors.insert(self.result.clone(), Tensor::zeros(DType::I64, Vec::new()));
        let mut run = Interpreter::new(program, operators, store).with_step_limit(STEPS);
        run.run(run.root()).ok()?;
        run.into_store().tensors.get(&self.result)?.get(0)
    }

    /// Iterates over the numbers in the condition.
    pub(super) fn numbers(&self) -> impl Iterator<Item = i64> {
        self.text.words().filter_map(|word| word.parse().ok())
    }
}

/// Reads a condition on sizes and inputs.
fn read(
    condition: &Sexp,
    book: &RuleBook,
    declarations: &Declarations,
    number: usize,
) -> Checked<Assumption> {
    let result = std::iter::successors(Some("holds".to_owned()), |name| Some(format!("{name}.")))
        .find(|name| declarations.tensor(name).is_none())
        .unwrap_or_default();
    let reading = Reading { book, declarations, result: &result, number };
    let ((check, equations), range) = match condition.items("=") {
        Some([a, b]) => (reading.same([a, b])?, None),
        _ => (reading.not_zero(condition)?, reading.range(condition)?),
    };
    let open = match (condition.items("="), form(book.signature.table(), condition)) {
        (Some([a, b]), _) => reading.open([a, b], None),
        (None, Some(Form::Binary(Operation::Is(op), sides))) if op.compares() => {
            reading.open(sides, Some(op))
        }
        _ => Vec::new(),
    };
    Ok(Assumption { text: condition.clone(), check, result, equations, range, open })
}

/// The context in which a condition is read.
pub(super) struct Reading<'a> {
    pub book: &'a RuleBook,
    pub declarations: &'a Declarations,
    result: &'a str,
    /// The number of the assumption, for the names of its equations.
    number: usize,
}

impl Reading<'_> {
    /// Reads two integers that are equal.
    fn same(&self, sides: [&Sexp; 2]) -> Checked<(Check, Vec<Equation>)> {
        let [(a, left), (b, right)] = [self.integer(sides[0])?, self.integer(sides[1])?];
        Ok((Check::Same(Box::new([left, right])), vec![self.equation("", [a, b])]))
    }

    /// Reads a value that is not 0.
    fn not_zero(&self, condition: &Sexp) -> Checked<(Check, Vec<Equation>)> {
        let operators = self.book.signature.table();
        let (full, check) = self.integer(condition)?;
        let mut equations = Vec::new();
        if let Some(Form::Binary(Operation::Is(op), [a, b])) = form(operators, &full)
            && op.compares()
        {
            equations.push(self.equation("", [full.clone(), atom("1")]));
            let lesser = |a: &Sexp, b: &Sexp| Equation::lesser(operators, [a, b]);
            let dtype = self.storing(&lesser(a, b)).ok().and_then(|term| self.dtype(&term));
            if matches!(dtype, Some(DType::I64 | DType::I32)) && is_order(op) {
                equations.push(self.equation(":least", [lesser(a, b), a.clone()]));
                equations.push(self.equation(":least-swapped", [lesser(b, a), a.clone()]));
            }
        }
        Ok((Check::NotZero(check), equations))
    }

    /// Returns the value that a condition compares with a number, and its range; `None` for other conditions.
    fn range(&self, condition: &Sexp) -> Checked<Option<(Term, Interval)>> {
        let operators = self.book.signature.table();
        let (full, _) = self.integer(condition)?;
        let Some(Form::Binary(Operation::Is(op), [a, b])) = form(operators, &full) else {
            return Ok(None);
        };
        if !op.compares() || !is_order(op) {
            return Ok(None);
        }
        let apart = i64::from(op.apply(Scalar::I64(0), Scalar::I64(0)) != Some(Scalar::I64(1)));
        let number = |of: &Sexp| of.atom().and_then(|word| word.parse::<i64>().ok());
        let (value, range) = match [number(a), number(b)] {
            [Some(least), None] => (b, least.checked_add(apart).map(|min| (min, i64::MAX))),
            [None, Some(most)] => (a, most.checked_sub(apart).map(|max| (i64::MIN, max))),
            _ => return Ok(None),
        };
        let range = range.map(|(min, max)| Interval { min, max });
        Ok(printed(value).parse().ok().zip(range))
    }

    /// Reads an i64 value over sizes and inputs, without loops: in full, and as the program that stores it.
    pub(super) fn integer(&self, value: &Sexp) -> Checked<(Sexp, Term)> {
        let words = self.declarations.words(&self.book.signature);
        let full = written_out(value, &words, &[])?;
        only_inputs(&full, ("an assumption", self.declarations), &[])?;
        let program = self.storing(value)?;
        let operators = self.book.signature.table();
        let mut known = program.as_ref().iter().filter_map(|node| operators.of(node));
        if known.any(|info| info.binds.is_some()) {
            let error = Diagnostic::error("a loop in a condition", value.span, "not a value");
            let help = "a condition is arithmetic on sizes and elements of inputs";
            return Err(vec![error.with_help(help)]);
        }
        let dtype = self.dtype(&program);
        if dtype != Some(DType::I64) {
            let own = dtype.map_or("of no known type", DType::name);
            let error = Diagnostic::error("not a condition", value.span, format!("it is {own}"));
            let help = "write `(= A B)` of two i64 values, or a comparison of two values";
            return Err(vec![error.with_help(help)]);
        }
        Ok((full, program))
    }

    fn dtype(&self, program: &Term) -> Option<DType> {
        stored(program, self.book, self.declarations)
    }

    fn equation(&self, part: &str, sides: [Sexp; 2]) -> Equation {
        Equation::ground(&format!("assumed:{}{part}", self.number), sides)
    }

    /// Builds the program that stores a value in a tensor of rank 0.
    fn storing(&self, value: &Sexp) -> Checked<Term> {
        let (operators, span) = (self.book.signature.table(), value.span);
        let mut writing = self.declarations.clone();
        writing.tensors.push(Declared {
            name: self.result.to_owned(),
            dtype: DType::I64,
            shape: Vec::new(),
            purpose: Purpose::Scratch,
            rises_to: None,
        });
        let storing = store(operators, span, (self.result, std::iter::empty()), value);
        match program(self.book, &storing, &writing)? {
            What::Term { term, .. } => Ok(term),
            What::Dlc { .. } => {
                Err(vec![Diagnostic::error("not a condition", span, "a DLC program")])
            }
        }
    }
}

/// Returns true for comparisons that hold only if the first integer is not the greater.
fn is_order(op: BinaryOp) -> bool {
    let holds = |a, b| op.apply(Scalar::I64(a), Scalar::I64(b)) == Some(Scalar::I64(1));
    holds(0, 1) && !holds(1, 0)
}
