//! Reads StableHLO text, as JAX exports it: functions whose operations are looked up in a table, and calls of private
//! functions, which are put in their places.

mod statement;

use crate::build::Builder;
use crate::error::{ImportError, Problem};
use crate::graph::{Argument, Elem, Graph, Op, Origin};
use crate::lex;
use crate::limits::{GRAPH_BYTES, OPERATORS};
use crate::table::{Call, Item, Table};
use ember_model::Extent;
use ember_targets::tensor::Tensor;
use ember_values::scalar::DType;
use statement::{Function, Statement, Type, functions};
use std::collections::BTreeMap;

/// The rows for the operations of StableHLO.
const TABLE: &str = include_str!("../../../rules/import/stablehlo.rows");

/// The deepest nesting of calls.
const DEEPEST: usize = 64;

/// Reads a module.
pub(crate) fn read(bytes: &[u8]) -> Result<Graph, ImportError> {
    if bytes.len() as u64 > GRAPH_BYTES {
        let (what, length) = ("the text".to_owned(), bytes.len() as u64);
        return Err(Problem::TooLarge { what, length, limit: GRAPH_BYTES }.into());
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|e| Problem::Text { line: line_of(bytes, e.valid_up_to()), what: "no UTF-8" })?;
    let tokens = tokens(text)?;
    let functions = functions(&tokens)?;
    let main = functions
        .get("main")
        .ok_or_else(|| Problem::Interface("the module has no function `main`".to_owned()))?;
    let mut reader = Reader {
        places: places(&tokens),
        functions: &functions,
        table: Table::read(TABLE)?,
        builder: Builder::from_the_end(),
        done: 0,
    };
    let mut scope = BTreeMap::new();
    for (at, (name, of, label)) in main.parameters.iter().enumerate() {
        let (shape, elem) = reader.typed(of)?;
        let label = label.clone().unwrap_or_else(|| format!("arg{at}"));
        let argument = Argument { name: label, elem, shape: shape.clone() };
        reader.builder.graph.arguments.push(argument);
        let id = reader.builder.add(Op::Argument(at), Vec::new(), shape, elem)?;
        scope.insert(name.clone(), Item::Tensor(id));
    }
    let results = reader.function(main, scope, 0)?;
    for (at, result) in results.into_iter().enumerate() {
        let Item::Tensor(id) = result else {
            return Err(Problem::Interface("a result is no tensor".to_owned()).into());
        };
        reader.builder.graph.outputs.push((format!("result{at}"), id));
    }
    Ok(reader.builder.graph)
}

/// A token of a text, in the lines that statements are read from.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name or number, with its sigil.
    Word(String),
    /// Text in double quotes.
    Text(String),
    /// A sign; `→` stands for `->`.
    Mark(char),
    /// The start of a line, with its number.
    Line(usize),
}

/// Splits a text into tokens.
fn tokens(text: &str) -> Result<Vec<Token>, Problem> {
    let mut line = 1;
    let mut found = vec![Token::Line(line)];
    for (token, _) in lex::tokens(text) {
        found.push(match token {
            lex::Token::Word(word) => Token::Word(word.to_owned()),
            lex::Token::Text(text) => Token::Text(text.to_owned()),
            lex::Token::Mark(mark) => Token::Mark(mark),
            lex::Token::Line => {
                line += 1;
                Token::Line(line)
            }
            lex::Token::Open => {
                return Err(Problem::Text { line, what: "a text without an end" });
            }
        });
    }
    found.push(Token::Line(line + 1));
    Ok(found)
}

/// Returns the line of a byte, counted from 1.
fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count()
}

/// Returns the source places by the names of locations: `#loc7 = loc("file":3:4 to :5)`, also through other locations.
fn places(tokens: &[Token]) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut open: Vec<(String, Vec<String>)> = Vec::new();
    for line in tokens.split(|token| matches!(token, Token::Line(_))) {
        let [Token::Word(name), Token::Mark('='), Token::Word(loc), rest @ ..] = line else {
            continue;
        };
        if !name.starts_with('#') || loc != "loc" {
            continue;
        }
        match rest {
            [Token::Mark('('), Token::Text(file), Token::Mark(':'), Token::Word(line), ..] => {
                found.insert(name.clone(), format!("{file}:{line}"));
            }
            rest => {
                let others = rest.iter().filter_map(|token| match token {
                    Token::Word(word) if word.starts_with('#') => Some(word.clone()),
                    _ => None,
                });
                open.push((name.clone(), others.collect()));
            }
        }
    }
    // A location stands for the first place that it leads to.
    for _ in 0..4 {
        for (name, others) in &open {
            let place = others.iter().find_map(|other| found.get(other)).cloned();
            if let Some(place) = place.filter(|_| !found.contains_key(name)) {
                found.insert(name.clone(), place);
            }
        }
    }
    found
}

/// The state of reading a module.
struct Reader<'a> {
    functions: &'a BTreeMap<String, Function>,
    places: BTreeMap<String, String>,
    table: Table,
    builder: Builder,
    /// The operations that have been imported.
    done: usize,
}

impl Reader<'_> {
    fn typed(&self, of: &Type) -> Result<(Vec<Extent>, Elem), Problem> {
        // Numbers without a sign have the names of those with one, behind a `u`.
        let known = DType::parse(of.elem.trim_start_matches('u'));
        let elem = match (of.elem.as_str(), known) {
            ("i1", _) => Elem::Bool,
            ("ui8", _) => Elem::Of(DType::U8),
            (_, Some(dtype)) if !matches!(dtype, DType::U8 | DType::U4) => Elem::Of(dtype),
            (dtype, _) => {
                let (name, dtype) = ("a value".to_owned(), dtype.to_owned());
                return Err(Problem::Elements { name, dtype });
            }
        };
        Ok((of.shape.iter().map(|n| Extent::Const(*n)).collect(), elem))
    }

    /// Imports the statements of a function, and returns its results.
    fn function(
        &mut self,
        function: &Function,
        mut scope: BTreeMap<String, Item>,
        depth: usize,
    ) -> Result<Vec<Item>, ImportError> {
        if depth > DEEPEST {
            return Err(
                Problem::Interface("functions call each other without end".to_owned()).into()
            );
        }
        for statement in &function.statements {
            if self.done >= OPERATORS {
                let (length, limit) = (self.done as u64, OPERATORS as u64);
                let what = "the list of operations".to_owned();
                return Err(Problem::TooLarge { what, length, limit }.into());
            }
            let place = statement.place.as_ref().and_then(|place| self.places.get(place)).cloned();
            let result = statement.results.first().cloned().unwrap_or_default();
            let result = result.trim_start_matches('%').to_owned();
            let result = if result.starts_with(|c: char| c.is_ascii_digit()) {
                format!("v{result}")
            } else {
                result
            };
            let line = place.or_else(|| Some(format!("line {}", statement.line)));
            let origin = Origin { name: statement.operation.clone(), result, line };
            self.builder.begin(origin.clone());
            let done = self.done;
            let all = function.statements.len().max(done);
            let at = |problem| ImportError {
                problem,
                origin: Some(Box::new(origin.clone())),
                done: Some((done, all)),
            };
            let mut operands = Vec::new();
            for name in &statement.operands {
                // Operations with regions, such as loops, name more than their operands.
                let missing = || match statement.operation.starts_with("stablehlo.")
                    && !self.table.has(&statement.operation)
                {
                    true => self.table.unknown(&statement.operation),
                    false => Problem::Order(name.clone()),
                };
                operands.push(scope.get(name).cloned().ok_or_else(|| at(missing()))?);
            }
            let results = match (statement.operation.as_str(), &statement.callee) {
                ("return" | "func.return", _) => return Ok(operands),
                ("call" | "func.call", Some(callee)) => {
                    let called = self.functions.get(callee);
                    let called = called.ok_or_else(|| at(Problem::Order(callee.clone())))?;
                    let names = called.parameters.iter().map(|(name, _, _)| name.clone());
                    self.function(called, names.zip(operands).collect(), depth + 1)?
                }
                _ => vec![self.operation(statement, operands).map_err(at)?],
            };
            self.done += 1;
            scope.extend(statement.results.iter().cloned().zip(results));
        }
        Err(Problem::Interface("a function returns nothing".to_owned()).into())
    }

    fn operation(&mut self, statement: &Statement, operands: Vec<Item>) -> Result<Item, Problem> {
        let typed = statement.result.as_ref().map(|of| self.typed(of)).transpose()?;
        if statement.operation == "stablehlo.constant" {
            let (shape, elem) = typed.ok_or_else(|| Problem::Order("a type".to_owned()))?;
            return self.constant(statement, shape, elem);
        }
        let mut given = statement.attributes.clone();
        match statement.operation.as_str() {
            "stablehlo.concatenate" => {
                given.insert("tensors".to_owned(), Item::List(operands));
            }
            _ => {
                let names = ('a'..='z').map(String::from);
                given.extend(names.zip(operands));
            }
        }
        let (shape, elem) = typed.unzip();
        let call = Call { operator: &statement.operation, given, shape: shape.clone(), elem };
        let item = self.table.apply(&mut self.builder, &call)?;
        if let (Item::Tensor(id), Some(shape)) = (&item, shape)
            && self.builder.graph.shape(*id) != shape
        {
            let own = crate::graph::shown(self.builder.graph.shape(*id));
            let text =
                format!("the result has the shape ({own}), not ({})", crate::graph::shown(&shape));
            return Err(Problem::Operands(text));
        }
        Ok(item)
    }

    /// A constant: one number for all elements, or a tensor.
    fn constant(
        &mut self,
        statement: &Statement,
        shape: Vec<Extent>,
        elem: Elem,
    ) -> Result<Item, Problem> {
        let dtype = match elem {
            Elem::Of(dtype) => dtype,
            Elem::Bool => DType::U8,
        };
        if let (Some(bytes), Elem::Of(of)) = (&statement.bytes, elem) {
            let n = crate::graph::count(&shape);
            if n.and_then(|n| n.checked_mul(of.bytes_of(1))) != Some(bytes.len() as u64) {
                let shape = crate::graph::shown(&shape);
                let text = format!("{} bytes in a constant of ({shape})", bytes.len());
                return Err(Problem::Operands(text));
            }
            let shape = shape.iter().filter_map(Extent::constant).collect();
            let data = ember_targets::tensor::Data::of_bytes(of, bytes, true);
            return self
                .builder
                .constant(Tensor { dtype: of, shape, data }, elem)
                .map(Item::Tensor);
        }
        let values = statement.dense.as_ref().ok_or_else(|| {
            Problem::Operands("a constant whose elements are not written out".to_owned())
        })?;
        if let [one] = values[..] {
            return self.builder.full(one, shape, elem).map(Item::Tensor);
        }
        let n = crate::graph::count(&shape);
        if n != Some(values.len() as u64) {
            let text = format!(
                "{} elements in a constant of ({})",
                values.len(),
                crate::graph::shown(&shape)
            );
            return Err(Problem::Operands(text));
        }
        let scalars = values.iter().map(|x| ember_values::scalar::Scalar::from_f64(dtype, *x));
        let data = ember_targets::tensor::Data::held(dtype, scalars);
        let extents = shape.iter().filter_map(Extent::constant).collect();
        self.builder.constant(Tensor { dtype, shape: extents, data }, elem).map(Item::Tensor)
    }
}
