//! Checks dialect forms and adds their declarations to the signature. All sorts of all files are declared before any
//! operator, so that the order of files does not matter.

use super::attributes::{ATTRIBUTES, Attributes};
use super::operators::{Kind, Unit};
use super::signature::{Operator, Push, Signature, Sort, SortDecl, SortTerm};
use super::syntax::{DialectForm, INPUT, Section, Word, doc, sections, word};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::sexp::Sexp;
use crate::suggest::unknown;
use crate::term::{Head, parse_head};
use egg::Symbol;
use ember_values::primitive::Row;

pub(super) const ITEMS: [&str; 2] = ["sort", "op"];
/// The keywords of a sort's declaration.
pub(super) const SORT_KEYS: [&str; 2] = [":kind", ":unit"];

/// The keywords of an operator's declaration.
pub(super) const OP_KEYS: [&str; 4 + ATTRIBUTES.len()] = {
    let mut keys = [":binds"; 4 + ATTRIBUTES.len()];
    (keys[1], keys[2], keys[3]) = (":boundary", ":commutes", INPUT);
    let mut at = 0;
    while at < ATTRIBUTES.len() {
        keys[4 + at] = ATTRIBUTES[at].name;
        at += 1;
    }
    keys
};

/// An operator declared with `:commutes`.
pub(super) struct Commuting {
    pub op: Word,
    pub dialect: Symbol,
}

/// Declares every sort and operator of the dialects. Also returns the operators that commute.
pub(super) fn declare(
    dialects: &[&DialectForm],
    errors: &mut Vec<Diagnostic>,
) -> (Signature, Vec<Commuting>) {
    let mut signature = Signature::default();
    let mut commuting = Vec::new();
    for dialect in dialects {
        declare_dialect(&mut signature, dialect, errors);
    }
    let mut counterparts = Vec::new();
    for dialect in dialects {
        let name = Symbol::from(&dialect.name.text);
        for item in dialect.items.iter().filter(|i| i.form().is_some_and(|f| f.0 == "op")) {
            match operator(&signature, name, item, errors) {
                Ok((mut op, commutes)) => {
                    op.input |= dialect.input;
                    let word = Word { text: op.name.to_string(), span: op.span };
                    commuting.extend(commutes.then_some(Commuting { op: word, dialect: name }));
                    counterparts
                        .extend((!op.attributes.counterparts.is_empty()).then(|| op.clone()));
                    declare_operator(&mut signature, op, errors);
                }
                Err(error) => errors.push(error),
            }
        }
    }
    for op in counterparts {
        // If no boundary leads from its sort, no unit is declared on which it could run.
        if !signature.operators.iter().any(|own| own.boundary && own.args[..] == [op.result]) {
            continue;
        }
        for (boundary, name) in op.attributes.counterparts.clone() {
            match counterpart(&signature, &op, &boundary, &name) {
                Ok((own, push)) => {
                    declare_operator(&mut signature, own, errors);
                    signature.pushes.push(push);
                }
                Err(error) => errors.push(error),
            }
        }
    }
    (signature, commuting)
}

/// Returns the counterpart of an operator on a unit: the same operands, with boundaries around those that are
/// evaluated.
fn counterpart(
    signature: &Signature,
    op: &Operator,
    boundary: &Word,
    name: &Word,
) -> Result<(Operator, Push), Diagnostic> {
    nameable(name)?;
    let crossing = signature.operator(Symbol::from(&boundary.text), 1);
    let crossing = crossing.filter(|own| own.boundary && own.args[0] == op.result);
    let Some(crossing) = crossing else {
        let fitting = signature.operators.iter();
        let fitting = fitting.filter(|own| own.boundary && own.args.first() == Some(&op.result));
        return Err(unknown(
            "boundary",
            &boundary.text,
            boundary.span,
            fitting.map(|own| own.name.as_str()),
        )
        .with_code(Code::UnknownBoundary));
    };
    let unit_of = |sort: SortTerm| signature.sort(sort.named()?.name())?.unit;
    let unit = unit_of(crossing.result);
    // The access unit computes the operands of a statement that runs on both units.
    let crossed = |sort: &SortTerm| {
        let kind = signature.sort(sort.named()?.name())?.kind?;
        let unit = match (kind, unit) {
            (Kind::Statement, unit) => unit?,
            (Kind::Value | Kind::Address, Some(Unit::Both)) => Unit::Access,
            (Kind::Value | Kind::Address, unit) => unit?,
            _ => return None,
        };
        let crosses = |own: &&Operator| {
            own.boundary && own.args[..] == [*sort] && unit_of(own.result) == Some(unit)
        };
        signature.operators.iter().find(crosses)
    };
    let literals = op.attributes.means.as_ref().and_then(|word| Row::named(&word.text));
    let is_literal = |at: usize| {
        let row = literals?;
        let named = op.operands[at].map(|name| name.as_str());
        let named = named.or_else(|| row.parts().nth(at).map(|(part, _)| part))?;
        Some(row.literals.contains(&named))
    };
    let crossings: Vec<Option<&Operator>> = op
        .args
        .iter()
        .enumerate()
        .map(|(at, sort)| crossed(sort).filter(|_| is_literal(at) != Some(true)))
        .collect();
    let args = crossings.iter().zip(&op.args);
    let args = args.map(|(crossing, sort)| crossing.map_or(*sort, |own| own.result)).collect();
    let erased = Word { text: op.name.to_string(), span: name.span };
    let own = Operator {
        name: Symbol::from(&name.text),
        args,
        result: crossing.result,
        input: false,
        dialect: name.text.split_once('.').map_or(op.dialect, |(dialect, _)| Symbol::from(dialect)),
        attributes: Attributes { erases: Some(erased), ..Attributes::default() },
        span: name.span,
        ..op.clone()
    };
    let push = Push {
        boundary: crossing.name,
        from: op.name,
        to: own.name,
        operands: crossings.iter().map(|crossing| crossing.map(|own| own.name)).collect(),
    };
    Ok((own, push))
}

/// Declares the dialect's name and its sorts.
fn declare_dialect(signature: &mut Signature, dialect: &DialectForm, errors: &mut Vec<Diagnostic>) {
    let Word { text, span } = &dialect.name;
    let name = Symbol::from(text);
    if let Some((_, _, first)) = signature.dialects.iter().find(|(n, _, _)| *n == name) {
        errors.push(
            Diagnostic::error(format!("dialect `{text}` is declared twice"), *span, "again here")
                .with_code(Code::DialectTwice)
                .with_related(*first, "first declared here"),
        );
    }
    signature.dialects.push((name, dialect.doc.clone(), *span));
    for item in &dialect.items {
        match item.form() {
            Some(("sort", rest)) => match sort(name, item, rest, errors) {
                Ok(decl) => declare_sort(signature, decl, errors),
                Err(error) => errors.push(error),
            },
            Some(("op", _)) => {}
            Some((other, _)) => errors.push(
                unknown("declaration", other, item.span, ITEMS).with_code(Code::UnknownDeclaration),
            ),
            None => errors.push(
                Diagnostic::error("expected a declaration", item.span, "not a declaration")
                    .with_code(Code::NotADeclaration)
                    .with_help("a dialect consists of (sort …) and (op …)"),
            ),
        }
    }
}

/// Reads `(sort NAME "doc" [:kind KIND] [:unit UNIT])`.
fn sort(
    dialect: Symbol,
    item: &Sexp,
    rest: &[Sexp],
    errors: &mut Vec<Diagnostic>,
) -> Result<SortDecl, Diagnostic> {
    let (rest, said) = sections(rest, &SORT_KEYS, errors);
    let name = word(rest.first(), "the name of the sort", item.span)?;
    let doc = doc(rest.get(1), item.span)?;
    if let Some(extra) = rest.get(2) {
        return Err(Diagnostic::error(
            "unexpected item",
            extra.span,
            "a sort is complete before this",
        )
        .with_code(Code::TooMuch));
    }
    if name.text.starts_with(['\'', '?', '%', ':']) {
        return Err(Diagnostic::error(
            format!("a sort cannot be called `{}`", name.text),
            name.span,
            "starts with a mark that means something else",
        )
        .with_code(Code::SortName)
        .with_help("start it with a letter"));
    }
    let (mut kind, mut unit) = (None, None);
    for section in &said {
        let is_kind = section.key.text == ":kind";
        let [item] = section.items else {
            let names = Kind::ALL.iter().map(|(name, _)| *name).filter(|_| is_kind);
            let names = names.chain(Unit::ALL.iter().map(|(name, _)| *name).filter(|_| !is_kind));
            let key = &section.key;
            return Err(Diagnostic::error(
                format!("`{}` has the wrong shape", key.text),
                key.span,
                "one word is expected behind this",
            )
            .with_code(Code::WrongShape)
            .with_help(format!(
                "write {} {}",
                key.text,
                names.collect::<Vec<_>>().join("|")
            )));
        };
        let value = word(Some(item), "a word", section.key.span)?;
        if is_kind {
            kind = Some(one_of(("kind", Code::UnknownKind), &Kind::ALL, &value)?);
        } else {
            unit = Some(one_of(("unit", Code::UnknownUnit), &Unit::ALL, &value)?);
        }
    }
    Ok(SortDecl { sort: Sort::named(&name.text), doc, kind, unit, dialect, span: name.span })
}

/// Returns the value of a word of a closed list.
fn one_of<T: Copy>(
    (what, code): (&str, Code),
    all: &[(&str, T)],
    word: &Word,
) -> Result<T, Diagnostic> {
    let known = all.iter().find(|(name, _)| *name == word.text).map(|(_, value)| *value);
    known.ok_or_else(|| {
        let names = all.iter().map(|(name, _)| *name);
        unknown(what, &word.text, word.span, names).with_code(code)
    })
}

fn declare_sort(signature: &mut Signature, decl: SortDecl, errors: &mut Vec<Diagnostic>) {
    if let Some(first) = signature.sort(decl.sort.name()) {
        errors.push(
            Diagnostic::error(
                format!("sort `{}` is declared twice", decl.sort),
                decl.span,
                "again here",
            )
            .with_code(Code::SortTwice)
            .with_related(first.span, "first declared here"),
        );
        return;
    }
    signature.sort_index.insert(decl.sort, signature.sorts.len());
    signature.sorts.push(decl);
}

/// Reads `(op NAME (ARG…) SORT "doc" [KEY …]…)`, in which an argument is a sort or `(NAME SORT)`. Also returns true if
/// the operator commutes.
fn operator(
    signature: &Signature,
    dialect: Symbol,
    item: &Sexp,
    errors: &mut Vec<Diagnostic>,
) -> Result<(Operator, bool), Diagnostic> {
    let items = item.list().unwrap_or_default();
    let (fixed, rest) = sections(&items[1..], &OP_KEYS, errors);
    let name = word(fixed.first(), "the name of the operator", item.span)?;
    nameable(&name)?;
    let shape = "write (op NAME (SORT …) SORT \"doc\"), where (NAME SORT) names an argument";
    let Some(list) = fixed.get(1).and_then(Sexp::list) else {
        let span = fixed.get(1).map_or(item.span, |s| s.span);
        return Err(Diagnostic::error("the sorts of the arguments are missing", span, "in this")
            .with_code(Code::NoArgumentSorts)
            .with_help(shape));
    };
    let mut args = Vec::with_capacity(list.len());
    let mut operands = Vec::with_capacity(list.len());
    for arg in list {
        let (name, sort) = match arg.list() {
            Some([name, sort]) => {
                (Some(word(Some(name), "the name of the argument", arg.span)?), sort)
            }
            _ => (None, arg),
        };
        args.push(sort_term(signature, sort, errors)?);
        operands.push(name.map(|name| Symbol::from(&name.text)));
    }
    let Some(result) = fixed.get(2) else {
        return Err(Diagnostic::error("the sort of the result is missing", item.span, "in this")
            .with_code(Code::NoResultSort)
            .with_help(shape));
    };
    let result_span = result.span;
    let result = sort_term(signature, result, errors)?;
    if matches!(result, SortTerm::Any(_)) && !args.contains(&result) {
        return Err(Diagnostic::error(
            "the sort of the result is not determined",
            result_span,
            "no argument has this sort",
        )
        .with_code(Code::UndeterminedSort)
        .with_help("a sort variable of the result must also stand among the arguments"));
    }
    let doc = doc(fixed.get(3), item.span)?;
    if let Some(extra) = fixed.get(4) {
        return Err(Diagnostic::error("unexpected item", extra.span, "complete before this")
            .with_code(Code::TooMuch));
    }
    let mut op = Operator {
        name: Symbol::from(&name.text),
        args,
        operands,
        result,
        doc,
        attributes: Attributes::default(),
        binds: None,
        boundary: false,
        input: false,
        dialect,
        span: name.span,
    };
    let mut commutes = false;
    for section in &rest {
        if op.attributes.read(section)? {
            continue;
        }
        match section.key.text.as_str() {
            ":binds" => op.binds = Some(binds(section, op.args.len())?),
            key => {
                if let Some(extra) = section.items.first() {
                    let message = format!("`{key}` takes no value");
                    errors.push(
                        Diagnostic::error(message, extra.span, "remove this")
                            .with_code(Code::TakesNoValue),
                    );
                }
                op.boundary |= key == ":boundary";
                op.input |= key == INPUT;
                commutes |= key == ":commutes";
            }
        }
    }
    if commutes && (op.args.len() != 2 || op.args[0] != op.args[1]) {
        return Err(Diagnostic::error(
            format!("`{}` cannot commute", op.name),
            op.span,
            "`:commutes` is for two arguments of one sort",
        )
        .with_code(Code::CannotCommute)
        .with_help("write the equality as a rule"));
    }
    Ok((op, commutes))
}

/// Checks that a word can be the name of an operator.
pub(super) fn nameable(name: &Word) -> Result<(), Diagnostic> {
    let is_literal = !matches!(parse_head(&name.text), Head::Op(_));
    if is_literal || name.text == "!" || name.text.starts_with(['\'', '?', '%', ':']) {
        return Err(Diagnostic::error(
            format!("an operator cannot be called `{}`", name.text),
            name.span,
            "this already means something else in a term",
        )
        .with_code(Code::OperatorName)
        .with_help("start it with a letter"));
    }
    Ok(())
}

/// Reads the two argument positions after `:binds`.
fn binds(section: &Section, arity: usize) -> Result<(usize, usize), Diagnostic> {
    let position = |s: &Sexp| s.atom().and_then(|t| t.parse::<usize>().ok());
    let pair = match section.items {
        [pair] => pair.list(),
        _ => None,
    };
    let positions = match pair {
        Some([variable, body]) => position(variable).zip(position(body)),
        _ => None,
    };
    let help = format!(
        "write :binds (VARIABLE BODY), counted from 0; this operator has {arity} arguments"
    );
    let error = match positions {
        Some((variable, body)) if variable.max(body) < arity && variable != body => {
            return Ok((variable, body));
        }
        Some(_) => Diagnostic::error(
            "no arguments that `:binds` could mean",
            section.key.span,
            "expected the positions of two arguments behind this",
        )
        .with_code(Code::BindsNothing),
        None => Diagnostic::error(
            "`:binds` has the wrong shape",
            section.key.span,
            "expected two positions of arguments behind this",
        )
        .with_code(Code::WrongShape),
    };
    Err(error.with_help(help))
}

pub(super) fn declare_operator(
    signature: &mut Signature,
    op: Operator,
    errors: &mut Vec<Diagnostic>,
) {
    if let Some(first) = signature.operator(op.name, op.args.len()) {
        errors.push(
            Diagnostic::error(
                format!(
                    "operator `{}` is declared twice with {} arguments",
                    op.name,
                    op.args.len()
                ),
                op.span,
                "again here",
            )
            .with_code(Code::OperatorTwice)
            .with_related(first.span, "first declared here"),
        );
        return;
    }
    signature.operator_index.insert((op.name, op.args.len()), signature.operators.len());
    signature.operators.push(op);
}

/// Reads a sort or a sort variable. An unknown sort is reported and used nonetheless, so that not every use of the
/// operator is an error too.
fn sort_term(
    signature: &Signature,
    sexp: &Sexp,
    errors: &mut Vec<Diagnostic>,
) -> Result<SortTerm, Diagnostic> {
    let name = word(Some(sexp), "a sort", sexp.span)?;
    if name.text.starts_with('\'') {
        return Ok(SortTerm::Any(Symbol::from(&name.text)));
    }
    if signature.sort(&name.text).is_none() {
        errors.push(signature.unknown_sort(&name.text, name.span));
    }
    Ok(SortTerm::Is(Sort::named(&name.text)))
}
