//! Affine forms over loop variables: `constant + Σ coefficient · variable`.
//!
//! Knows nothing of terms; a variable is whatever orderable key the caller uses.

use std::collections::BTreeMap;

/// An affine form. A variable with coefficient 0 is never stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Affine<V: Ord> {
    /// The constant part.
    pub constant: i64,
    /// The coefficients.
    pub terms: BTreeMap<V, i64>,
}

impl<V: Ord + Copy> Affine<V> {
    /// A constant.
    pub fn constant(constant: i64) -> Self {
        Affine { constant, terms: BTreeMap::new() }
    }

    /// A variable.
    pub fn variable(v: V) -> Self {
        Affine { constant: 0, terms: BTreeMap::from([(v, 1)]) }
    }

    /// The sum of two forms; `None` where a coefficient overflows.
    pub fn add(&self, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant)?;
        for (&v, &k) in &other.terms {
            let at = sum.terms.entry(v).or_insert(0);
            *at = at.checked_add(k)?;
            if *at == 0 {
                sum.terms.remove(&v);
            }
        }
        Some(sum)
    }

    /// The form times a constant; `None` where a coefficient overflows.
    pub fn scale(&self, by: i64) -> Option<Self> {
        if by == 0 {
            return Some(Affine::constant(0));
        }
        let terms = self
            .terms
            .iter()
            .map(|(&v, &k)| Some((v, k.checked_mul(by)?)))
            .collect::<Option<_>>()?;
        Some(Affine { constant: self.constant.checked_mul(by)?, terms })
    }

    /// The difference of two forms; `None` where a coefficient overflows.
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.scale(-1)?)
    }

    /// The coefficient of a variable, 0 where it does not occur.
    pub fn coefficient(&self, v: V) -> i64 {
        self.terms.get(&v).copied().unwrap_or(0)
    }

    /// The form as a constant, if no variable occurs.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}
