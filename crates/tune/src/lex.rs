//! The words and signs of a condition.

use crate::expression::Error;
use crate::operator::{Operator, Spelling};
use std::ops::Range;

/// A word or sign.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
    /// A text in quotes.
    Text(String),
    /// A sign.
    Symbol(Symbol),
}

/// A sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// An operator.
    Operator(Operator),
}

/// The signs, those that begin with another one before it.
const SIGNS: [(&str, Symbol); 19] = {
    use Operator::*;
    use Symbol::{Close, Comma, Open, Operator as Is};
    [
        ("**", Is(Power)),
        ("//", Is(Quotient)),
        ("==", Is(Equal)),
        ("!=", Is(Unequal)),
        ("<=", Is(LessEqual)),
        (">=", Is(GreaterEqual)),
        ("&", Is(And(Spelling::Sign))),
        ("|", Is(Or(Spelling::Sign))),
        ("~", Is(Not(Spelling::Sign))),
        ("<", Is(Less)),
        (">", Is(Greater)),
        ("+", Is(Add)),
        ("-", Is(Subtract)),
        ("*", Is(Multiply)),
        ("/", Is(Divide)),
        ("%", Is(Remainder)),
        ("(", Open),
        (")", Close),
        (",", Comma),
    ]
};

/// The words that are operators.
const WORDS: [(&str, Operator); 3] = [
    ("and", Operator::And(Spelling::Word)),
    ("or", Operator::Or(Spelling::Word)),
    ("not", Operator::Not(Spelling::Word)),
];

/// Divides a text into words and signs.
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Creates a lexer at the start of a text.
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    /// Returns the next word or sign with its place.
    ///
    /// # Errors
    ///
    /// Fails if it is none.
    pub fn next(&mut self) -> Result<Option<(Token, Range<usize>)>, Error> {
        let rest = self.text[self.at..].trim_start();
        let start = self.text.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let (token, length) = match first {
            '0'..='9' | '.' => number(rest, start)?,
            '\'' | '"' => quoted(rest, first, start)?,
            first if first.is_alphabetic() || first == '_' => word(rest),
            _ => sign(rest, first, start)?,
        };
        self.at = start + length;
        Ok(Some((token, start..self.at)))
    }

    /// Passes an opening bracket, if one is next.
    ///
    /// # Errors
    ///
    /// Fails if the next thing is no word or sign.
    pub fn bracket_follows(&mut self) -> Result<bool, Error> {
        let before = self.at;
        let follows = matches!(self.next()?, Some((Token::Symbol(Symbol::Open), _)));
        if !follows {
            self.at = before;
        }
        Ok(follows)
    }
}

fn length(text: &str, part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !part(c)).unwrap_or(text.len())
}

fn number(rest: &str, start: usize) -> Result<(Token, usize), Error> {
    let mut end = length(rest, |c| c.is_ascii_digit() || c == '.');
    if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        end += 1 + sign + length(&exponent[sign..], |c| c.is_ascii_digit());
    }
    match rest[..end].parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((Token::Number(number), end)),
        _ => Err(Error::new(format!("`{}` is no number", &rest[..end]), start..start + end)),
    }
}

fn quoted(rest: &str, quote: char, start: usize) -> Result<(Token, usize), Error> {
    match rest[1..].find(quote) {
        Some(end) => Ok((Token::Text(rest[1..=end].to_owned()), end + 2)),
        None => Err(Error::new("this text has no end", start..start + rest.len())),
    }
}

fn word(rest: &str) -> (Token, usize) {
    let end = length(rest, |c| c.is_alphanumeric() || c == '_');
    let operator = WORDS.iter().find(|(known, _)| *known == &rest[..end]);
    let token = match operator {
        Some((_, operator)) => Token::Symbol(Symbol::Operator(*operator)),
        None => Token::Name(rest[..end].to_owned()),
    };
    (token, end)
}

fn sign(rest: &str, first: char, start: usize) -> Result<(Token, usize), Error> {
    match SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        Some((sign, symbol)) => Ok((Token::Symbol(*symbol), sign.len())),
        None => {
            let error =
                Error::new(format!("unknown sign `{first}`"), start..start + first.len_utf8());
            Err(if first == '=' { error.with_help("equality is `==`") } else { error })
        }
    }
}
