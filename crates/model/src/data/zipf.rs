//! Zipf-distributed ranks in constant time and memory, for any number of ranks.
//!
//! The method is rejection-inversion after Hörmann and Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", ACM TOMACS 6(3), 1996. The histogram `1 / k^s` lies under the curve `h(x) = x^-s`,
//! whose integral is inverted; a draw between the histogram and the curve is rejected.

use super::random::Random;

/// A distribution of ranks `1..=n`, with a probability of rank `k` proportional to `1 / k^s`.
pub(super) struct Zipf {
    n: f64,
    s: f64,
    /// The integral of the curve at the left end of the first bar. The bar starts where its area equals its height.
    left: f64,
    /// The integral at the right end of the last bar.
    right: f64,
    /// The greatest distance to the left of their rank at which draws need no test.
    sure: f64,
}

impl Zipf {
    /// Builds the distribution of `n` ranks, at least 1, with an exponent of 0 (uniform) or more.
    pub(super) fn new(n: u64, s: f64) -> Zipf {
        let mut zipf = Zipf { n: n as f64, s, left: 0.0, right: 0.0, sure: 0.0 };
        zipf.left = zipf.integral(1.5) - 1.0;
        zipf.right = zipf.integral(zipf.n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.curve(2.0));
        zipf
    }

    pub(super) fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.right + random.unit() * (self.left - self.right);
            let x = self.inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.n);
            if k - x <= self.sure || u >= self.integral(k + 0.5) - self.curve(k) {
                return k as u64;
            }
        }
    }

    /// Computes `x^-s`.
    fn curve(&self, x: f64) -> f64 {
        (-self.s * x.ln()).exp()
    }

    /// Computes the integral of the curve from 1: `(x^(1-s) - 1) / (1-s)`, in a form that is exact near `s = 1`, where
    /// it is `ln x`.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.s) * log;
        if t.abs() > 1e-8 { t.exp_m1() / t * log } else { (1.0 + t / 2.0) * log }
    }

    /// Computes the inverse of the integral.
    fn inverse(&self, y: f64) -> f64 {
        // Rounding may leave the domain of the logarithm slightly.
        let t = ((1.0 - self.s) * y).max(-1.0);
        let log = if t.abs() > 1e-8 { t.ln_1p() / t * y } else { (1.0 - t / 2.0) * y };
        log.exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        for s in [0.0, 0.5, 1.0, 1.05, 2.0] {
            let (n, draws) = (10u64, 200_000);
            let zipf = Zipf::new(n, s);
            let mut random = Random::new(3);
            let mut counts = [0u32; 11];
            for _ in 0..draws {
                counts[zipf.rank(&mut random) as usize] += 1;
            }
            let total: f64 = (1..=n).map(|k| (k as f64).powf(-s)).sum();
            for k in 1..=n {
                let expected = (k as f64).powf(-s) / total;
                let got = f64::from(counts[k as usize]) / f64::from(draws);
                assert!((got - expected).abs() < 0.004, "s = {s}, rank {k}: {got} for {expected}");
            }
        }
    }

    #[test]
    fn a_thousand_million_ranks_and_one() {
        let mut random = Random::new(1);
        let zipf = Zipf::new(1_000_000_000, 1.05);
        let ranks: Vec<u64> = (0..100_000).map(|_| zipf.rank(&mut random)).collect();
        assert!(ranks.iter().all(|k| (1..=1_000_000_000).contains(k)));
        assert!(ranks.iter().any(|k| *k > 100_000_000), "the tail is reached");
        assert_eq!(Zipf::new(1, 1.05).rank(&mut random), 1);
        assert_eq!(Zipf::new(1 << 62, 10.0).rank(&mut random), 1);
    }
}
