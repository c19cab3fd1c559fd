//! Parameters that rules and schedules leave open: the values that each may take, the conditions that tie them to each
//! other, and what they are set to.

use super::syntax::{TuneForm, Word};
use crate::codes::Code;
use crate::diagnostic::{Checked, Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest::{self, unknown};
use egg::Symbol;
use ember_values::scalar::BinaryOp;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The most elements of a permutation.
const LONGEST: i64 = 8;

/// The head of the values of a permutation.
const PERMUTATION: &str = "permutation";

/// The relations of conditions between parameters.
pub(super) const RELATIONS: [&str; 4] = ["at-most", "below", "distinct", "divides"];

/// The values that users set parameters to, as they write them, by name. Other parameters have their defaults.
pub type Settings = BTreeMap<String, String>;

/// A parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Symbol,
    /// The decision that it stands for.
    pub doc: String,
    /// The values that it may take.
    pub values: Values,
    /// The value that it has if nobody sets it. Without one, all values are tried.
    pub default: Option<Value>,
    /// The place of its name.
    pub span: Span,
}

/// The values of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Numbers, ascending.
    Ordinal(Vec<i64>),
    /// Words.
    Categorical(Vec<String>),
    /// The orders of so many things.
    Permutation(usize),
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i64),
    /// A word.
    Word(String),
    /// The things in an order, counted from 0.
    Order(Vec<usize>),
}

/// A condition that the values of parameters meet together.
#[derive(Clone, Debug)]
pub struct Known {
    /// The relation: one of `at-most`, `below`, `distinct` and `divides`.
    pub relation: &'static str,
    /// Its sides.
    pub sides: [Number; 2],
}

/// A side of a condition.
#[derive(Clone, Debug)]
pub enum Number {
    /// A number.
    Given(i64),
    /// The value of a parameter.
    Of(Symbol),
    /// An operation on two numbers.
    Computed(BinaryOp, Box<[Number; 2]>),
}

/// All parameters of a book.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// The parameters in the order in which they were read.
    pub all: Vec<Parameter>,
    /// The conditions on them.
    pub known: Vec<Known>,
    /// The values that they are set to; `None` if every value counts, as for a proof of rules.
    set: Option<BTreeMap<Symbol, Value>>,
}

impl Parameters {
    /// Reads the declarations.
    pub(super) fn read(forms: &[TuneForm], errors: &mut Vec<Diagnostic>) -> Parameters {
        let mut own = Parameters::default();
        for form in forms {
            if let Some(first) = own.named(&form.name.text) {
                let message = format!("parameter `{}` stands twice", form.name.text);
                let error = Diagnostic::error(message, form.name.span, "again here");
                let error = error.with_code(Code::ParameterTwice);
                errors.push(error.with_related(first.span, "first here"));
                continue;
            }
            let parameter = Parameter::read(form).map_err(|error| errors.push(error));
            own.all.extend(parameter);
        }
        for condition in forms.iter().flat_map(|form| &form.conditions) {
            let read = own.condition(condition).map_err(|error| errors.push(error));
            own.known.extend(read);
        }
        own
    }

    /// Sets parameters; others have their defaults.
    ///
    /// # Errors
    ///
    /// Fails if there is no such parameter or value, or if a condition is not met.
    pub(super) fn set(&mut self, settings: &Settings) -> Checked<()> {
        let mut set: BTreeMap<Symbol, Value> = BTreeMap::new();
        let defaults = self.all.iter().filter_map(|own| Some((own.name, own.default.clone()?)));
        set.extend(defaults);
        let mut errors = Vec::new();
        for (name, text) in settings {
            let Some(own) = self.named(name) else {
                let known = self.all.iter().map(|own| own.name.as_str());
                let error = Diagnostic::global(format!("no parameter is named `{name}`"));
                errors.push(match suggest::help(name, known) {
                    Some(help) => error.with_help(help),
                    None => error,
                });
                continue;
            };
            match own.values.parse(text) {
                Some(value) => _ = set.insert(own.name, value),
                None => {
                    let error = Diagnostic::global(format!("`{text}` is no value of `{name}`"));
                    errors.push(error.with_help(format!("it is one of {}", own.values)));
                }
            }
        }
        let unmet = self.known.iter().filter(|known| known.holds(&set) == Some(false));
        errors.extend(unmet.map(|known| {
            Diagnostic::global(format!("the parameters do not meet the condition {known}"))
        }));
        self.set = Some(set);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Returns a parameter by name.
    pub fn named(&self, name: &str) -> Option<&Parameter> {
        self.all.iter().find(|own| own.name.as_str() == name)
    }

    /// Returns a parameter by the word that names it, or an error.
    pub(super) fn require(&self, word: &Sexp) -> Result<&Parameter, Diagnostic> {
        let name = word.atom().unwrap_or_default();
        let known = self.all.iter().map(|own| own.name.as_str());
        self.named(name).ok_or_else(|| {
            unknown("parameter", name, word.span, known).with_code(Code::UnknownParameter)
        })
    }

    /// Returns what a parameter is set to; its default if nobody sets any.
    pub(super) fn value<'a>(&'a self, own: &'a Parameter) -> Option<&'a Value> {
        self.set.as_ref().map_or(own.default.as_ref(), |set| set.get(&own.name))
    }

    /// Returns the number that a parameter is set to; `None` if every value counts.
    pub(super) fn number(&self, own: &Parameter) -> Option<i64> {
        match self.set.as_ref()?.get(&own.name)? {
            Value::Number(number) => Some(*number),
            Value::Word(_) | Value::Order(_) => None,
        }
    }

    fn condition(&self, call: &Sexp) -> Result<Known, Diagnostic> {
        let shape = |label: &str| {
            let error = Diagnostic::error("expected a condition on parameters", call.span, label);
            let help = format!("write ({} A B), of numbers and parameters", RELATIONS.join("|"));
            error.with_code(Code::NotAPredicate).with_help(help)
        };
        let Some((name, [a, b])) = call.form() else { return Err(shape("not two sides")) };
        let relation = RELATIONS.into_iter().find(|known| *known == name);
        let relation = relation.ok_or_else(|| shape("no relation of numbers"))?;
        Ok(Known { relation, sides: [self.side(a)?, self.side(b)?] })
    }

    fn side(&self, side: &Sexp) -> Result<Number, Diagnostic> {
        if let Some(number) = side.atom().and_then(|word| word.parse().ok()) {
            return Ok(Number::Given(number));
        }
        match side.form() {
            Some((super::COMPUTE, [op, a, b])) => {
                let word = op.atom().unwrap_or_default();
                let op = super::COMPUTE_OPS.into_iter().find(|own| own.name() == word);
                let known = super::COMPUTE_OPS.map(|own| own.name());
                let unknown = || unknown("operation", word, side.span, known);
                let op = op.ok_or_else(|| unknown().with_code(Code::UnknownOperation))?;
                crate::sexp::deeper(|| {
                    Ok(Number::Computed(op, Box::new([self.side(a)?, self.side(b)?])))
                })
            }
            _ => {
                let own = self.require(side)?;
                match own.values {
                    Values::Ordinal(_) => Ok(Number::Of(own.name)),
                    Values::Categorical(_) | Values::Permutation(_) => Err(not_a_number(side)),
                }
            }
        }
    }
}

/// The error for a parameter that is no number where one is needed.
pub(super) fn not_a_number(word: &Sexp) -> Diagnostic {
    let name = word.atom().unwrap_or_default();
    let message = format!("the values of `{name}` are no numbers");
    let error = Diagnostic::error(message, word.span, "a number should stand here");
    error.with_code(Code::WrongParameter)
}

impl Parameter {
    fn read(form: &TuneForm) -> Result<Parameter, Diagnostic> {
        let values = Values::read(&form.values)?;
        let default = match &form.default {
            Some(item) => Some(values.parse(&plain(item)).ok_or_else(|| {
                let message = format!("`{}` has no such value", form.name.text);
                let error = Diagnostic::error(message, item.span, "the default");
                error.with_code(Code::NotAValue).with_help(format!("it is one of {values}"))
            })?),
            None => values.first(),
        };
        let Word { text, span } = &form.name;
        let (name, doc) = (Symbol::from(text), form.doc.clone());
        Ok(Parameter { name, doc, values, default, span: *span })
    }
}

impl Values {
    fn read(list: &Sexp) -> Result<Values, Diagnostic> {
        let wrong = |label: &str| {
            let error = Diagnostic::error("these are no values of a parameter", list.span, label);
            error.with_code(Code::NotAValue).with_help(
                "write ascending numbers (8 16 32), words (near far), or (permutation N) for the orders of N things",
            )
        };
        let items = list.list().unwrap_or_default();
        let words: Vec<&str> = items.iter().filter_map(Sexp::atom).collect();
        if words.len() != items.len() || words.is_empty() {
            return Err(wrong("not a list of numbers or words"));
        }
        let numbers: Vec<Option<i64>> = words.iter().map(|word| word.parse().ok()).collect();
        match (&words[..], &numbers[..]) {
            ([PERMUTATION, _], [None, Some(n)]) => match *n {
                2..=LONGEST => Ok(Values::Permutation(*n as usize)),
                _ => Err(wrong(&format!("a permutation has 2 to {LONGEST} elements"))),
            },
            _ if numbers.iter().all(Option::is_some) => {
                let numbers: Vec<i64> = numbers.into_iter().flatten().collect();
                match numbers.windows(2).all(|pair| pair[0] < pair[1]) {
                    true => Ok(Values::Ordinal(numbers)),
                    false => Err(wrong("not ascending")),
                }
            }
            _ if numbers.iter().all(Option::is_none)
                && words.iter().collect::<BTreeSet<_>>().len() == words.len() =>
            {
                Ok(Values::Categorical(words.into_iter().map(str::to_owned).collect()))
            }
            _ => Err(wrong("numbers and words, or a word twice")),
        }
    }

    /// Returns the value that a choice of steps has if nobody decides. Numbers have none: all of them are tried.
    fn first(&self) -> Option<Value> {
        match self {
            Values::Ordinal(_) => None,
            Values::Categorical(words) => words.first().cloned().map(Value::Word),
            Values::Permutation(n) => Some(Value::Order((0..*n).collect())),
        }
    }

    /// Reads a value; `None` if it is none of these.
    fn parse(&self, text: &str) -> Option<Value> {
        match self {
            Values::Ordinal(numbers) => {
                let number = text.parse().ok()?;
                numbers.contains(&number).then_some(Value::Number(number))
            }
            Values::Categorical(words) => {
                words.iter().find(|word| *word == text).cloned().map(Value::Word)
            }
            Values::Permutation(n) => {
                let text = text.trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
                let items = text.split([',', ' ']).filter(|item| !item.is_empty());
                let order: Vec<usize> =
                    items.map(|item| item.parse().ok()).collect::<Option<_>>()?;
                let mut sorted = order.clone();
                sorted.sort_unstable();
                sorted.into_iter().eq(0..*n).then_some(Value::Order(order))
            }
        }
    }

    /// Returns the numbers; none of other values.
    pub(super) fn numbers(&self) -> &[i64] {
        match self {
            Values::Ordinal(numbers) => numbers,
            Values::Categorical(_) | Values::Permutation(_) => &[],
        }
    }
}

impl Known {
    /// Returns true if the condition is met; `None` if a value that it needs is left open.
    fn holds(&self, set: &BTreeMap<Symbol, Value>) -> Option<bool> {
        let [a, b] = &self.sides;
        let (a, b) = (a.value(set)?, b.value(set)?);
        Some(match self.relation {
            "at-most" => a <= b,
            "below" => a < b,
            "divides" => b.checked_rem(a) == Some(0),
            _ => a != b,
        })
    }
}

impl Number {
    fn value(&self, set: &BTreeMap<Symbol, Value>) -> Option<i64> {
        match self {
            Number::Given(number) => Some(*number),
            Number::Of(name) => match set.get(name)? {
                Value::Number(number) => Some(*number),
                Value::Word(_) | Value::Order(_) => None,
            },
            Number::Computed(op, sides) => op.checked(sides[0].value(set)?, sides[1].value(set)?),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Ordinal(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                f.write_str(&numbers.join(", "))
            }
            Values::Categorical(words) => f.write_str(&words.join(", ")),
            Values::Permutation(n) => write!(f, "the orders of 0 to {}", n - 1),
        }
    }
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.sides;
        write!(f, "({} {a} {b})", self.relation)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Given(number) => number.fmt(f),
            Number::Of(name) => name.fmt(f),
            Number::Computed(op, sides) => {
                write!(f, "({} {} {} {})", super::COMPUTE, op.name(), sides[0], sides[1])
            }
        }
    }
}

/// Returns a word, or the words of a list.
fn plain(item: &Sexp) -> String {
    match item.list() {
        Some(items) => items.iter().filter_map(Sexp::atom).collect::<Vec<_>>().join(" "),
        None => item.atom().unwrap_or_default().to_owned(),
    }
}
