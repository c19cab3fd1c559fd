//! Terms in another environment or store: under another name of a variable, with a value for one, or after a
//! statement that is undone.

use super::error::Fault;
use super::op::At;
use super::{Bound, Interpreter};
use ember_values::primitive::form::{By, Form, Undone};
use rustc_hash::FxHashSet;

impl Interpreter {
    /// Evaluates a term of any sort in another environment or store; `None` for other forms.
    pub(super) fn elsewhere<T>(
        &mut self,
        form: Form<At>,
        evaluate: fn(&mut Self, At) -> Result<T, Fault>,
    ) -> Option<Result<T, Fault>> {
        Some(match form {
            Form::Replaced { variable, by: By::Variable(to), x } => {
                self.renamed(variable, to, x, evaluate)
            }
            Form::Replaced { variable, by: By::Value(value), x } => {
                self.fixed(variable, value, x, evaluate)
            }
            Form::Undone { statement: first, undone: Undone::After(x) } => {
                self.after(first, |this| evaluate(this, x))
            }
            _ => return None,
        })
    }

    /// Evaluates `body` with variable `x` bound to the value of `y`.
    fn renamed<T>(
        &mut self,
        x: At,
        y: At,
        body: At,
        evaluate: fn(&mut Self, At) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.variable(y, false)?;
        let Some(bound) = self.environment[y] else { return Err(self.wrong(y, "a loop variable")) };
        self.replaced(x, bound, body, evaluate)
    }

    /// Evaluates `body` with variable `x` bound to the value of a term.
    fn fixed<T>(
        &mut self,
        x: At,
        v: At,
        body: At,
        evaluate: fn(&mut Self, At) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let value = self.index(v)?;
        self.replaced(x, Bound { value, fed: true }, body, evaluate)
    }

    /// Evaluates `body` with variable `x` bound to a value, which must be in its range unless the body does not mention
    /// the variable: it is then the same under any value.
    fn replaced<T>(
        &mut self,
        x: At,
        bound: Bound,
        body: At,
        evaluate: fn(&mut Self, At) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.mentions(body, x) {
            self.allowed(x, bound.value, bound.value.saturating_add(1), 1)?;
        }
        let outer = self.environment[x].replace(bound);
        let result = evaluate(self, body);
        self.environment[x] = outer;
        result
    }

    /// Returns true if a term mentions a variable that it does not bind. A variable is identified by its name alone, so
    /// that what the bounds of another one mention does not count.
    pub(super) fn mentions(&mut self, term: At, variable: At) -> bool {
        if let Some(known) = self.mentioned.get(&(term, variable)) {
            return *known;
        }
        let (mut seen, mut open) = (FxHashSet::default(), vec![term]);
        let mut found = false;
        while let Some(at) = open.pop().filter(|_| !found) {
            found = at == variable;
            let op = &self.program.ops[at];
            if seen.insert(at) && op.range().is_none() {
                let operands = &self.program.operands[at];
                let own = op.binds.filter(|(bound, _)| operands[*bound] == variable);
                let inside = |n: usize| own.is_some_and(|own| [own.0, own.1].contains(&n));
                let outside = operands.iter().enumerate().filter(|(n, _)| !inside(*n));
                open.extend(outside.map(|(_, part)| *part));
            }
        }
        self.mentioned.insert((term, variable), found);
        found
    }

    /// Runs `body` in the store that a statement leaves, and then undoes the statement's changes.
    pub(super) fn after<T>(
        &mut self,
        s: At,
        body: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let before = self.tensors.clone();
        let beyond = self.beyond.clone();
        let flags = (self.written.clone(), self.frozen.clone(), self.first.clone());
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
        (self.written, self.frozen, self.first) = flags;
        result
    }
}
