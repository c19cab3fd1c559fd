//! The next point to evaluate, as a function of the space, the seed and the points evaluated so far.

use crate::gaussian::Gaussian;
use crate::space::{Point, Space};
use ember_host::threads;
use fastrand::Rng;
use std::f64::consts::PI;

/// The points that are drawn before the first is proposed by the model, unless the space says otherwise.
const INITIAL: usize = 10;

/// The points among which each of them is the one farthest from the others.
const SPREAD: usize = 8;

/// The most evaluations that models are fitted to: the best, and the latest.
const FITTED: usize = 256;

/// The random points that a search for the best proposal begins with, the starts among them, and the steps from each.
const POOL: usize = 400;
const CLIMBS: usize = 6;
const STEPS: usize = 12;

/// The draws after which no new point is expected any more.
const DRAWS: usize = 2_000;

/// A method of choosing points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By a model of the results so far.
    Bayesian,
    /// At random, each point as likely as any other.
    Random,
    /// Every point, in order.
    Exhaustive,
}

/// A point with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The point.
    pub point: Point,
    /// Its result; `None` if it has none, which is a constraint that is hidden.
    pub value: Option<f64>,
}

/// Returns the next point to evaluate; `None` if no new point is found. Equal arguments have equal results, with any
/// number of threads.
pub fn propose(space: &Space, method: Method, seed: u64, history: &[Evaluation]) -> Option<Point> {
    // Each step has numbers of its own, so that a search can be continued anywhere.
    let step = (history.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut rng = Rng::with_seed(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ step);
    let rng = &mut rng;
    let initial = space.initial.unwrap_or(INITIAL);
    match (method, history.len()) {
        (Method::Random, _) => fresh(space, history, rng),
        (Method::Exhaustive, done) => space.nth(done as u64),
        (Method::Bayesian, 0) => space.default().or_else(|| fresh(space, history, rng)),
        (Method::Bayesian, done) if done < initial => distant(space, history, rng),
        (Method::Bayesian, _) => Model::fit(space, history)
            .and_then(|model| model.best(rng))
            .or_else(|| fresh(space, history, rng)),
    }
}

fn is_new(point: &Point, history: &[Evaluation]) -> bool {
    history.iter().all(|known| known.point != *point)
}

/// Draws a point that is not evaluated yet.
fn fresh(space: &Space, history: &[Evaluation], rng: &mut Rng) -> Option<Point> {
    let mut draws = (0..DRAWS).filter_map(|_| space.draw(rng));
    draws.find(|point| is_new(point, history))
}

/// Draws some points, and returns the one farthest from those evaluated.
fn distant(space: &Space, history: &[Evaluation], rng: &mut Rng) -> Option<Point> {
    let known: Vec<Vec<f64>> =
        history.iter().map(|known| space.coordinates(&known.point)).collect();
    let distance = |point: &Point| {
        let own = space.coordinates(point);
        let to = |other: &Vec<f64>| -> f64 {
            own.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        known.iter().map(to).fold(f64::INFINITY, f64::min)
    };
    let points: Vec<Point> = (0..SPREAD).map_while(|_| fresh(space, history, rng)).collect();
    points.into_iter().max_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// A model of results and of their absence.
struct Model<'a> {
    space: &'a Space,
    history: &'a [Evaluation],
    results: Gaussian,
    /// The process of the presence of a result; `None` if all points have one.
    feasible: Option<Gaussian>,
    least: f64,
}

impl<'a> Model<'a> {
    fn fit(space: &'a Space, history: &'a [Evaluation]) -> Option<Model<'a>> {
        let fitted = chosen(history);
        let (results, feasible) =
            threads::join(|| results(space, &fitted), || feasible(space, &fitted));
        let (results, least) = results?;
        Some(Model { space, history, results, feasible, least })
    }

    /// Returns the expected improvement at a point, times the probability that it has a result.
    fn worth(&self, point: &Point) -> f64 {
        let point = self.space.coordinates(point);
        let (mean, deviation) = self.results.predict(&point);
        let below = (self.least - mean) / deviation;
        let improvement = deviation * (below * normal(below) + density(below));
        let probability = self.feasible.as_ref().map_or(1.0, |feasible| {
            let (mean, deviation) = feasible.predict(&point);
            normal((mean - 0.5) / libm::hypot(deviation, 0.1))
        });
        improvement * probability
    }

    /// Returns the new point of the greatest worth that climbs from several starts find.
    fn best(&self, rng: &mut Rng) -> Option<Point> {
        let mut pool: Vec<Point> = (0..POOL).filter_map(|_| self.space.draw(rng)).collect();
        let best = self.history.iter().filter(|known| known.value.is_some());
        let best = best.min_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)));
        pool.extend(best.iter().flat_map(|best| self.space.neighbours(&best.point, rng)));
        pool.retain(|point| is_new(point, self.history));
        let mut rated = self.rated(pool);
        rated.truncate(CLIMBS);
        let starts: Vec<(f64, Point, u64)> =
            rated.into_iter().map(|(worth, point)| (worth, point, rng.u64(..))).collect();
        let climbed = threads::map(&starts, |start| self.climb(start.clone()));
        climbed.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, point)| point)
    }

    /// Returns points with their worth, the best first.
    fn rated(&self, points: Vec<Point>) -> Vec<(f64, Point)> {
        let worth = threads::map(&points, |point| self.worth(point));
        let mut rated: Vec<(f64, Point)> = worth.into_iter().zip(points).collect();
        rated.sort_by(|a, b| b.0.total_cmp(&a.0));
        rated
    }

    /// Goes from a point to the best of its neighbours while that is better.
    fn climb(&self, (mut worth, mut point, seed): (f64, Point, u64)) -> (f64, Point) {
        let mut rng = Rng::with_seed(seed);
        for _ in 0..STEPS {
            let mut near = self.space.neighbours(&point, &mut rng);
            near.retain(|point| is_new(point, self.history));
            match self.rated(near).into_iter().next() {
                Some((better, next)) if better > worth => (worth, point) = (better, next),
                _ => break,
            }
        }
        (worth, point)
    }
}

/// Returns the process of the results, and the least of them in its scale. If ratios may count, the results or their
/// logarithms are fitted, whichever are more probable: logarithms of a cost that grows by steps of equal size have a
/// sharp minimum that a smooth process misses.
fn results(space: &Space, fitted: &[&Evaluation]) -> Option<(Gaussian, f64)> {
    let known =
        || fitted.iter().filter_map(|known| Some((space.coordinates(&known.point), known.value?)));
    let (rows, values): (Vec<Vec<f64>>, Vec<f64>) = known().unzip();
    let logs: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
    let ratios = space.log_output && values.iter().all(|value| *value > 0.0);
    let fit = |values: &[f64]| Gaussian::fit(rows.clone(), space.blocks(), values);
    let (plain, ratios) = threads::join(|| fit(&values), || if ratios { fit(&logs) } else { None });
    // The density of a result is that of its logarithm divided by the result.
    let jacobian: f64 = logs.iter().sum();
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    match (plain, ratios) {
        (Some(plain), Some(ratios)) if plain.evidence < ratios.evidence - jacobian => {
            Some((ratios, least(&logs)))
        }
        (plain, _) => Some((plain?, least(&values))),
    }
}

/// Returns the process of 1 where there is a result and 0 where there is none; `None` if all have one.
fn feasible(space: &Space, fitted: &[&Evaluation]) -> Option<Gaussian> {
    let valid: Vec<f64> =
        fitted.iter().map(|known| f64::from(u8::from(known.value.is_some()))).collect();
    let rows = fitted.iter().map(|known| space.coordinates(&known.point)).collect();
    valid.contains(&0.0).then(|| Gaussian::fit(rows, space.blocks(), &valid))?
}

/// Returns the evaluations that models are fitted to.
fn chosen(history: &[Evaluation]) -> Vec<&Evaluation> {
    let latest = history.len().saturating_sub(FITTED / 2);
    let mut chosen: Vec<&Evaluation> = history.iter().collect();
    let mut early = chosen.drain(..latest).collect::<Vec<_>>();
    let value = |known: &Evaluation| known.value.unwrap_or(f64::INFINITY);
    early.sort_by(|a, b| value(a).total_cmp(&value(b)));
    early.truncate(FITTED / 2);
    early.extend(chosen);
    early
}

/// Returns the density of the standard normal distribution.
fn density(at: f64) -> f64 {
    libm::exp(-0.5 * at * at) / libm::sqrt(2.0 * PI)
}

/// Returns the probability that a standard normal number is below this one.
fn normal(at: f64) -> f64 {
    0.5 * libm::erfc(-at / std::f64::consts::SQRT_2)
}
