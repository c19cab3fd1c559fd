//! Resolves calls of predicates and generators: their names, and the number and sorts of their arguments.

use super::book::{Arg, Call};
use super::check::Conditions;
use super::infer::{Inference, SortCell};
use super::parameters::{Parameters, not_a_number};
use super::rule_form::RuleForm;
use super::signature::Sort;
use crate::codes::Code;
use crate::conditions::{Condition, GENERATORS, PARAMETER, PREDICATES, VARIABLE};
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest::unknown;
use crate::term::{Head, parse_head};
use egg::{Symbol, Var};
use std::collections::BTreeMap;

/// The conditions that may be called at a place.
struct Callable {
    what: &'static str,
    /// The codes for a missing call and for an unknown name.
    expected: Code,
    unknown: Code,
    all: &'static [Condition],
}

const PREDICATE: Callable = Callable {
    what: "predicate",
    expected: Code::NotAPredicate,
    unknown: Code::UnknownPredicate,
    all: PREDICATES,
};

const GENERATOR: Callable = Callable {
    what: "generator",
    expected: Code::NotAGenerator,
    unknown: Code::UnknownGenerator,
    all: GENERATORS,
};

/// Returns the parameters that the calls of a rule ask about.
pub(super) fn parameters(form: &RuleForm) -> Vec<Symbol> {
    let calls = form.fors.iter().map(|(_, call)| call).chain(&form.whens);
    let asked = calls.filter_map(|call| {
        let (name, args) = call.form()?;
        let what = PREDICATES.iter().chain(GENERATORS).find(|known| known.name == name)?;
        let at = what.sorts.iter().position(|sort| *sort == PARAMETER)?;
        args.get(at)?.atom().map(Symbol::from)
    });
    asked.collect()
}

/// Resolves every call of a rule.
pub(super) fn resolve(
    form: &RuleForm,
    parameters: &Parameters,
    errors: &mut Vec<Diagnostic>,
) -> Conditions {
    let mut conditions = Conditions { fors: Vec::new(), guards: Vec::new() };
    for (x, call) in &form.fors {
        match resolve_call(call, &GENERATOR, parameters) {
            Ok(resolved) => conditions.fors.push((x.clone(), resolved, call.span)),
            Err(error) => errors.push(error),
        }
    }
    for call in &form.whens {
        match resolve_call(call, &PREDICATE, parameters) {
            Ok(resolved) => conditions.guards.push((resolved, call.span)),
            Err(error) => errors.push(error),
        }
    }
    conditions
}

fn resolve_call(
    call: &Sexp,
    callable: &Callable,
    parameters: &Parameters,
) -> Result<Call, Diagnostic> {
    let Some((name, rest)) = call.form() else {
        return Err(Diagnostic::error(
            format!("expected a {}", callable.what),
            call.span,
            "not a call",
        )
        .with_code(callable.expected)
        .with_help("write (NAME ARG …)"));
    };
    let Some(what) = callable.all.iter().find(|f| f.name == name) else {
        let names: Vec<&str> = callable.all.iter().map(|f| f.name).collect();
        let span = call.list().map_or(call.span, |l| l[0].span);
        return Err(unknown(callable.what, name, span, names).with_code(callable.unknown));
    };
    if rest.len() != what.sorts.len() {
        return Err(Diagnostic::error(
            format!("wrong number of arguments for `{name}`"),
            call.span,
            format!("{} expected, {} given", what.sorts.len(), rest.len()),
        )
        .with_code(Code::Arity)
        .with_help(format!("`{name}`: {}", what.doc)));
    }
    let mut args = Vec::new();
    for (item, sort) in rest.iter().zip(what.sorts) {
        match *sort {
            PARAMETER => args.extend(numbers(item, parameters, callable)?),
            _ => args.push(argument(item)?),
        }
    }
    Ok(Call { what, args })
}

/// Returns the numbers that a parameter is set to, instead of its name. A generator has every number if none is set; a
/// predicate has none then, and holds of all.
fn numbers(
    item: &Sexp,
    parameters: &Parameters,
    callable: &Callable,
) -> Result<Vec<Arg>, Diagnostic> {
    let own = parameters.require(item)?;
    let all = own.values.numbers();
    if all.is_empty() {
        return Err(not_a_number(item));
    }
    let every = if callable.what == GENERATOR.what { all } else { &[] };
    let set = parameters.number(own).map(|number| vec![number]);
    Ok(set.unwrap_or_else(|| every.to_vec()).into_iter().map(Arg::Int).collect())
}

fn argument(item: &Sexp) -> Result<Arg, Diagnostic> {
    match item.atom().map(|text| (text, parse_head(text))) {
        Some((_, Head::Int(n))) => Ok(Arg::Int(n)),
        Some((text, Head::Op(name))) if text.starts_with('?') && text.len() > 1 => {
            Ok(Arg::Var(Var::from(name)))
        }
        _ => Err(Diagnostic::error(
            "expected a variable or an integer",
            item.span,
            "conditions speak of variables of the left side",
        )
        .with_code(Code::NotAnArgument)
        .with_help("name the subterm on the left side, with :where if need be")),
    }
}

/// Infers the sorts of the arguments of calls.
pub(super) fn infer(
    inference: &mut Inference,
    conditions: &Conditions,
    errors: &mut Vec<Diagnostic>,
) {
    for (x, call, span) in &conditions.fors {
        let value = inference.known(Sort::named(Sort::VALUE));
        let cell = inference.variable(Symbol::from(&x.text), x.span);
        if let Err((found, expected)) = inference.unify(cell, value) {
            errors.push(
                Diagnostic::error(
                    format!("expected {found}, found {expected}"),
                    x.span,
                    "ranges over integers",
                )
                .with_code(Code::SortsDiffer),
            );
        }
        infer_call(inference, call, *span, errors);
    }
    for (call, span) in &conditions.guards {
        infer_call(inference, call, *span, errors);
    }
}

fn infer_call(inference: &mut Inference, call: &Call, span: Span, errors: &mut Vec<Diagnostic>) {
    let mut any: BTreeMap<&str, SortCell> = BTreeMap::new();
    for (k, (arg, &sort)) in call.args.iter().zip(call.what.sorts).enumerate() {
        let expected = if sort == PARAMETER {
            continue;
        } else if sort == VARIABLE {
            inference.variable_sort()
        } else if !sort.starts_with('\'') {
            inference.known(Sort::named(sort))
        } else {
            *any.entry(sort).or_insert_with(|| inference.free())
        };
        let found = match arg {
            Arg::Var(variable) => inference.variable(Symbol::from(variable.to_string()), span),
            Arg::Int(_) => inference.known(Sort::named(Sort::VALUE)),
        };
        if let Err((found, expected)) = inference.unify(found, expected) {
            let name = call.what.name;
            errors.push(
                Diagnostic::error(
                    format!("expected {expected}, found {found}"),
                    span,
                    format!("argument {} of `{name}`", k + 1),
                )
                .with_code(Code::SortsDiffer)
                .with_help(format!("`{name}`: {}", call.what.doc)),
            );
        }
    }
}
