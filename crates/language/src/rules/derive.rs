//! Derives push-down rules from the properties of operators, as rule forms.
//!
//! `(derive BOUNDARY)` in a rule file stands for one rule for each operator, in the set of the file. A boundary around
//! an operator becomes the operator's counterpart, whose operands have boundaries of their own; `vec` and `after` move
//! through operators that work lane by lane; `rename` and `fix` through all that bind nothing. A written rule replaces
//! the derived rule of the same name. Derived rules are not trusted: they are read, verified and cited like any other.

use super::operators::{Kind, OpInfo, Operators};
use super::rule_form::RuleForm;
use super::signature::{Push, Signature};
use super::syntax::Word;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::{Kind as SexpKind, Sexp};
use crate::suggest::unknown;
use egg::Symbol;
use ember_values::primitive::Price;
use ember_values::primitive::form::{By, Form, Undone};

/// Returns the rules of a derivation, in the order in which operators are declared.
pub(super) fn rules(
    signature: &Signature,
    boundary: &Word,
    errors: &mut Vec<Diagnostic>,
) -> Vec<RuleForm> {
    let writer = Writer { table: signature.table(), boundary: &boundary.text, span: boundary.span };
    let name = Symbol::from(&boundary.text);
    let mut operators = signature.operators().iter().filter(|op| op.name == name);
    let Some(operator) = operators.next() else {
        let names = signature.operators().iter().filter(|op| derivable(signature, op.name));
        let names = names.map(|op| op.name.as_str());
        let error = unknown("boundary", &boundary.text, boundary.span, names);
        errors.push(error.with_code(Code::UnknownBoundary));
        return Vec::new();
    };
    if operator.boundary {
        let pushes = signature.pushes.iter().filter(|push| push.boundary == name);
        return pushes.map(|push| writer.push(push)).collect();
    }
    let through = writer.table.get(name, operator.args.len()).filter(|info| moves(info).is_some());
    let Some(through) = through else {
        errors.push(
            Diagnostic::error(
                format!("no rules follow from what `{name}` is"),
                boundary.span,
                "neither a boundary nor a term in another environment",
            )
            .with_code(Code::NoDerivation)
            .with_help("`:boundary` operators, and those that mean vec, rename, fix or after"),
        );
        return Vec::new();
    };
    let all = signature.operators().iter();
    let rows = all.filter_map(|op| writer.table.get(op.name, op.args.len()));
    rows.filter_map(|info| writer.through(through, info)).collect()
}

fn derivable(signature: &Signature, name: Symbol) -> bool {
    let mut named = signature.operators().iter().filter(|op| op.name == name);
    named.any(|op| {
        let info = signature.table().get(name, op.args.len());
        op.boundary || info.is_some_and(|info| moves(info).is_some())
    })
}

/// The condition under which an operator that puts a term into another environment or store moves to the operands of
/// that term.
enum Moves {
    /// Moves through operators that work lane by lane.
    Lanewise,
    /// Moves through operators that bind nothing; the variable must not occur in the operands that stay. The number is
    /// the position of the variable.
    Anything(usize),
}

/// Returns how an operator moves that puts a term into another environment or store.
fn moves(info: &OpInfo) -> Option<Moves> {
    match info.form? {
        Form::Undone { undone: Undone::After(_), .. }
        | Form::Replaced { by: By::Lanes { .. }, .. } => Some(Moves::Lanewise),
        Form::Replaced { variable, .. } => Some(Moves::Anything(variable)),
        _ => None,
    }
}

struct Writer<'a> {
    table: &'a Operators,
    /// The operator that `(derive …)` names.
    boundary: &'a str,
    span: Span,
}

impl Writer<'_> {
    fn atom(&self, text: &str) -> Sexp {
        Sexp { span: self.span, kind: SexpKind::Atom(text.to_owned()) }
    }

    /// Builds an operator with its operands; the bare operator if it has none.
    fn list(&self, name: &str, operands: Vec<Sexp>) -> Sexp {
        if operands.is_empty() {
            return self.atom(name);
        }
        let items = std::iter::once(self.atom(name)).chain(operands).collect();
        Sexp { span: self.span, kind: SexpKind::List(items) }
    }

    fn rule(&self, name: String, doc: String, lhs: Sexp, rhs: Sexp) -> RuleForm {
        let name = Word { text: name, span: self.span };
        let derived = Some(self.boundary.to_owned());
        RuleForm { derived, ..RuleForm::new(name, doc, lhs, rhs, false) }
    }

    /// Returns variables for an operator's operands, distinct from the names in `taken`.
    fn variables(&self, info: &OpInfo, taken: &[String]) -> Vec<String> {
        let named = info.operands.iter().enumerate().map(|(at, name)| match name {
            Some(name) => format!("?{name}"),
            None => format!("?x{at}"),
        });
        named.map(|name| if taken.contains(&name) { format!("{name}-2") } else { name }).collect()
    }

    /// Builds `(BOUNDARY (FROM ?a …)) => (TO (BOUNDARY-OF-A ?a) …)`.
    fn push(&self, push: &Push) -> RuleForm {
        let info = self.table.get(push.from, push.operands.len());
        let variables = info.map(|info| self.variables(info, &[])).unwrap_or_default();
        let plain = variables.iter().map(|x| self.atom(x)).collect();
        let behind = variables.iter().zip(&push.operands).map(|(x, boundary)| match boundary {
            Some(boundary) => self.list(boundary.as_str(), vec![self.atom(x)]),
            None => self.atom(x),
        });
        let from = self.list(push.from.as_str(), plain);
        let lhs = self.list(push.boundary.as_str(), vec![from]);
        let rhs = self.list(push.to.as_str(), behind.collect());
        let doc = format!("`{}` is `{}` of what its operands become.", push.from, push.to);
        self.rule(format!("{}-{}", push.boundary, short(push.to)), doc, lhs, rhs)
    }

    /// Builds `(P … (F ?a …)) => (F (P … ?a) …)`, if P moves through F.
    fn through(&self, outer: &OpInfo, info: &OpInfo) -> Option<RuleForm> {
        // Whole tensors are lowered before anything moves through them.
        let evaluated = info.kind.is_some_and(|k| k.is_evaluated() && k != Kind::Tensor);
        // An operator that is folded or lowered is moved through in its resulting form.
        let lasting = info.price != Some(Price::Folded);
        let known = info.unit.is_none() && info.row.is_some() && evaluated && lasting;
        if !known || info.boundary || moves(info).is_some() || info.operands.is_empty() {
            return None;
        }
        let variable = match moves(outer)? {
            Moves::Lanewise if !info.lanewise => return None,
            Moves::Lanewise => None,
            Moves::Anything(_) if info.binds.is_some() => return None,
            Moves::Anything(variable) => Some(variable),
        };
        let inner = outer.position("x")?;
        let context = self.variables(outer, &[]);
        let around = |x: Sexp| {
            let part = |(at, name): (usize, &String)| {
                if at == inner { x.clone() } else { self.atom(name) }
            };
            self.list(outer.name.as_str(), context.iter().enumerate().map(part).collect())
        };
        let taken: Vec<String> = context
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != inner)
            .map(|(_, x)| x.clone())
            .collect();
        let variables = self.variables(info, &taken);
        let moved = |at: usize| {
            info.operand_kinds[at].is_some_and(Kind::is_evaluated) && !info.literals.contains(&at)
        };
        if !(0..variables.len()).any(moved) {
            return None;
        }
        let plain = variables.iter().map(|x| self.atom(x)).collect();
        let behind = variables.iter().enumerate().map(|(at, x)| match moved(at) {
            true => around(self.atom(x)),
            false => self.atom(x),
        });
        let lhs = around(self.list(info.name.as_str(), plain));
        let rhs = self.list(info.name.as_str(), behind.collect());
        let doc =
            format!("`{}` of `{}` is `{}` of its operands.", outer.name, info.name, outer.name);
        let mut rule = self.rule(format!("{}-{}", outer.name, short(info.name)), doc, lhs, rhs);
        // A literal may be computed from sizes, which mention no variable; conditions must establish this.
        if let Some(variable) = variable {
            let stays = |at: usize| vec![self.atom(&context[variable]), self.atom(&variables[at])];
            let asked = info.literals.iter().map(|at| self.list("not-free", stays(*at)));
            rule.whens = asked.collect();
        }
        Some(rule)
    }
}

/// Returns an operator's name without its dialect, in the spelling of rule names.
fn short(name: Symbol) -> String {
    let name = name.as_str();
    name.rsplit('.').next().unwrap_or(name).replace('_', "-")
}
