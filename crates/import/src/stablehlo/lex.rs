//! The tokens of MLIR text.

use crate::error::Problem;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or number, with its sigil: `%0`, `@main`, `#loc1`, `tensor`, `stablehlo.add`, `1.0e-5`, `-1`.
    Word(String),
    /// Text in double quotes.
    Text(String),
    /// A sign; `>` after `-` stands for an arrow.
    Mark(char),
    /// The end of a line, with the number of the next one.
    Line(usize),
}

/// Splits a text into tokens; comments are left out.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Problem> {
    let mut found = vec![Token::Line(1)];
    let mut line = 1;
    let mut rest = text;
    let part = |c: char| c.is_alphanumeric() || "_.$%@#^!".contains(c);
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\n' => {
                line += 1;
                found.push(Token::Line(line));
                1
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => {
                let mut escaped = false;
                let end = rest.char_indices().skip(1).find(|(_, c)| {
                    let closes = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    closes
                });
                let (end, _) = end.ok_or(Problem::Text { line, what: "a text without an end" })?;
                found.push(Token::Text(rest[1..end].to_owned()));
                end + 1
            }
            '-' if rest[1..].starts_with('>') => {
                found.push(Token::Mark('→'));
                2
            }
            c if part(c) || (c == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) => {
                let mut before = c;
                let end = rest.char_indices().skip(1).find(|(_, c)| {
                    // The sign of an exponent belongs to a number.
                    let sign = "+-".contains(*c) && "eE".contains(before);
                    before = *c;
                    !(part(*c) || sign)
                });
                let end = end.map_or(rest.len(), |(end, _)| end);
                found.push(Token::Word(rest[..end].to_owned()));
                end
            }
            c if c.is_whitespace() => c.len_utf8(),
            c => {
                found.push(Token::Mark(c));
                c.len_utf8()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    found.push(Token::Line(line + 1));
    Ok(found)
}
