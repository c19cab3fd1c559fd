//! Functions and their statements, in the pretty and the generic form.

use super::Token;
use crate::error::Problem;
use crate::limits::FOLDED;
use crate::table::Item;
use std::collections::BTreeMap;

/// A type of tensors.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) shape: Vec<u64>,
    pub(super) elem: String,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub(super) struct Function {
    /// The parameters: names, types, and what they were called in the source.
    pub(super) parameters: Vec<(String, Type, Option<String>)>,
    pub(super) statements: Vec<Statement>,
}

/// A statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Statement {
    pub(super) results: Vec<String>,
    pub(super) operation: String,
    pub(super) operands: Vec<String>,
    pub(super) attributes: BTreeMap<String, Item>,
    /// The function that is called.
    pub(super) callee: Option<String>,
    /// The elements of a constant; one stands for all.
    pub(super) dense: Option<Vec<f64>>,
    /// The elements of a constant that are written as their bytes.
    pub(super) bytes: Option<Vec<u8>>,
    /// The type of the first result.
    pub(super) result: Option<Type>,
    /// The name of the location.
    pub(super) place: Option<String>,
    pub(super) line: usize,
}

/// Reads a type, `tensor<20x16xf32>`; returns it with the tokens behind it.
fn tensor(tokens: &[Token]) -> Option<(Type, &[Token])> {
    let [Token::Word(word), Token::Mark('<'), rest @ ..] = tokens else { return None };
    if word != "tensor" {
        return None;
    }
    let end = rest.iter().position(|token| *token == Token::Mark('>'))?;
    let [Token::Word(text)] = &rest[..end] else { return None };
    let mut parts: Vec<&str> = text.split('x').collect();
    let elem = parts.pop()?.to_owned();
    let shape = parts.iter().map(|n| n.parse().ok()).collect::<Option<_>>()?;
    Some((Type { shape, elem }, &rest[end + 1..]))
}

/// Splits tokens into statements: lines, without those that end within brackets.
fn lines(tokens: &[Token]) -> Vec<(usize, Vec<&Token>)> {
    let (mut found, mut own, mut depth, mut line) = (Vec::new(), Vec::new(), 0i64, 1);
    for token in tokens {
        match token {
            Token::Line(next) if depth <= 0 => {
                if !own.is_empty() {
                    found.push((line, std::mem::take(&mut own)));
                }
                line = *next;
            }
            Token::Line(_) => {}
            token => {
                match token {
                    Token::Mark('(' | '[') => depth += 1,
                    Token::Mark(')' | ']') => depth -= 1,
                    _ => {}
                }
                own.push(token);
            }
        }
    }
    if !own.is_empty() {
        found.push((line, own));
    }
    found
}

/// Reads the functions of a module.
pub(super) fn functions(tokens: &[Token]) -> Result<BTreeMap<String, Function>, Problem> {
    let mut found: BTreeMap<String, Function> = BTreeMap::new();
    let mut current: Option<(String, Function)> = None;
    for (line, tokens) in lines(tokens) {
        let tokens: Vec<Token> = tokens.into_iter().cloned().collect();
        match &tokens[..] {
            [Token::Word(word), rest @ ..] if word == "func.func" => {
                let name = rest.iter().find_map(|token| match token {
                    Token::Word(word) => word.strip_prefix('@'),
                    _ => None,
                });
                let name = name.ok_or(Problem::Text { line, what: "a function without a name" })?;
                let what = "a parameter that is no tensor of known extents";
                let parameters = parameters(rest).ok_or(Problem::Text { line, what })?;
                let function = Function { parameters, ..Function::default() };
                current = Some((name.to_owned(), function));
            }
            [Token::Mark('}'), ..] => found.extend(current.take()),
            [Token::Word(word), ..] if word.starts_with('#') || word == "module" => {}
            tokens => {
                let Some((_, function)) = &mut current else { continue };
                let what = "a statement that is not understood";
                let statement = statement(tokens, line).ok_or(Problem::Text { line, what })?;
                function.statements.push(statement);
            }
        }
    }
    Ok(found)
}

/// Reads the parameters of a function; `None` if one is no tensor of known extents.
fn parameters(tokens: &[Token]) -> Option<Vec<(String, Type, Option<String>)>> {
    let mut found = Vec::new();
    let mut rest = tokens;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first == Token::Mark('→') {
            break;
        }
        let (Token::Word(name), [Token::Mark(':'), of @ ..]) = (first, behind) else { continue };
        if !name.starts_with('%') {
            continue;
        }
        let (of, behind) = tensor(of)?;
        let label = match behind {
            [Token::Word(loc), Token::Mark('('), Token::Text(label), ..] if loc == "loc" => {
                Some(label.clone())
            }
            _ => None,
        };
        found.push((name.clone(), of, label));
        rest = behind;
    }
    Some(found)
}

/// Reads a statement.
fn statement(tokens: &[Token], line: usize) -> Option<Statement> {
    let mut own = Statement { line, ..Statement::default() };
    let mut rest = tokens;
    if let Some(at) = tokens.iter().position(|token| *token == Token::Mark('='))
        && tokens[..at].iter().all(|token| match token {
            // Several results have one name and their number.
            Token::Word(word) => word.starts_with('%') || word.parse::<u64>().is_ok(),
            token => [Token::Mark(','), Token::Mark(':')].contains(token),
        })
    {
        own.results = names(&tokens[..at]);
        rest = &tokens[at + 1..];
    }
    let (Token::Word(operation) | Token::Text(operation)) = rest.first()? else { return None };
    own.operation.clone_from(operation);
    rest = &rest[1..];
    // What stands in a region, between braces, is another statement's.
    let block = rest.iter().position(|token| *token == Token::Word("^bb0".to_owned()));
    let in_region = block.and_then(|at| rest[..at].iter().rposition(|t| *t == Token::Mark('{')));
    let head = match in_region {
        Some(at) => &rest[..at],
        None => rest,
    };
    if let Some(at) = in_region {
        let applied = rest[at..].iter().find_map(|token| match token {
            Token::Word(word) if word.starts_with("stablehlo.") => Some(word.clone()),
            _ => None,
        });
        // A region of more than one operation and its return is none that has a name.
        let inside = rest[at..].iter().filter(|t| **t == Token::Mark('=')).count();
        // A region that only returns the new one of its two values applies nothing.
        let values: Vec<&String> = rest[at..]
            .iter()
            .filter_map(|token| match token {
                Token::Word(word) if word.starts_with('%') => Some(word),
                _ => None,
            })
            .collect();
        let returns_new = matches!(values[..], [_, new, returned] if new == returned);
        let name = applied.filter(|_| inside == 1 || (inside == 0 && returns_new))?;
        own.attributes.insert("applies".to_owned(), Item::Word(name));
    }
    let loc = rest.iter().rposition(|token| *token == Token::Word("loc".to_owned()));
    if let Some(at) = loc
        && let Some(Token::Word(place)) = rest.get(at + 2)
    {
        own.place = Some(place.clone());
    }
    let types = rest[..loc.unwrap_or(rest.len())].iter().rposition(|t| *t == Token::Mark(':'));
    let types = types.map(|at| &rest[at + 1..]).unwrap_or_default();
    let arrow = types.iter().position(|token| *token == Token::Mark('→'));
    let mut result = &types[arrow.map_or(0, |at| at + 1)..];
    while let [Token::Mark('('), behind @ ..] = result {
        result = behind;
    }
    // Operations on elements give the type once, selections that of the condition before it.
    let mut found = None;
    while let Some((of, behind)) = tensor(result) {
        found = Some(of);
        result = match behind {
            [Token::Mark(','), behind @ ..] if arrow.is_none() => behind,
            _ => &[],
        };
    }
    own.result = found;
    let body = match in_region {
        Some(_) => head,
        None => &rest[..rest.len() - types.len().min(rest.len())],
    };
    own.operands = names(body);
    if own.operation == "stablehlo.reduce" {
        // The start of a fold is what changes nothing.
        own.operands.truncate(1);
    }
    own.callee = body.iter().find_map(|token| match token {
        Token::Word(word) => word.strip_prefix('@').map(str::to_owned),
        _ => None,
    });
    if own.operation == "stablehlo.constant" {
        own.dense = dense(body);
        own.bytes = packed(body);
        return Some(own);
    }
    attributes(body, &mut own);
    Some(own)
}

fn names(tokens: &[Token]) -> Vec<String> {
    let name = |token: &Token| match token {
        Token::Word(word) if word.starts_with('%') => Some(word.clone()),
        _ => None,
    };
    tokens.iter().filter_map(name).collect()
}

/// Reads a list of whole numbers, `[0, 1]`; returns it with the tokens behind it.
fn ints(tokens: &[Token]) -> Option<(Vec<i64>, &[Token])> {
    let [Token::Mark('['), rest @ ..] = tokens else { return None };
    let end = rest.iter().position(|token| *token == Token::Mark(']'))?;
    let words = rest[..end].iter().filter_map(|token| match token {
        Token::Word(word) => Some(word),
        _ => None,
    });
    let numbers = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    Some((numbers, &rest[end + 1..]))
}

fn item(numbers: Vec<i64>) -> Item {
    Item::List(numbers.into_iter().map(Item::Int).collect())
}

/// Reads attributes: `name = …`, comparisons, slices, and what a reduction applies.
fn attributes(tokens: &[Token], own: &mut Statement) {
    if own.operation == "stablehlo.compare"
        && let Some(Token::Word(word)) = tokens.first()
    {
        own.attributes.insert("direction".to_owned(), Item::Word(word.clone()));
        return;
    }
    if own.operation == "stablehlo.slice" {
        slices(tokens, own);
        return;
    }
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(name) = token else { continue };
        let behind = &tokens[at + 1..];
        match behind {
            [Token::Word(word), ..] if name == "applies" => {
                own.attributes.insert(name.clone(), Item::Word(word.clone()));
            }
            [Token::Mark('='), value @ ..] => {
                let value = match value {
                    // Of two factors: `[1] x [0]`.
                    [Token::Mark('['), ..] => ints(value).map(|(first, rest)| match rest {
                        [Token::Word(x), second @ ..] if x == "x" => match ints(second) {
                            Some((second, _)) => Item::List(vec![item(first), item(second)]),
                            None => item(first),
                        },
                        _ => item(first),
                    }),
                    [Token::Word(array), Token::Mark('<'), rest @ ..] if array == "array" => {
                        let end = rest.iter().position(|t| *t == Token::Mark('>'));
                        let numbers = rest[..end.unwrap_or(0)].iter().filter_map(|t| match t {
                            Token::Word(word) => word.parse().ok(),
                            _ => None,
                        });
                        Some(item(numbers.collect()))
                    }
                    [Token::Word(word), ..] => word.parse().ok().map(Item::Int),
                    _ => None,
                };
                if let Some(value) = value {
                    own.attributes.insert(name.clone(), value);
                }
            }
            _ => {}
        }
    }
}

/// Reads `[0:5, 1:6:2]`.
fn slices(tokens: &[Token], own: &mut Statement) {
    let inside = tokens.iter().skip_while(|token| **token != Token::Mark('[')).skip(1);
    let (mut all, mut part) = (Vec::new(), Vec::new());
    for token in inside {
        match token {
            Token::Word(word) => part.extend(word.parse::<i64>().ok()),
            Token::Mark(':') => {}
            _ => all.push(std::mem::take(&mut part)),
        }
    }
    let column = |at: usize, default: i64| {
        let whole = all.iter().filter(|part| part.len() > 1);
        item(whole.map(|part| part.get(at).copied().unwrap_or(default)).collect())
    };
    for (name, at, default) in [("first", 0, 0), ("end", 1, 0), ("step", 2, 1)] {
        own.attributes.insert(name.to_owned(), column(at, default));
    }
}

/// Reads the bytes of `dense<"0x…">`.
fn packed(tokens: &[Token]) -> Option<Vec<u8>> {
    let [Token::Word(word), Token::Mark('<'), Token::Text(text), ..] = tokens else { return None };
    let digits = text.strip_prefix("0x").filter(|_| word == "dense")?.as_bytes();
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|n| u8::try_from(n).ok());
    let byte = |pair: &[u8]| match pair {
        &[high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

/// Reads the elements of `dense<…>`.
fn dense(tokens: &[Token]) -> Option<Vec<f64>> {
    let [Token::Word(word), Token::Mark('<'), rest @ ..] = tokens else { return None };
    if word != "dense" {
        return None;
    }
    let mut values = Vec::new();
    for token in rest {
        match token {
            Token::Word(word) => values.push(match word.as_str() {
                "true" => 1.0,
                "false" => 0.0,
                // The bits of numbers that decimals do not write.
                "0xFF800000" | "0xFFF0000000000000" => f64::NEG_INFINITY,
                "0x7F800000" | "0x7FF0000000000000" => f64::INFINITY,
                "0x7FC00000" | "0x7FF8000000000000" => f64::NAN,
                word => word.parse().ok()?,
            }),
            Token::Mark('[' | ']' | ',') => {}
            Token::Mark('>') => break,
            _ => return None,
        }
        if values.len() as u64 > FOLDED {
            return None;
        }
    }
    Some(values)
}
