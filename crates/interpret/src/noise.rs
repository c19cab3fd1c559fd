//! Noise in the last digits of results, by which the rounding error of a run is estimated: a result that rounding
//! decides differs from run to run, and one that it hardly touches does not. This is Monte Carlo arithmetic (Parker,
//! *Monte Carlo Arithmetic: exploiting randomness in floating-point arithmetic*, UCLA CSD-970002, 1997).

use super::error::Fault;
use super::{Error, Interpreter};
use ember_values::scalar::Scalar;
use fastrand::Rng;
use std::cell::RefCell;

/// The largest distance of a result with noise from the rounded one, in units of the last place. Noise of several sizes
/// hardly ever cancels in all of a few runs.
const LARGEST: i64 = 3;

/// The source of noise of a run.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    rng: RefCell<Rng>,
    /// True if all results must be real numbers.
    real: bool,
}

impl Noise {
    /// Returns a floating-point result with noise.
    fn rounded(&self, operands: &[Scalar], x: Scalar) -> Result<Scalar, Fault> {
        let finite = |operand: &Scalar| operand.as_f64().is_finite();
        // The start of a maximum is infinite, and any number replaces it.
        if self.real && !(finite(&x) && (operands.contains(&x) || operands.iter().all(finite))) {
            return Err(Error::NotReal.into());
        }
        // A function may be infinite at 0, as a quotient and a logarithm are; other infinities are overflows.
        let usual = |operand: &Scalar| finite(operand) && operand.as_f64() != 0.0;
        if x.as_f64().is_infinite() && operands.iter().all(usual) {
            return Err(Error::Overflow.into());
        }
        Ok(self.near(x))
    }

    /// Returns a number next to a result; zeros and numbers that are not finite stay as they are.
    fn near(&self, x: Scalar) -> Scalar {
        let sign = 1u64 << (x.dtype().bits() - 1);
        let magnitude = x.to_bits() & (sign - 1);
        if magnitude == 0 || !x.as_f64().is_finite() {
            return x;
        }
        let mut rng = self.rng.borrow_mut();
        let far = rng.i64(1..=LARGEST) * if rng.bool() { 1 } else { -1 };
        let magnitude = magnitude.saturating_add_signed(far).max(1);
        Scalar::from_bits(x.dtype(), (x.to_bits() & sign) | magnitude)
    }
}

impl Interpreter {
    /// Adds noise to the last digits of all floating-point results. Such a run fails with [`Error::Overflow`] where a
    /// result of finite operands exceeds its type, since no distance from it says anything then; and if it must be
    /// `real`, with [`Error::NotReal`] where a result is not that of real numbers.
    pub fn with_noise(mut self, seed: u64, real: bool) -> Interpreter {
        self.noise = Some(Noise { rng: RefCell::new(Rng::with_seed(seed)), real });
        self
    }

    /// Returns the result of an operation, with noise if the run has any.
    #[inline]
    pub(super) fn rounded(&self, operands: &[Scalar], x: Scalar) -> Result<Scalar, Fault> {
        match &self.noise {
            Some(noise) if x.dtype().is_float() => noise.rounded(operands, x),
            _ => Ok(x),
        }
    }
}
