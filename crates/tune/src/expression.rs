//! Conditions on parameters, in the notation of numexpr: read into a program for a stack, without recursion, with the
//! type of every part checked.

use crate::lex::{Lexer, Symbol, Token};
use crate::operator::{Operator, Type};
use crate::parameter::{Kind, Parameter, Value};
use std::collections::BTreeSet;
use std::ops::Range;

/// A condition on parameters.
#[derive(Clone, Debug)]
pub struct Condition {
    program: Vec<Step>,
    /// The parameters that it mentions, by index.
    pub mentions: BTreeSet<usize>,
}

/// A step of a program.
#[derive(Clone, Debug)]
enum Step {
    Push(f64),
    Load(usize, Part),
    Apply(Operator),
}

/// The part of a parameter's value that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The number.
    Number,
    /// The word, as its number in the list of the condition's words.
    Word,
    /// The element at a place of a permutation: `p_0`.
    At(usize),
    /// The place of an element in a permutation: `p_i0`.
    PlaceOf(usize),
}

/// An error in the text of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The error in a sentence.
    pub message: String,
    /// Its place in the text.
    pub at: Range<usize>,
    /// A way out.
    pub help: Option<String>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, at: Range<usize>) -> Error {
        Error { message: message.into(), at, help: None }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Error {
        self.help = Some(help.into());
        self
    }
}

impl Condition {
    /// Reads a condition on these parameters.
    ///
    /// # Errors
    ///
    /// Fails if the text is no condition, or mentions what is no parameter.
    pub fn read(text: &str, parameters: &[Parameter]) -> Result<Condition, Error> {
        Reader::new(text, parameters).read()
    }

    /// Returns true if a point meets the condition. All parameters that it mentions must have a value.
    pub fn holds<'v>(&self, parameters: &[Parameter], value: impl Fn(usize) -> &'v Value) -> bool {
        let mut stack: Vec<f64> = Vec::with_capacity(8);
        for step in &self.program {
            match step {
                Step::Push(number) => stack.push(*number),
                Step::Load(parameter, part) => {
                    stack.push(load(&parameters[*parameter], *part, value(*parameter)));
                }
                Step::Apply(operator) => operator.apply(&mut stack),
            }
        }
        stack.pop().is_some_and(|top| top == 1.0)
    }
}

fn load(parameter: &Parameter, part: Part, value: &Value) -> f64 {
    match (part, value) {
        (Part::At(at), Value::Order(order)) => f64::from(order[at]),
        (Part::PlaceOf(element), Value::Order(order)) => {
            order.iter().position(|other| usize::from(*other) == element).unwrap_or(0) as f64
        }
        (Part::Word, Value::Listed(at)) => *at as f64,
        _ => parameter.number(value),
    }
}

/// An operator, bracket or function that waits for its right operand.
struct Waiting {
    what: Pending,
    at: Range<usize>,
}

enum Pending {
    Operator(Operator),
    /// A bracket, with the function whose arguments it encloses and their number so far.
    Bracket(Option<(Operator, usize)>),
}

/// An operand: its type, its text, and the parameter whose word it is.
struct Operand {
    of: Type,
    at: Range<usize>,
    words: Option<usize>,
}

/// A reader by Dijkstra's shunting yard: operators wait on a stack until one that binds less follows.
struct Reader<'a> {
    text: &'a str,
    parameters: &'a [Parameter],
    program: Vec<Step>,
    operands: Vec<Operand>,
    waiting: Vec<Waiting>,
    /// Words that no side has given a number yet: their steps and texts.
    open: Vec<(usize, String)>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, parameters: &'a [Parameter]) -> Reader<'a> {
        let (program, operands, waiting, open) = (vec![], vec![], vec![], vec![]);
        Reader { text, parameters, program, operands, waiting, open }
    }

    fn read(mut self) -> Result<Condition, Error> {
        let mut lexer = Lexer::new(self.text);
        let mut wants_operand = true;
        while let Some((token, at)) = lexer.next()? {
            wants_operand = match (wants_operand, token) {
                (true, token) => self.operand(token, at, &mut lexer)?,
                (false, token) => self.operator(token, at)?,
            };
        }
        if wants_operand {
            let end = self.text.len();
            return Err(Error::new("the condition ends where a value should follow", end..end));
        }
        while let Some(waiting) = self.waiting.pop() {
            match waiting.what {
                Pending::Operator(operator) => self.apply(operator, waiting.at)?,
                Pending::Bracket(_) => {
                    return Err(Error::new("this bracket is not closed", waiting.at));
                }
            }
        }
        self.finish()
    }

    /// Takes a token where an operand is wanted; returns true if one is still wanted.
    fn operand(
        &mut self,
        token: Token,
        at: Range<usize>,
        lexer: &mut Lexer<'_>,
    ) -> Result<bool, Error> {
        match token {
            Token::Number(number) => self.push(Step::Push(number), Type::Number, at, None),
            Token::Text(word) => {
                self.open.push((self.program.len(), word));
                self.push(Step::Push(-1.0), Type::Word, at, None);
            }
            Token::Name(name) => match Operator::function(&name) {
                Some(function) if lexer.bracket_follows()? => {
                    let what = Pending::Bracket(Some((function, 1)));
                    self.waiting.push(Waiting { what, at });
                    return Ok(true);
                }
                _ => self.name(&name, at)?,
            },
            Token::Symbol(Symbol::Open) => {
                self.waiting.push(Waiting { what: Pending::Bracket(None), at });
                return Ok(true);
            }
            Token::Symbol(Symbol::Operator(operator)) => {
                let Some(prefix) = operator.as_prefix() else { return Err(self.no_operand(at)) };
                self.waiting.push(Waiting { what: Pending::Operator(prefix), at });
                return Ok(true);
            }
            Token::Symbol(_) => return Err(self.no_operand(at)),
        }
        Ok(false)
    }

    fn no_operand(&self, at: Range<usize>) -> Error {
        Error::new(format!("a value should stand here, not `{}`", &self.text[at.clone()]), at)
    }

    fn push(&mut self, step: Step, of: Type, at: Range<usize>, words: Option<usize>) {
        self.program.push(step);
        self.operands.push(Operand { of, at, words });
    }

    /// Takes a token after an operand; returns true if another operand is wanted.
    fn operator(&mut self, token: Token, at: Range<usize>) -> Result<bool, Error> {
        match token {
            Token::Symbol(Symbol::Operator(operator)) if !operator.is_prefix() => {
                self.apply_tighter(Some(operator))?;
                self.waiting.push(Waiting { what: Pending::Operator(operator), at });
                Ok(true)
            }
            Token::Symbol(Symbol::Close) => {
                self.apply_tighter(None)?;
                self.close(at)?;
                Ok(false)
            }
            Token::Symbol(Symbol::Comma) => {
                self.apply_tighter(None)?;
                match self.waiting.last_mut() {
                    Some(Waiting { what: Pending::Bracket(Some((_, count))), .. }) => *count += 1,
                    _ => return Err(Error::new("a comma stands between arguments only", at)),
                }
                Ok(true)
            }
            _ => {
                let text = &self.text[at.clone()];
                Err(Error::new(format!("an operator should stand here, not `{text}`"), at))
            }
        }
    }

    /// Applies the operators that bind at least as tightly as the next one, up to a bracket.
    fn apply_tighter(&mut self, next: Option<Operator>) -> Result<(), Error> {
        while let Some(Waiting { what: Pending::Operator(operator), .. }) = self.waiting.last() {
            if next.is_some_and(|next| !operator.precedes(next)) {
                break;
            }
            let operator = *operator;
            let at = self.waiting.pop().map_or(0..0, |waiting| waiting.at);
            self.apply(operator, at)?;
        }
        Ok(())
    }

    fn close(&mut self, at: Range<usize>) -> Result<(), Error> {
        match self.waiting.pop() {
            Some(Waiting { what: Pending::Bracket(None), at: open }) => {
                if let Some(operand) = self.operands.last_mut() {
                    operand.at = open.start..at.end;
                }
                Ok(())
            }
            Some(Waiting { what: Pending::Bracket(Some((function, count))), at: name }) => {
                if count != function.arity() {
                    let (wants, name) = (function.arity(), name.start..at.end);
                    let message = format!("this function has {count} arguments, and takes {wants}");
                    return Err(Error::new(message, name));
                }
                self.apply(function, name)
            }
            _ => Err(Error::new("this bracket was not opened", at)),
        }
    }

    /// Applies an operator to the last operands, if their types are those that it takes.
    fn apply(&mut self, operator: Operator, at: Range<usize>) -> Result<(), Error> {
        let count = operator.arity().min(self.operands.len());
        let operands = self.operands.split_off(self.operands.len() - count);
        let (start, end) = operands.iter().fold((at.start, at.end), |(start, end), operand| {
            (start.min(operand.at.start), end.max(operand.at.end))
        });
        let types: Vec<Type> = operands.iter().map(|operand| operand.of).collect();
        let of = operator.result(&types).map_err(|(wrong, wants)| {
            let operand = &operands[wrong.min(operands.len() - 1)];
            let name = self.text.get(at.clone()).unwrap_or_default();
            let message = format!("`{name}` takes {wants}, not {}", operand.of.name());
            let error = Error::new(message, operand.at.clone());
            match operator.is_logical() || operand.of == Type::Condition {
                true => error.with_help("compare inside brackets: `(a < b) & (b < c)`"),
                false => error,
            }
        })?;
        if types == [Type::Word, Type::Word] {
            self.number_words(&operands)?;
        }
        self.program.push(Step::Apply(operator));
        self.operands.push(Operand { of, at: start..end, words: None });
        Ok(())
    }

    /// Gives the words of a comparison their numbers, which are those of the parameter that is compared.
    fn number_words(&mut self, operands: &[Operand]) -> Result<(), Error> {
        let at = operands[0].at.start..operands[1].at.end;
        let list = |parameter: usize| match &self.parameters[parameter].kind {
            Kind::Categorical(words) => words.as_slice(),
            _ => &[],
        };
        let words = match (operands[0].words, operands[1].words) {
            (Some(a), Some(b)) if list(a) == list(b) => return Ok(()),
            (Some(parameter), None) | (None, Some(parameter)) => list(parameter),
            _ => {
                return Err(Error::new(
                    "one side should be a parameter, and the other one of its words",
                    at,
                ));
            }
        };
        for (step, word) in std::mem::take(&mut self.open) {
            let Some(number) = words.iter().position(|other| *other == word) else {
                let help = ember_language::suggest::help(&word, words.iter().map(String::as_str));
                let error = Error::new(format!("`{word}` is no value of this parameter"), at);
                return Err(Error { help, ..error });
            };
            self.program[step] = Step::Push(number as f64);
        }
        Ok(())
    }

    /// Finds what a name stands for: a parameter, or a part of a permutation.
    fn name(&mut self, name: &str, at: Range<usize>) -> Result<(), Error> {
        let find = |name: &str| self.parameters.iter().position(|other| other.name == name);
        if let Some(parameter) = find(name) {
            let (of, part, words) = match self.parameters[parameter].kind {
                Kind::Categorical(_) => (Type::Word, Part::Word, Some(parameter)),
                Kind::Permutation(..) => {
                    let help = format!(
                        "`{name}_0` is the first element, `{name}_i0` the place of element 0"
                    );
                    let message = format!("`{name}` is a permutation, not a number");
                    return Err(Error::new(message, at).with_help(help));
                }
                _ => (Type::Number, Part::Number, None),
            };
            self.push(Step::Load(parameter, part), of, at, words);
            return Ok(());
        }
        let part = name.rsplit_once('_').and_then(|(name, index)| {
            let parameter = find(name)?;
            let Kind::Permutation(n, _) = self.parameters[parameter].kind else { return None };
            let (digits, place) = match index.strip_prefix('i') {
                Some(digits) => (digits, true),
                None => (index, false),
            };
            let index = digits.parse::<usize>().ok().filter(|index| *index < n)?;
            Some((parameter, if place { Part::PlaceOf(index) } else { Part::At(index) }))
        });
        let Some((parameter, part)) = part else {
            let names = self.parameters.iter().map(|parameter| parameter.name.as_str());
            let help = ember_language::suggest::help(name, names);
            return Err(Error { help, ..Error::new(format!("unknown parameter `{name}`"), at) });
        };
        self.push(Step::Load(parameter, part), Type::Number, at, None);
        Ok(())
    }

    fn finish(self) -> Result<Condition, Error> {
        let whole = 0..self.text.len();
        match self.operands.last() {
            Some(Operand { of: Type::Condition, .. }) => {}
            _ => {
                let error = Error::new("this is no condition, which is true or false", whole);
                return Err(error.with_help("compare it: `a % b == 0`"));
            }
        }
        let loads = self.program.iter().filter_map(|step| match step {
            Step::Load(parameter, _) => Some(*parameter),
            _ => None,
        });
        let mentions: BTreeSet<usize> = loads.collect();
        if mentions.is_empty() {
            return Err(Error::new("this condition mentions no parameter", whole));
        }
        Ok(Condition { program: self.program, mentions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Metric;

    /// Returns the truth of a condition on `a` = 6, `b` = 4, the order `p` = 2 0 1 and the word `mode` = far.
    fn truth(text: &str) -> bool {
        let parameter =
            |name: &str, kind| Parameter { name: name.to_owned(), kind, log: false, default: None };
        let words = ["near", "far"].map(str::to_owned).to_vec();
        let parameters = [
            parameter("a", Kind::Ordinal(vec![2.0, 6.0])),
            parameter("b", Kind::Integer(1, 9)),
            parameter("p", Kind::Permutation(3, Metric::Spearman)),
            parameter("mode", Kind::Categorical(words)),
        ];
        let point =
            [Value::Listed(1), Value::Integer(4), Value::Order(vec![2, 0, 1]), Value::Listed(1)];
        let condition = Condition::read(text, &parameters).expect(text);
        condition.holds(&parameters, |at| &point[at])
    }

    #[test]
    fn operators_bind_as_in_python() {
        for text in [
            "a - 1 - 1 == b",
            "a + b * 2 == 14",
            "(a + b) * 2 == 20",
            "-a ** 2 == -36",
            "2 ** 3 ** 2 == 512 + 0 * a",
            "a % b == 2 and a // b == 1 and a / b == 1.5",
            "not a == b",
            "not a < b and b < a",
            "(a < b) | (a == 6) & (b == 4)",
            "~(a < b) & (min(a, b) == b)",
            "max(a, b) - abs(-b) == 2e0",
            "sqrt(b) == log2(b) and floor(a / b) < ceil(a / b)",
            "mode == 'far' and \"near\" != mode",
            "p_0 == 2 and p_i0 == 1 and p_i2 < p_i0",
        ] {
            assert!(truth(text), "{text}");
        }
        for text in ["a % 0 == 0 * b", "a < b or mode == 'near'", "p_0 < p_1"] {
            assert!(!truth(text), "{text}");
        }
    }
}
