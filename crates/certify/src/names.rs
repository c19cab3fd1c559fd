//! Names of loop variables: which loops are the same but for the words of their variables, and which have the bounds
//! that their variables are declared with.

use super::terms::T;
use super::{Checker, Means, Refusal};
use ember_language::rules::OpInfo;
use ember_language::sexp::{Sexp, deeper};

/// Loop variables around two terms, outermost first, each with the one that stands for it in the other.
type Pairs = Vec<(T, T)>;

impl Checker<'_> {
    /// Returns true if two terms differ in the words of the loop variables that are bound in them, at most.
    pub(super) fn alike(&self, a: T, b: T) -> bool {
        deeper(|| self.alike_within(a, b, &mut Pairs::new()))
    }

    fn alike_within(&self, a: T, b: T, around: &mut Pairs) -> bool {
        let told = |t: T| {
            around.iter().any(|(x, y)| x != y && [x, y].into_iter().any(|v| self.mentions(t, *v)))
        };
        if a == b && !told(a) {
            return true;
        }
        if self.variables.contains_key(&a) || self.variables.contains_key(&b) {
            let pair = around.iter().rev().find(|(x, y)| *x == a || *y == b);
            return pair.map_or(a == b, |pair| *pair == (a, b));
        }
        let ((name, own), (other, others)) = (self.node(a), self.node(b));
        if name != other || own.len() != others.len() {
            return false;
        }
        let binds = self.binds(name, own.len());
        if let Some((variable, _)) = binds
            && own[variable] != others[variable]
        {
            let pair = [(own[variable], own), (others[variable], others)];
            let looped = self.operator(name, own.len()).and_then(OpInfo::looped);
            let bounded = match looped {
                Some(at) => pair.into_iter().all(|(v, operands)| {
                    self.has_bounds(v, [at.lo, at.hi, at.step].map(|at| operands[at]))
                }),
                // Of a loop of another level, its variables tell the bounds.
                None => self.bounded_alike(pair.map(|(v, _)| v), around),
            };
            if !bounded {
                return false;
            }
        }
        own.iter().zip(others).enumerate().all(|(at, (x, y))| match binds {
            Some((variable, _)) if at == variable => true,
            Some((variable, body)) if at == body => {
                around.push((own[variable], others[variable]));
                let alike = deeper(|| self.alike_within(*x, *y, around));
                around.pop();
                alike
            }
            _ => deeper(|| self.alike_within(*x, *y, around)),
        })
    }

    /// Returns true if two variables have bounds that are alike.
    fn bounded_alike(&self, variables: [T; 2], around: &mut Pairs) -> bool {
        let [own, others] = variables.map(|v| self.bounds_of(v));
        own.iter().any(|a| {
            let alike =
                |b: &[T; 3]| a.iter().zip(b).all(|(x, y)| self.alike_within(*x, *y, around));
            others.iter().any(alike)
        })
    }

    fn mentions(&self, term: T, variable: T) -> bool {
        self.fact(term).free.contains(self.node(variable).0)
    }

    /// Returns true if a variable is declared with bounds that are these, or are the same numbers.
    pub(super) fn has_bounds(&self, variable: T, bounds: [T; 3]) -> bool {
        let same = |a: T, b: T| {
            let (x, y) = (self.fact(a), self.fact(b));
            a == b
                || x.integer().is_some() && x.integer() == y.integer()
                || x.linear.is_some() && x.linear == y.linear
        };
        let all = self.bounds_of(variable);
        all.iter().any(|known| known.iter().zip(&bounds).all(|(a, b)| same(*a, *b)))
    }

    /// Returns true if each loop that a rule makes has the bounds of its variable: one of the second side which is none
    /// of the first.
    pub(super) fn bounded_loops(
        &mut self,
        from: &Sexp,
        to: &Sexp,
        means: &Means<'_>,
    ) -> Result<(), Refusal> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        self.loops_of(from, means, &mut before)?;
        self.loops_of(to, means, &mut after)?;
        for (variable, bounds) in after {
            let known = before.contains(&(variable, bounds));
            if !known && !self.has_bounds(variable, bounds) {
                return Err(Refusal::OtherBounds(self.node(variable).0.to_owned()));
            }
        }
        Ok(())
    }

    fn loops_of(
        &mut self,
        side: &Sexp,
        means: &Means<'_>,
        found: &mut Vec<(T, [T; 3])>,
    ) -> Result<(), Refusal> {
        let Some((name, operands)) = side.form() else { return Ok(()) };
        for operand in operands {
            deeper(|| self.loops_of(operand, means, found))?;
        }
        let own = self.operator(name, operands.len()).and_then(OpInfo::looped);
        if let Some(own) = own {
            let mut read = |at: usize| self.read(&operands[at], means);
            found.push((read(own.variable)?, [read(own.lo)?, read(own.hi)?, read(own.step)?]));
        }
        Ok(())
    }
}
