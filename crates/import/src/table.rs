//! The tables of operators: what each operator of a framework is made of. A table is a file of `rules/import/`; its first
//! lines say how to read it.

mod by_place;
mod functions;
mod known;
mod rows;
mod sized;

pub(crate) use known::{Known, Whole};

use crate::build::Builder;
use crate::error::Problem;
use crate::graph::{Elem, Id};
use ember_language::diagnostic::Sources;
use ember_language::sexp::{self, Sexp};
use ember_model::Extent;
use std::collections::BTreeMap;

/// The deepest nesting of functions in a row.
const DEEPEST: usize = 32;

/// The meaning of a parameter or of a part of a result.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A tensor of the graph.
    Tensor(Id),
    /// A sparse matrix: positions `[2, n]`, their values, and its extents.
    Sparse {
        /// The rows and columns of the entries.
        indices: Id,
        /// The values of the entries.
        values: Id,
        /// The extents of the matrix.
        shape: Vec<Extent>,
    },
    /// Whole numbers that are known, or sizes.
    Known(Known),
    /// Nothing was given.
    None,
    /// A whole number.
    Int(i64),
    /// A number.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A word.
    Word(String),
    /// An element type.
    Type(Elem),
    /// The extents of a tensor.
    Shape(Vec<Extent>),
    /// Several of them.
    List(Vec<Item>),
}

/// A call of an operator.
pub(crate) struct Call<'a> {
    /// The operator's name, without the variant.
    pub(crate) operator: &'a str,
    /// The items that are given, by the names of parameters.
    pub(crate) given: BTreeMap<String, Item>,
    /// The extents of the first result, if the file has them.
    pub(crate) shape: Option<Vec<Extent>>,
    /// The element type of the first result.
    pub(crate) elem: Option<Elem>,
}

/// A parameter of a row.
#[derive(Debug)]
struct Parameter {
    name: String,
    /// Its value if nothing is given; `None` if it must be given.
    default: Option<Sexp>,
    /// Its required value.
    wanted: Option<Sexp>,
}

/// A way to call an operator.
#[derive(Debug)]
struct Row {
    parameters: Vec<Parameter>,
    result: Sexp,
}

/// A table of operators.
#[derive(Debug, Default)]
pub(crate) struct Table {
    ignored: Vec<String>,
    /// Operators with the rows of another one.
    same: BTreeMap<String, String>,
    /// The operators whose result shares the elements of their operand.
    views: Vec<String>,
    rows: BTreeMap<String, Vec<Row>>,
}

impl Table {
    /// Reads a table.
    pub(crate) fn read(text: &str) -> Result<Table, Problem> {
        let mut sources = Sources::default();
        let file = sources.add("table", text);
        let items = sexp::read(&sources, file)
            .map_err(|errors| wrong(errors.first().map_or("", |e| e.message.as_str())))?;
        let mut table = Table::default();
        let words = |names: &[Sexp]| -> Vec<String> {
            names.iter().filter_map(Sexp::atom).map(str::to_owned).collect()
        };
        for item in &items {
            match item.form() {
                Some(("ignored", names)) => table.ignored.extend(words(names)),
                Some(("views", names)) => table.views.extend(words(names)),
                Some(("same", [operator, other])) => {
                    let word = |item: &Sexp| item.atom().map(str::to_owned);
                    let pair = word(operator).zip(word(other));
                    table.same.extend([pair.ok_or_else(|| wrong("same"))?]);
                }
                Some((name, [parameters, result])) => {
                    let parameters = parameters.list().unwrap_or_default().iter().map(parameter);
                    let parameters = parameters.collect::<Option<Vec<_>>>();
                    let parameters = parameters.ok_or_else(|| wrong(name))?;
                    let row = Row { parameters, result: result.clone() };
                    table.rows.entry(name.to_owned()).or_default().push(row);
                }
                _ => return Err(wrong("a row has an operator, parameters and a result")),
            }
        }
        Ok(table)
    }

    /// Returns the operator whose rows an operator has.
    fn named<'a>(&'a self, operator: &'a str) -> &'a str {
        self.same.get(operator).map_or(operator, String::as_str)
    }

    /// Returns true if an operator has rows.
    pub(crate) fn has(&self, operator: &str) -> bool {
        self.rows.contains_key(self.named(operator))
    }

    /// Returns true if the result of an operator shares the elements of its operand.
    pub(crate) fn is_view(&self, operator: &str) -> bool {
        self.views.iter().any(|own| own == operator)
    }

    /// Returns the error of an operator without a row.
    pub(crate) fn unknown(&self, operator: &str) -> Problem {
        Problem::unknown(operator, self.rows.keys().map(String::as_str))
    }

    /// Applies the first row that fits a call.
    pub(crate) fn apply(&self, builder: &mut Builder, call: &Call) -> Result<Item, Problem> {
        let Some(rows) = self.rows.get(self.named(call.operator)) else {
            return Err(self.unknown(call.operator));
        };
        for row in rows {
            if let Some(scope) = self.fit(row, call) {
                return evaluate(builder, call, &scope, &row.result, 0);
            }
        }
        let given = call.given.iter().filter(|(name, item)| {
            !matches!(item, Item::None | Item::Tensor(_) | Item::Known(_))
                && !self.ignored.contains(name)
        });
        let given: Vec<String> =
            given.map(|(name, item)| format!("{name} = {}", brief(item))).collect();
        let (operator, arguments) = (call.operator.to_owned(), given.join(", "));
        Err(Problem::Arguments { operator, arguments })
    }

    /// Returns what the parameters of a row are in a call; `None` if the row does not fit it.
    fn fit(&self, row: &Row, call: &Call) -> Option<BTreeMap<String, Item>> {
        let mut scope = BTreeMap::new();
        for parameter in &row.parameters {
            let given = call.given.get(&parameter.name).filter(|item| !matches!(item, Item::None));
            if let (Some(given), Some(wanted)) = (given, &parameter.wanted)
                && !equal(given, &constant(wanted, call)?)
            {
                return None;
            }
            let item = match (given, &parameter.default) {
                (Some(given), _) => given.clone(),
                (None, Some(default)) => constant(default, call)?,
                (None, None) => return None,
            };
            scope.insert(parameter.name.clone(), item);
        }
        let mut rest = call.given.iter().filter(|(name, item)| {
            !matches!(item, Item::None)
                && !scope.contains_key(*name)
                && !self.ignored.contains(name)
        });
        rest.next().is_none().then_some(scope)
    }
}

/// The problem of a row that is no row.
fn wrong(text: &str) -> Problem {
    Problem::Table(text.to_owned())
}

fn parameter(item: &Sexp) -> Option<Parameter> {
    if let Some(name) = item.atom() {
        return Some(Parameter { name: name.to_owned(), default: None, wanted: None });
    }
    let (head, rest) = item.form()?;
    let name = |item: &Sexp| Some(item.atom()?.to_owned());
    match (head, rest) {
        ("is", [word, wanted]) => {
            Some(Parameter { name: name(word)?, default: None, wanted: Some(wanted.clone()) })
        }
        ("is", [word, wanted, or_none]) if or_none.atom() == Some("or-none") => Some(Parameter {
            name: name(word)?,
            default: Some(wanted.clone()),
            wanted: Some(wanted.clone()),
        }),
        (head, [default]) => {
            Some(Parameter { name: head.to_owned(), default: Some(default.clone()), wanted: None })
        }
        _ => None,
    }
}

/// Returns what a word of a row stands for besides a parameter.
fn constant(item: &Sexp, call: &Call) -> Option<Item> {
    let word = item.atom()?;
    Some(match word {
        "none" => Item::None,
        "all" => Item::List(Vec::new()),
        "true" => Item::Bool(true),
        "false" => Item::Bool(false),
        "bool" => Item::Type(Elem::Bool),
        "to-shape" => Item::Shape(call.shape.clone()?),
        "to-type" => Item::Type(call.elem?),
        _ => match (word.parse(), word.parse()) {
            (Ok(whole), _) => Item::Int(whole),
            (_, Ok(number)) => Item::Number(number),
            _ => Item::Word(word.to_owned()),
        },
    })
}

/// Returns true if a given parameter is what a row wants.
fn equal(given: &Item, wanted: &Item) -> bool {
    match (given, wanted) {
        (Item::Bool(a), Item::Bool(b)) => a == b,
        (Item::Word(a), Item::Word(b)) => a == b,
        _ => match (given.number(), wanted.number()) {
            (Some(a), Some(b)) => a == b,
            _ => matches!((given, wanted), (Item::Word(a), Item::None) if a == "none"),
        },
    }
}

/// Shows a parameter in messages.
fn brief(item: &Item) -> String {
    match item {
        Item::Int(n) => n.to_string(),
        Item::Number(x) => x.to_string(),
        Item::Bool(b) => b.to_string(),
        Item::Word(word) => word.clone(),
        Item::None => "none".to_owned(),
        Item::List(items) => {
            format!("[{}]", items.iter().map(brief).collect::<Vec<_>>().join(", "))
        }
        _ => "a tensor".to_owned(),
    }
}

impl Item {
    /// Returns the number that this is.
    fn number(&self) -> Option<f64> {
        match self {
            Item::Int(n) => Some(*n as f64),
            Item::Number(x) => Some(*x),
            Item::Bool(b) => Some(f64::from(u8::from(*b))),
            Item::Known(known) => match known.ints()?[..] {
                [n] => Some(n as f64),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Evaluates the result of a row.
fn evaluate(
    builder: &mut Builder,
    call: &Call,
    scope: &BTreeMap<String, Item>,
    item: &Sexp,
    depth: usize,
) -> Result<Item, Problem> {
    if let Some(found) = item.atom().and_then(|word| scope.get(word)) {
        return Ok(found.clone());
    }
    match item.form() {
        // (let NAME VALUE RESULT): the result, in which the name stands for the value.
        Some(("let", [name, value, result])) if depth < DEEPEST => {
            let value = evaluate(builder, call, scope, value, depth + 1)?;
            let name = name.atom().ok_or_else(|| wrong("the name of a value is a word"))?;
            let mut inner = scope.clone();
            inner.insert(name.to_owned(), value);
            evaluate(builder, call, &inner, result, depth + 1)
        }
        Some((function, operands)) if depth < DEEPEST => {
            let operands: Result<Vec<Item>, Problem> = operands
                .iter()
                .map(|operand| evaluate(builder, call, scope, operand, depth + 1))
                .collect();
            functions::call(builder, function, &operands?)
        }
        _ => constant(item, call).ok_or_else(|| {
            Problem::Operands("the export does not say the shape or type of the result".to_owned())
        }),
    }
}
