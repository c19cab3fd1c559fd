//! Affine forms over loop variables: `constant + Σ coefficient · variable`.
//!
//! A variable is any orderable key that the caller chooses; this module does not depend on terms.

use crate::scalar::{BinaryOp, Linear};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

/// An affine form. It never stores a variable with coefficient 0.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Affine<V: Ord> {
    /// The constant part.
    pub constant: i64,
    /// The coefficients, by variable.
    pub terms: BTreeMap<V, i64>,
}

impl<V: Ord + Clone> Affine<V> {
    /// Returns the form of a constant.
    pub fn constant(constant: i64) -> Self {
        Affine { constant, terms: BTreeMap::new() }
    }

    /// Returns the form of a single variable.
    pub fn variable(v: V) -> Self {
        Affine { constant: 0, terms: BTreeMap::from([(v, 1)]) }
    }

    /// Returns the form of an operation on two forms; `None` if the result is not affine or a coefficient overflows.
    pub fn apply(op: BinaryOp, a: &Self, b: &Self) -> Option<Self> {
        match op.linear()? {
            Linear::Sum => a.add(b),
            Linear::Difference => a.sub(b),
            Linear::Product => match (a.as_constant(), b.as_constant()) {
                (Some(k), _) => b.scale(k),
                (_, Some(k)) => a.scale(k),
                (None, None) => None,
            },
        }
    }

    /// Returns the sum of two forms; `None` if a coefficient overflows.
    pub fn add(&self, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant)?;
        for (v, &k) in &other.terms {
            let at = sum.terms.entry(v.clone()).or_insert(0);
            *at = at.checked_add(k)?;
            if *at == 0 {
                sum.terms.remove(v);
            }
        }
        Some(sum)
    }

    /// Returns the form times a constant; `None` if a coefficient overflows.
    pub fn scale(&self, by: i64) -> Option<Self> {
        if by == 0 {
            return Some(Affine::constant(0));
        }
        let terms = self
            .terms
            .iter()
            .map(|(v, &k)| Some((v.clone(), k.checked_mul(by)?)))
            .collect::<Option<_>>()?;
        Some(Affine { constant: self.constant.checked_mul(by)?, terms })
    }

    /// Returns the difference of two forms; `None` if a coefficient overflows.
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.scale(-1)?)
    }

    /// Substitutes a form for a variable; `None` if a coefficient overflows.
    pub fn with(&self, v: V, other: &Self) -> Option<Self> {
        let k = self.coefficient(&v);
        self.add(&other.sub(&Affine::variable(v))?.scale(k)?)
    }

    /// Returns the form over other variables, of which several may be one; `None` if a coefficient overflows.
    pub fn renamed(&self, name: impl Fn(&V) -> V) -> Option<Self> {
        self.terms.iter().try_fold(Affine::constant(self.constant), |sum, (v, k)| {
            sum.add(&Affine::variable(name(v)).scale(*k)?)
        })
    }

    /// Returns the coefficient of a variable, or 0 if it does not occur.
    pub fn coefficient<Q: Ord + ?Sized>(&self, v: &Q) -> i64
    where
        V: Borrow<Q>,
    {
        self.terms.get(v).copied().unwrap_or(0)
    }

    /// Returns the form as a constant; `None` if a variable occurs.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

impl<V: Ord + fmt::Display> fmt::Display for Affine<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (variable, coefficient)) in self.terms.iter().enumerate() {
            f.write_str(if n > 0 { " + " } else { "" })?;
            match coefficient {
                1 => write!(f, "{variable}")?,
                k => write!(f, "{k} {variable}")?,
            }
        }
        match (self.terms.is_empty(), self.constant) {
            (true, constant) => write!(f, "{constant}"),
            (false, 0) => Ok(()),
            (false, constant) => write!(f, " + {constant}"),
        }
    }
}

impl<V: Ord + fmt::Debug> fmt::Debug for Affine<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} + {}", self.terms, self.constant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `constant + x X + y Y`.
    fn form(constant: i64, x: i64, y: i64) -> Affine<String> {
        let terms = [("x", x), ("y", y)].into_iter().filter(|(_, k)| *k != 0);
        Affine { constant, terms: terms.map(|(v, k)| (v.to_owned(), k)).collect() }
    }

    #[test]
    fn operations_are_those_on_the_values() {
        let forms = [form(0, 0, 0), form(3, 0, 0), form(-2, 1, 0), form(5, -1, 4), form(2, 1, -4)];
        let value = |form: &Affine<String>, x: i64, y: i64| {
            form.constant + form.coefficient("x") * x + form.coefficient("y") * y
        };
        for (a, b) in forms.iter().flat_map(|a| forms.iter().map(move |b| (a, b))) {
            for op in BinaryOp::ALL {
                let products = a.as_constant().or(b.as_constant()).is_some();
                let affine =
                    matches!(op, BinaryOp::Add | BinaryOp::Sub) || op == BinaryOp::Mul && products;
                let Some(made) = Affine::apply(op, a, b) else {
                    assert!(!affine, "{a:?} {op:?} {b:?}");
                    continue;
                };
                assert!(affine && made.terms.values().all(|k| *k != 0), "{made:?}");
                for (x, y) in [(0, 0), (1, 0), (-7, 2)] {
                    assert_eq!(
                        Some(value(&made, x, y)),
                        op.checked(value(a, x, y), value(b, x, y))
                    );
                }
            }
            let with = a.with("x".to_owned(), b).expect("it is small");
            assert_eq!(value(&with, 9, 4), value(a, value(b, 9, 4), 4));
        }
    }

    #[test]
    fn what_overflows_is_no_form() {
        let (most, least) = (form(i64::MAX, 0, i64::MAX), form(0, i64::MIN, 0));
        assert_eq!(most.add(&form(1, 0, 0)), None);
        assert_eq!(most.add(&form(0, 0, 1)), None);
        assert_eq!(most.scale(2), None);
        assert_eq!(least.sub(&least), None);
        assert_eq!(least.with("x".to_owned(), &form(0, 0, 2)), None);
        assert_eq!(most.sub(&most), Some(form(0, 0, 0)));
    }
}
