//! Operators that rule files define: each use in a model is expanded to its definition.
//!
//! Terms and models write an operation differently, and the row in the table of operations defines the difference.

use super::operand::Target;
use super::operator::{self, Value};
use super::read::Reader;
use crate::model;
use egg::{ENodeOrVar, Id, Language, Symbol};
use ember_language::diagnostic::Span;
use ember_language::rules::{Definition, Kind as SortKind, Operators};
use ember_language::sexp::{Kind, Sexp};
use ember_language::term::{Head, Node};
use ember_values::operation::{self, WORDS};
use ember_values::primitive::form::{Form, Number, View};

/// The maximum number of words that definitions may add to one model.
const MAX_WORDS: usize = 100_000;

/// Reads an operator that a rule file defines. The outer `None` means that there is no definition, the inner `None`
/// that an error was reported.
pub(super) fn read(reader: &mut Reader, item: &Sexp) -> Option<Option<Value>> {
    let (head, args) = item.form()?;
    let definition = reader.definitions.get(Symbol::from(head), args.len())?.clone();
    Some(written_out(reader, item, args, &definition))
}

fn written_out(
    reader: &mut Reader,
    item: &Sexp,
    args: &[Sexp],
    definition: &Definition,
) -> Option<Value> {
    let uses = uses(definition);
    reader.written = reader.written.saturating_add(uses.iter().sum());
    if reader.written > MAX_WORDS {
        let message = format!("definitions stand for more than {MAX_WORDS} words");
        reader.error_with_help(item.span, message, "one too many", "use fewer of them");
        return None;
    }
    let mut operands = Vec::with_capacity(args.len());
    for (arg, parameter) in args.iter().zip(&definition.parameters) {
        let at = definition.body.iter().position(|node| *node == ENodeOrVar::Var(*parameter));
        // An operand that is used several times is read once.
        if at.is_some_and(|at| uses[at] > 1) && arg.list().is_some() {
            let value = operator::read(reader, arg)?;
            let (name, span) = (reader.fresh_name(), arg.span);
            let target = Target { name: name.clone(), kind: model::Kind::Temporary, span };
            reader.name_temporary(value, target);
            operands.push(Sexp { span, kind: Kind::Atom(name) });
        } else {
            operands.push(arg.clone());
        }
    }
    let mut written: Vec<Sexp> = Vec::with_capacity(definition.body.len());
    for node in &definition.body {
        let sexp = match node {
            ENodeOrVar::Var(v) => {
                let at = definition.parameters.iter().position(|p| p == v)?;
                operands[at].clone()
            }
            ENodeOrVar::ENode(node) => {
                let operators = reader.definitions.operators();
                Sexp { span: item.span, kind: word(node, &written, item.span, operators) }
            }
        };
        written.push(sexp);
    }
    operator::read(reader, &written.pop()?)
}

/// Returns the number of occurrences of each node in a definition that is expanded to a tree.
fn uses(definition: &Definition) -> Vec<usize> {
    let body = &definition.body;
    let mut uses = vec![0_usize; body.len()];
    if let Some(root) = uses.last_mut() {
        *root = 1;
    }
    for at in (0..body.len()).rev() {
        let times = uses[at];
        for child in body[Id::from(at)].children() {
            let child = &mut uses[usize::from(*child)];
            *child = child.saturating_add(times);
        }
    }
    uses
}

/// Returns a node in the syntax of models, given its operands in that syntax.
fn word(node: &Node, written: &[Sexp], span: Span, operators: &Operators) -> Kind {
    let operands: Vec<&Sexp> = node.children().iter().map(|c| &written[usize::from(*c)]).collect();
    let name = match node.head() {
        Head::Op(name) => name.as_str(),
        Head::Int(_) | Head::Real(_) => return Kind::Atom(node.head().to_string()),
    };
    if operands.is_empty() {
        let plain = WORDS.iter().find_map(|words| Some(words.names[words.parse(name)?]));
        return Kind::Atom(plain.unwrap_or(name).trim_start_matches('%').to_owned());
    }
    // Models refer to an address or a stored tensor by its name, give a constant the type of the tensor it is used
    // with, and store what an operation needs stored.
    let info = operators.of(node);
    let only = match info.and_then(|info| info.form(&operands)) {
        Some(Form::Root { name: only, .. })
        | Some(
            Form::View { address: only, view: View::ReadOnly | View::Tensor }
            | Form::Number { value: Number::Literal(only), .. },
        ) => Some(only),
        _ => None,
    };
    let stored = info.filter(|own| own.kind == Some(SortKind::Address));
    let stored = stored.and_then(|own| operands.get(own.first_of(SortKind::Tensor)?).copied());
    if let Some(only) = only.or(stored) {
        return only.kind.clone();
    }
    let ordered: Vec<&Sexp> = match operation::named(name) {
        Some(row) => row.written.iter().filter_map(|at| operands.get(*at).copied()).collect(),
        None => operands,
    };
    let mut items = vec![Sexp { span, kind: Kind::Atom(name.to_owned()) }];
    items.extend(ordered.into_iter().cloned());
    Kind::List(items)
}
