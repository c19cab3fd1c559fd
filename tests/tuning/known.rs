//! Objectives with known optima on the space `asum.json`, and constraints that the tuner is not told.

use ember_tune::{Evaluation, Method, Point, Space, Value, propose};
use fastrand::Rng;

/// A constraint that shows only when a point is evaluated: its name, and a condition on the logarithms of the numbers.
pub type Hidden = (&'static str, fn(&Logs) -> bool);

/// The binary logarithms of a point's numbers by the order of parameters: `sp0`, `gs0`, `stride`, `sp1`, `ls0`.
pub type Logs = [f64; 5];

/// Hidden constraints of different shapes: a limit on a product as memory sets it, a limit on one parameter, a
/// combination of two that some driver refuses, and a relation between groups.
pub const HIDDEN: [Hidden; 5] = [
    ("none", |_| true),
    ("sp1 * ls0 <= 2^24", |at| at[3] + at[4] <= 24.0),
    ("ls0 <= 2^7", |at| at[4] <= 7.0),
    ("not (stride >= 2^6 and gs0 < 2^4)", |at| !(at[2] >= 6.0 && at[1] < 4.0)),
    ("gs0 * stride <= sp1 and sp0 <= 2^23", |at| at[1] + at[2] <= at[3] && at[0] <= 23.0),
];

/// Reads the space.
pub fn asum() -> Space {
    let mut sources = ember_language::diagnostic::Sources::default();
    let file = sources.add("asum.json", include_str!("asum.json"));
    ember_tune::read(&sources, file).expect("a space")
}

/// Returns the logarithms of a point's numbers.
pub fn logs(space: &Space, point: &Point) -> Logs {
    let mut logs = [0.0; 5];
    for ((log, parameter), value) in logs.iter_mut().zip(&space.parameters).zip(point) {
        *log = parameter.number(value).log2();
    }
    logs
}

/// Draws optima: feasible points with a smaller and a larger value of every parameter.
pub fn optima(space: &Space, hidden: &Hidden, count: usize, seed: u64) -> Vec<Point> {
    let mut rng = Rng::with_seed(seed);
    let inner = |point: &Point| {
        space.parameters.iter().zip(point).all(|(parameter, value)| {
            let Value::Listed(at) = value else { return false };
            *at > 0 && parameter.size().is_some_and(|size| (*at as u64) < size - 1)
        })
    };
    let draws = std::iter::from_fn(|| space.draw(&mut rng));
    draws.filter(|point| inner(point) && (hidden.1)(&logs(space, point))).take(count).collect()
}

/// Tunes, and returns the evaluations, whose results are the steps away from the optimum, plus 1.
pub fn tuned(
    space: &Space,
    method: Method,
    seed: u64,
    budget: usize,
    optimum: &Point,
    hidden: &Hidden,
) -> Vec<Evaluation> {
    let optimum = logs(space, optimum);
    let mut history: Vec<Evaluation> = Vec::new();
    while history.len() < budget
        && let Some(point) = propose(space, method, seed, &history)
    {
        let at = logs(space, &point);
        let away: f64 = at.iter().zip(&optimum).map(|(a, b)| (a - b).abs()).sum();
        let value = (hidden.1)(&at).then_some(1.0 + away);
        history.push(Evaluation { point, value });
    }
    history
}

/// Returns how many steps the best of these evaluations is away from the optimum.
pub fn steps_away(history: &[Evaluation]) -> f64 {
    let values = history.iter().filter_map(|known| known.value);
    values.fold(f64::INFINITY, f64::min) - 1.0
}

/// Returns the number that half of the numbers do not exceed.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[(numbers.len() - 1) / 2]
}
