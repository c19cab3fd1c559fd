//! A Gaussian process with a Matérn 5/2 kernel, one length scale for each parameter, fitted by maximum a posteriori.

use crate::ascent;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use std::ops::Range;

/// The prior of length scales, a gamma distribution by shape and rate. Its mean is the width of a parameter; a scale that
/// is far below the distance of neighbours, with which nothing can be learnt, is unlikely.
const LENGTH: (f64, f64) = (2.0, 2.0);

/// The prior of the variance of standardised results.
const VARIANCE: (f64, f64) = (2.0, 1.0);

/// The prior of the noise of standardised results: most compilers and simulators have little.
const NOISE: (f64, f64) = (1.1, 20.0);

/// The least noise, without which near points make the matrix singular.
const LEAST_NOISE: f64 = 1e-5;

/// The starts of the fit: the length scale of all parameters, and the noise.
const STARTS: [(f64, f64); 2] = [(0.7, 1e-3), (2.0, 1e-2)];

/// The bounds of logarithms of what is fitted.
const BOUNDS: Range<f64> = -8.0..5.0;

/// The steps of the fit from each start.
const STEPS: usize = 30;

/// A fitted process.
pub struct Gaussian {
    rows: Vec<Vec<f64>>,
    blocks: Vec<Range<usize>>,
    settings: Settings,
    /// The logarithm of the density of the results, at the most probable settings.
    pub evidence: f64,
    /// The mean and standard deviation of the results.
    centre: f64,
    spread: f64,
    weights: DVector<f64>,
    factor: Cholesky<f64, Dyn>,
}

/// What is fitted.
#[derive(Clone, Debug)]
struct Settings {
    /// The inverse squares of the length scales.
    inverses: Vec<f64>,
    variance: f64,
    noise: f64,
}

impl Settings {
    /// Returns the settings of logarithms: the length scales, the variance, the noise.
    fn of(logs: &[f64]) -> Settings {
        let (lengths, rest) = logs.split_at(logs.len() - 2);
        let inverses = lengths.iter().map(|log| libm::exp(-2.0 * log)).collect();
        Settings { inverses, variance: libm::exp(rest[0]), noise: LEAST_NOISE + libm::exp(rest[1]) }
    }
}

/// Returns the kernel at a squared distance, and its derivative by that.
fn matern(square: f64) -> (f64, f64) {
    let scaled = libm::sqrt(5.0 * square);
    let decay = libm::exp(-scaled);
    (decay * (1.0 + scaled + scaled * scaled / 3.0), -5.0 / 6.0 * decay * (1.0 + scaled))
}

impl Gaussian {
    /// Fits a process to results at points, given as coordinates, of which each parameter has a block.
    pub fn fit(
        rows: Vec<Vec<f64>>,
        blocks: Vec<Range<usize>>,
        results: &[f64],
    ) -> Option<Gaussian> {
        let n = results.len() as f64;
        let centre = results.iter().sum::<f64>() / n;
        let squares: f64 = results.iter().map(|result| (result - centre) * (result - centre)).sum();
        let spread = libm::sqrt(squares / n).max(1e-9);
        let standard = results.iter().map(|result| (result - centre) / spread);
        let standard = DVector::from_iterator(results.len(), standard);
        let squares: Vec<DMatrix<f64>> =
            blocks.iter().map(|block| distances(&rows, block)).collect();
        let logs = STARTS.iter().filter_map(|(length, noise)| {
            let mut start = vec![libm::log(*length); blocks.len()];
            start.extend([0.0, libm::log(*noise)]);
            ascent::climb(start, BOUNDS, STEPS, |logs| posterior(logs, &squares, &standard))
        });
        let best = logs.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let settings = Settings::of(&best.1);
        let factor = Cholesky::new(covariance(&settings, &squares).0)?;
        let weights = factor.solve(&standard);
        let evidence = best.0 - n * libm::log(spread);
        Some(Gaussian { rows, blocks, settings, evidence, centre, spread, weights, factor })
    }

    /// Returns the mean and the standard deviation of the result at a point, without noise.
    pub fn predict(&self, point: &[f64]) -> (f64, f64) {
        let Settings { inverses, variance, .. } = &self.settings;
        let near = self.rows.iter().map(|row| {
            let blocks = self.blocks.iter().zip(inverses);
            let square = blocks.map(|(block, inverse)| {
                inverse * squared(&row[block.clone()], &point[block.clone()])
            });
            variance * matern(square.sum()).0
        });
        let mut near = DVector::from_iterator(self.rows.len(), near);
        let mean = near.dot(&self.weights);
        self.factor.l_dirty().solve_lower_triangular_mut(&mut near);
        let left = (variance - near.norm_squared()).max(1e-12);
        (self.centre + self.spread * mean, self.spread * libm::sqrt(left))
    }
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn distances(rows: &[Vec<f64>], block: &Range<usize>) -> DMatrix<f64> {
    let part = |at: usize| &rows[at][block.clone()];
    DMatrix::from_fn(rows.len(), rows.len(), |i, j| squared(part(i), part(j)))
}

/// Returns the covariance of the results with noise, and the derivative of the kernel by the squared distance.
fn covariance(settings: &Settings, squares: &[DMatrix<f64>]) -> (DMatrix<f64>, DMatrix<f64>) {
    let n = squares.first().map_or(0, DMatrix::nrows);
    let mut slope = DMatrix::zeros(n, n);
    let mut matrix = DMatrix::zeros(n, n);
    for j in 0..n {
        for i in j..n {
            let terms = squares.iter().zip(&settings.inverses);
            let (kernel, by_square) =
                matern(terms.map(|(square, inverse)| inverse * square[(i, j)]).sum());
            for at in [(i, j), (j, i)] {
                matrix[at] = settings.variance * kernel;
                slope[at] = settings.variance * by_square;
            }
        }
        matrix[(j, j)] += settings.noise;
    }
    (matrix, slope)
}

/// Returns the logarithm of the posterior of settings, up to a constant, and its gradient by their logarithms.
fn posterior(
    logs: &[f64],
    squares: &[DMatrix<f64>],
    results: &DVector<f64>,
) -> Option<(f64, Vec<f64>)> {
    let settings = Settings::of(logs);
    let (matrix, slope) = covariance(&settings, squares);
    let n = results.len();
    let noiseless = |i: usize, j: usize| matrix[(i, j)] - if i == j { settings.noise } else { 0.0 };
    let factor = Cholesky::new(matrix.clone())?;
    let weights = factor.solve(results);
    let determinant: f64 = (0..n).map(|at| libm::log(factor.l_dirty()[(at, at)])).sum();
    let mut total = -0.5 * results.dot(&weights) - determinant;
    // The derivative by an entry of the matrix is half of this one's.
    let mut outer = factor.inverse();
    outer.neg_mut();
    outer.ger(1.0, &weights, &weights, 1.0);
    let halved = |of: &dyn Fn(usize, usize) -> f64| {
        let entries = (0..n).flat_map(|j| (0..n).map(move |i| (i, j)));
        0.5 * entries.map(|(i, j)| outer[(i, j)] * of(i, j)).sum::<f64>()
    };
    let mut gradient: Vec<f64> = squares
        .iter()
        .zip(&settings.inverses)
        .map(|(square, inverse)| halved(&|i, j| -2.0 * inverse * slope[(i, j)] * square[(i, j)]))
        .collect();
    gradient.push(halved(&noiseless));
    let noise = libm::exp(logs[logs.len() - 1]);
    gradient.push(0.5 * noise * outer.trace());
    let priors = std::iter::repeat_n(LENGTH, squares.len()).chain([VARIANCE, NOISE]);
    for ((log, (shape, rate)), slope) in logs.iter().zip(priors).zip(&mut gradient) {
        // The density of a gamma distribution at the exponential of the logarithm.
        let value = libm::exp(*log);
        total += (shape - 1.0) * log - rate * value;
        *slope += (shape - 1.0) - rate * value;
    }
    total.is_finite().then_some((total, gradient))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<f64>> {
        (0..7).map(|at| vec![f64::from(at) / 7.0, f64::from(at * at % 5) / 5.0]).collect()
    }

    #[test]
    fn the_gradient_is_that_of_the_posterior() {
        let squares: Vec<_> = [0..1, 1..2].iter().map(|block| distances(&rows(), block)).collect();
        let results = DVector::from_fn(7, |at, _| (at as f64 - 3.0) / 2.0);
        let logs = [-0.4, 0.3, 0.2, -3.0];
        let at = |logs: &[f64]| posterior(logs, &squares, &results).expect("a value");
        let gradient = at(&logs).1;
        for (one, slope) in gradient.into_iter().enumerate() {
            let mut shifted = [logs, logs];
            shifted[0][one] -= 1e-5;
            shifted[1][one] += 1e-5;
            let expected = (at(&shifted[1]).0 - at(&shifted[0]).0) / 2e-5;
            assert!((slope - expected).abs() < 1e-4, "{one}: {slope}, not {expected}");
        }
    }

    #[test]
    fn a_fitted_process_knows_its_points() {
        let results: Vec<f64> = rows().iter().map(|row| 100.0 + row[0]).collect();
        let fitted = Gaussian::fit(rows(), vec![0..1, 1..2], &results).expect("a process");
        for (row, result) in rows().iter().zip(&results) {
            let (mean, deviation) = fitted.predict(row);
            assert!((mean - result).abs() < 0.05 && deviation < 0.1, "{mean} for {result}");
        }
        let (_, far) = fitted.predict(&[9.0, 9.0]);
        let (_, near) = fitted.predict(&rows()[3]);
        assert!(far > 3.0 * near);
    }
}
