//! Which operators bind variables, and which terms are variables: what dialects declare of them.

use egg::Symbol;
use rustc_hash::FxHashMap;

/// What is declared of variables: which operators bind them, and which terms they are.
#[derive(Clone, Debug, Default)]
pub struct Binders {
    roles: FxHashMap<(Symbol, usize), Role>,
    /// Whether names, which start with `%`, are variables.
    pub names: bool,
}

/// What an operator has to do with variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its first of these arguments is a variable that it binds in the second.
    Binds(usize, usize),
    /// It makes a variable, whatever from.
    Variable,
}

impl Binders {
    /// Declares an operator, by its name and number of arguments.
    pub fn declare(&mut self, name: Symbol, arity: usize, role: Role) {
        self.roles.insert((name, arity), role);
    }

    /// Which argument of an operator is a variable that it binds, and in which other.
    pub fn binds(&self, name: Symbol, arity: usize) -> Option<(usize, usize)> {
        match self.role(name, arity) {
            Some(Role::Binds(variable, body)) => Some((variable, body)),
            Some(Role::Variable) | None => None,
        }
    }

    /// Whether an operator of this name makes variables.
    pub fn makes(&self, name: Symbol) -> bool {
        self.roles.iter().any(|((known, _), role)| *known == name && *role == Role::Variable)
    }

    /// What an operator has to do with variables, by its name and number of arguments.
    pub fn role(&self, name: Symbol, arity: usize) -> Option<Role> {
        match self.roles.get(&(name, arity)) {
            None if arity == 0 && self.names && name.as_str().starts_with('%') => {
                Some(Role::Variable)
            }
            role => role.copied(),
        }
    }
}
