//! Terms in another environment or store: under another name of a variable, with a value for one, or after a
//! statement that is undone.

use super::op::At;
use super::{Bound, Error, Interpreter};
use ember_values::primitive::form::{By, Form, Undone};

impl Interpreter {
    /// Evaluates a term of any sort in another environment or store; `None` for other forms.
    pub(super) fn elsewhere<T>(
        &mut self,
        form: Form<At>,
        evaluate: fn(&mut Self, At) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        Some(match form {
            Form::Replaced { variable, by: By::Variable(to), x } => {
                self.renamed(variable, to, |this| evaluate(this, x))
            }
            Form::Replaced { variable, by: By::Value(value), x } => {
                self.fixed(variable, value, |this| evaluate(this, x))
            }
            Form::Undone { statement: first, undone: Undone::After(x) } => {
                self.after(first, |this| evaluate(this, x))
            }
            _ => return None,
        })
    }

    /// Runs `body` with variable `x` bound to the value of `y`.
    pub(super) fn renamed<T>(
        &mut self,
        x: At,
        y: At,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.variable(y, false)?;
        let Some(bound) = self.environment[y] else { return Err(self.wrong(y, "a loop variable")) };
        self.allowed(x, bound.value, bound.value.saturating_add(1), 1)?;
        let outer = self.environment[x].replace(bound);
        let result = body(self);
        self.environment[x] = outer;
        result
    }

    /// Runs `body` with variable `x` bound to the value of a term.
    pub(super) fn fixed<T>(
        &mut self,
        x: At,
        v: At,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let value = self.index(v)?;
        self.allowed(x, value, value.saturating_add(1), 1)?;
        let outer = self.environment[x].replace(Bound { value, fed: true });
        let result = body(self);
        self.environment[x] = outer;
        result
    }

    /// Runs `body` in the store that a statement leaves, and then undoes the statement's changes.
    pub(super) fn after<T>(
        &mut self,
        s: At,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let before = self.tensors.clone();
        let beyond = self.beyond.clone();
        let flags = (self.written.clone(), self.frozen.clone());
        self.statement(s)?;
        let changed = self.tensors.clone();
        let changed_beyond = self.beyond.clone();
        let result = body(self);
        if let (Some(now), Some(before), Some(changed)) =
            (&mut self.beyond, &beyond, &changed_beyond)
        {
            now.undo(before, changed);
        }
        for (tensor, (before, changed)) in self.tensors.iter_mut().zip(before.iter().zip(&changed))
        {
            for at in 0..tensor.len() {
                if let (Some(old), new) = (before.get(at), changed.get(at))
                    && new != Some(old)
                {
                    tensor.set(at, old);
                }
            }
        }
        (self.written, self.frozen) = flags;
        result
    }
}
