//! The tokens of MLIR text, one after another with their places: a text of any length needs no memory for them.

use std::ops::Range;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// A name or number, with its sigil: `%0`, `@main`, `#loc1`, `tensor`, `stablehlo.add`, `1.0e-5`, `-1`.
    Word(&'a str),
    /// Text in double quotes, without them; escapes stay as they are.
    Text(&'a str),
    /// A sign; `→` stands for `->`.
    Mark(char),
    /// The end of a line.
    Line,
    /// A text in double quotes that does not end.
    Open,
}

/// The tokens of a text with their bytes; comments and blanks are left out.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// Returns the tokens of a text.
pub(crate) fn tokens(text: &str) -> Lexer<'_> {
    Lexer { text, at: 0 }
}

/// True for a character of a word.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "_.$%@#^!".contains(c)
}

/// Returns the length of a word.
fn word(text: &str) -> usize {
    let mut before = ' ';
    let end = text.char_indices().find(|(at, c)| {
        // The sign of an exponent belongs to a number.
        let sign = *at == 0 || ("+-".contains(*c) && "eE".contains(before));
        before = *c;
        !(is_part(*c) || sign)
    });
    end.map_or(text.len(), |(end, _)| end)
}

/// Returns the length of a text in double quotes, if it ends.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let closes = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    end.map(|(end, _)| end + 1)
}

impl<'a> Iterator for Lexer<'a> {
    type Item = (Token<'a>, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = &self.text[self.at..];
            let c = rest.chars().next()?;
            let (token, length) = match c {
                '\n' => (Token::Line, 1),
                '/' if rest.starts_with("//") => {
                    self.at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                '"' => match quoted(rest) {
                    Some(length) => (Token::Text(&rest[1..length - 1]), length),
                    None => (Token::Open, rest.len()),
                },
                '-' if rest[1..].starts_with('>') => (Token::Mark('→'), 2),
                c if is_part(c)
                    || (c == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) =>
                {
                    let length = word(rest);
                    (Token::Word(&rest[..length]), length)
                }
                c if c.is_whitespace() => {
                    self.at += c.len_utf8();
                    continue;
                }
                c => (Token::Mark(c), c.len_utf8()),
            };
            let start = self.at;
            self.at += length;
            return Some((token, start..self.at));
        }
    }
}
