//! Operands: named tensors or nested expressions, storage of operands before use, and the checks of ranks, types and
//! extents.

use super::operator::{self, Value};
use super::read::{Reader, Temporary};
use super::{Computed, Declared, Expr, Extent, Kind, Op, Part, Role, Statement, TensorId};
use ember_language::diagnostic::{Diagnostic, Span};
use ember_language::sexp::Sexp;
use ember_language::suggest;
use ember_values::operation::{Element, Reads};
use ember_values::scalar::DType;
use itertools::Itertools;
use std::ops::RangeInclusive;

/// The advice for tensors of more dimensions.
pub(super) const AT_MOST_THREE: &str =
    "tensors have at most three dimensions: declare those that every operation treats alike as one";

/// The tensor that a statement is about to compute.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// Returns true if no element of the expression can be computed on its own.
pub(super) fn is_whole(expr: &Expr) -> bool {
    expr.element() == Element::Whole
}

/// Returns true if an element takes only loads and simple arithmetic.
pub(super) fn is_cheap(expr: &Expr) -> bool {
    expr.walk().all(|part| part.element() == Element::Cheap)
}

/// Returns true if an element is a function of stored elements in the same place.
fn is_by_element(expr: &Expr) -> bool {
    expr.walk().all(|part| matches!(part.element(), Element::Cheap | Element::Function))
}

/// The maximum depth of operations that are computed at their use, because the e-graph holds every form of all of them
/// together. A deeper operand is stored.
const DEEPEST_IN_PLACE: usize = 8;

/// The maximum number of parts of such an operand, as often as each occurs. Temporaries that use one another several times
/// would make it grow without limit.
const LARGEST_IN_PLACE: usize = 64;

/// Returns the depth of nested operations.
fn depth(expr: &Expr) -> usize {
    let deepest = expr.operands().into_iter().map(depth).max().unwrap_or(0);
    deepest + usize::from(expr.stored().is_none())
}

impl Reader {
    /// Returns true if an operand is computed at its use.
    fn in_place(&self, expr: &Expr, reads: Reads) -> bool {
        match reads {
            Reads::Scratch => return true,
            Reads::Kept => return self.recomputed.has(expr.span),
            _ => {}
        }
        let is_large = || expr.walk().nth(LARGEST_IN_PLACE).is_some();
        if is_whole(expr) || depth(expr) > DEEPEST_IN_PLACE || is_large() {
            return false;
        }
        match reads {
            Reads::Once => true,
            Reads::Often => is_cheap(expr),
            Reads::Rows => is_by_element(expr) && !self.in_advance.contains(&expr.span),
            Reads::Many | Reads::Scratch | Reads::Kept => false,
        }
    }

    /// Reads an operand as an expression, which is computed in place or stored. A temporary is the same as its expression
    /// in the place of its name.
    pub(super) fn operand(&mut self, item: &Sexp, reads: Reads) -> Option<Expr> {
        let Some(word) = item.atom() else {
            return match operator::read(self, item)? {
                Value::Whole(expr) if self.in_place(&expr, reads) => Some(expr),
                value => Some(self.stored(value, item.span)),
            };
        };
        if let Some(Temporary { value: Value::Whole(expr), .. }) = self.temporaries.get(word)
            && self.in_place(expr, reads)
        {
            let expr = expr.clone();
            self.temporaries
                .entry(word.to_owned())
                .and_modify(|temporary| temporary.is_used = true);
            self.named.entry(expr.span).or_insert_with(|| word.to_owned());
            return Some(expr);
        }
        let id = self.tensor(item, Role::Values)?;
        Some(self.reference(id, item.span))
    }

    /// Reads an operand and checks its rank.
    pub(super) fn ranked(
        &mut self,
        item: &Sexp,
        what: &str,
        ranks: RangeInclusive<usize>,
        reads: Reads,
    ) -> Option<Expr> {
        let expr = self.operand(item, reads)?;
        self.rank(item, what, ranks, &expr).then_some(expr)
    }

    /// Checks that the rank of an operand is in a range.
    pub(super) fn rank(
        &mut self,
        item: &Sexp,
        what: &str,
        mut ranks: RangeInclusive<usize>,
        expr: &Expr,
    ) -> bool {
        let found = expr.shape.len();
        if ranks.contains(&found) {
            return true;
        }
        let message = format!("{what} must have rank {}", ranks.join(" or "));
        let label = format!("{} has rank {found}", shown(item));
        let error = Diagnostic::error(message, item.span, label);
        self.about(expr, if found > 3 { error.with_help(AT_MOST_THREE) } else { error });
        false
    }

    /// Adds an error about an operand, with a pointer to the operand's declaration.
    pub(super) fn about(&mut self, expr: &Expr, error: Diagnostic) {
        let declared = expr.stored().map(|id| self.declared(id).span);
        self.errors.push(match declared {
            Some(span) => error.with_related(span, "declared here"),
            None => error,
        });
    }

    /// Reads a tensor that must be stored, and checks its rank.
    pub(super) fn address(
        &mut self,
        item: &Sexp,
        what: &str,
        ranks: RangeInclusive<usize>,
    ) -> Option<Expr> {
        self.ranked(item, what, ranks, Reads::Many)
    }

    /// Reads an input of indices or offsets.
    pub(super) fn positions(
        &mut self,
        item: &Sexp,
        role: Role,
        ranks: RangeInclusive<usize>,
    ) -> Option<Expr> {
        let what = role.name();
        let help = "positions are checked before a run, so they cannot be computed in it";
        if item.atom().is_none() {
            let message = format!("{what} must be an input");
            self.error_with_help(item.span, message, "not the name of an input", help);
            return None;
        }
        let id = self.tensor(item, role)?;
        let expr = self.reference(id, item.span);
        if id.0 >= self.inputs.len() {
            let message = format!("{what} must be an input");
            let label = format!("{} is computed", shown(item));
            let error = Diagnostic::error(message, item.span, label).with_help(help);
            self.about(&expr, error);
            return None;
        }
        let fits = self.rank(item, what, ranks, &expr);
        if !matches!(expr.dtype, DType::I32 | DType::I64) {
            let message = format!("{what} must be i32 or i64");
            let label = format!("{} is {}", shown(item), expr.dtype);
            self.about(&expr, Diagnostic::error(message, item.span, label));
            return None;
        }
        fits.then_some(expr)
    }

    /// Finds a tensor by its name: an input, which is assigned a role, or a tensor that was computed earlier.
    fn tensor(&mut self, item: &Sexp, role: Role) -> Option<TensorId> {
        let word = self.word("a tensor", item)?;
        if let Some(temporary) = self.temporaries.remove(word) {
            return Some(self.stored_temporary(temporary));
        }
        let n = self.inputs.len();
        if let Some(at) = self.computed.iter().position(|c| c.tensor.name == word) {
            return Some(TensorId(n + at));
        }
        if let Some(at) = self.inputs.iter().position(|(input, _)| input.tensor.name == word) {
            let before = *self.inputs[at].1.get_or_insert(role);
            if before != role {
                let names = (before.name(), role.name());
                let message = format!("`{word}` cannot be both {} and {}", names.0, names.1);
                let label = format!("as {}, and before as {}", role.name(), before.name());
                self.error(item.span, message, label);
                return None;
            }
            return Some(TensorId(at));
        }
        if self.broken.contains(word) {
            return None;
        }
        if let Some(later) = self.plans.iter().position(|plan| plan.name == word) {
            self.not_yet(later, item);
            return None;
        }
        let inputs = self.inputs.iter().map(|(input, _)| input.tensor.name.as_str());
        let computed = self.plans.iter().take(self.current).map(|plan| plan.name.as_str());
        let error = suggest::unknown("tensor", word, item.span, inputs.chain(computed).unique());
        self.errors.push(error);
        None
    }

    /// Reports a tensor that this statement or a later one computes.
    fn not_yet(&mut self, later: usize, item: &Sexp) {
        let (plan, current) = (&self.plans[later], &self.plans[self.current]);
        let name = &plan.name;
        let error = if later == self.current {
            let message = format!("`{name}` is used to compute itself");
            Diagnostic::error(message, item.span, "not computed yet")
        } else if self.needs(later, &current.name) {
            let message = format!("`{}` and `{name}` are used to compute each other", current.name);
            Diagnostic::error(message, item.span, "not computed yet")
                .with_related(plan.span, format!("this needs `{}`", current.name))
        } else {
            let message = format!("`{name}` is used before it is computed");
            Diagnostic::error(message, item.span, "not computed yet")
                .with_related(plan.span, "computed here")
                .with_help(format!("put `{name}` before `{}`", current.name))
        };
        self.errors.push(error);
    }

    /// Returns true if a planned tensor depends on another, directly or through others.
    fn needs(&self, plan: usize, name: &str) -> bool {
        let mut seen = vec![false; self.plans.len()];
        let mut open = vec![plan];
        while let Some(next) = open.pop() {
            if std::mem::replace(&mut seen[next], true) {
                continue;
            }
            let uses = &self.plans[next].uses;
            if uses.contains(name) {
                return true;
            }
            let others = self.plans.iter().enumerate();
            open.extend(others.filter(|(_, p)| uses.contains(&p.name)).map(|(i, _)| i));
        }
        false
    }

    /// Returns the declaration of a tensor that has been read.
    fn declared(&self, id: TensorId) -> &Declared {
        match self.inputs.get(id.0) {
            Some((input, _)) => &input.tensor,
            None => &self.computed[id.0 - self.inputs.len()].tensor,
        }
    }

    /// Returns a tensor as an expression.
    pub(super) fn reference(&self, id: TensorId, span: Span) -> Expr {
        let Declared { dtype, shape, .. } = self.declared(id);
        Expr { op: Op::Tensor(id), dtype: *dtype, shape: shape.clone(), span }
    }

    /// Remembers a temporary, which its uses compute in place or store.
    pub(super) fn name_temporary(&mut self, value: Value, target: Target) {
        let name = target.name.clone();
        let temporary = Temporary { value, target, stored: None, is_used: false };
        self.temporaries.insert(name, temporary);
    }

    /// Stores a temporary unless it is stored already, and remembers it for later uses.
    fn stored_temporary(&mut self, mut temporary: Temporary) -> TensorId {
        let Temporary { value, target, stored, .. } = &mut temporary;
        let id = match *stored {
            Some(id) => id,
            None => *stored.insert(self.compute(value.clone(), target.clone())),
        };
        self.temporaries.insert(target.name.clone(), temporary);
        id
    }

    /// Adds the statements that compute a tensor.
    pub(super) fn compute(&mut self, value: Value, target: Target) -> TensorId {
        let (parts, dtype, shape) = match value {
            Value::Whole(expr) => {
                let (dtype, shape) = (expr.dtype, expr.shape.clone());
                (vec![(Part::Whole, expr)], dtype, shape)
            }
            Value::Parts { parts, dtype, shape } => (parts, dtype, shape),
        };
        let Target { name, kind, span } = target;
        let id = TensorId(self.inputs.len() + self.computed.len());
        self.computed.push(Computed { tensor: Declared { name, dtype, shape, span }, kind });
        let statement = |(part, value)| Statement { target: id, part, value };
        self.statements.extend(parts.into_iter().map(statement));
        id
    }

    /// Stores a value in a temporary, unless it is a stored tensor already.
    pub(super) fn stored(&mut self, value: Value, span: Span) -> Expr {
        if let Value::Whole(expr @ Expr { op: Op::Tensor(_), .. }) = value {
            return expr;
        }
        let target = Target { name: self.fresh_name(), kind: Kind::Temporary, span };
        let id = self.compute(value, target);
        self.reference(id, span)
    }

    /// Returns an unused name for a temporary of the current statement: `out.1`, `out.2`, …
    pub(super) fn fresh_name(&mut self) -> String {
        loop {
            self.generated += 1;
            let name = format!("{}.{}", self.plans[self.current].name, self.generated);
            if !self.is_named(&name) {
                return name;
            }
        }
    }

    /// Checks that an operand has a given element type, which is the type of another operand.
    pub(super) fn same_type(
        &mut self,
        item: &Sexp,
        (what, expr): (&str, &Expr),
        (other, dtype): (&str, DType),
    ) -> Option<()> {
        if expr.dtype == dtype {
            return Some(());
        }
        let message = format!("{what} must have the element type of {other}");
        let label = format!("{} is {}, not {dtype}", shown(item), expr.dtype);
        self.about(expr, Diagnostic::error(message, item.span, label));
        None
    }

    /// Checks that two extents are the same size or number.
    pub(super) fn same_extent(
        &mut self,
        span: Span,
        (what, found): (&str, &Extent),
        (other, wanted): (&str, &Extent),
    ) -> Option<()> {
        if found == wanted {
            return Some(());
        }
        let message = format!("{what} and {other} must be equally many");
        let label = format!("{found} here, {wanted} there");
        match (found, wanted) {
            (Extent::Const(_), Extent::Const(_)) => {
                self.error(span, message, label);
            }
            _ => {
                let help = "the shapes must say so by the same size or number";
                self.error_with_help(span, message, label, help);
            }
        }
        None
    }

    /// Returns an extent that must be a number in the model file, because other extents are computed from it.
    pub(super) fn constant(&mut self, span: Span, what: &str, extent: &Extent) -> Option<u64> {
        let n = extent.constant();
        if n.is_none() {
            let help = "write a number as this extent of the input that it comes from";
            let message = format!("{what} must be a number");
            self.error_with_help(span, message, format!("the size `{extent}`"), help);
        }
        n
    }
}

/// Returns the name of an operand for labels, or "this" if it has no name.
pub(super) fn shown(item: &Sexp) -> String {
    item.atom().map_or_else(|| "this".to_owned(), |word| format!("`{word}`"))
}
