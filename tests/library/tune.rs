//! Tests of the tuner as a library: it finds known optima in few evaluations, proposes the same points whatever the number
//! of threads, and looks at little of a space that nobody could enumerate.

#[path = "../tuning/known.rs"]
mod known;

use ember_language::diagnostic::Sources;
use ember_tune::{Evaluation, Method, Space, propose};
use known::{HIDDEN, asum, median, optima, steps_away, tuned};

fn read(text: &str) -> Space {
    let mut sources = Sources::default();
    let file = sources.add("space.json", text);
    ember_tune::read(&sources, file).expect("a space")
}

#[test]
fn the_space_has_as_many_points_as_published() {
    assert_eq!(asum().size(), Some(63_954));
}

#[test]
fn known_optima_are_found_in_sixty_evaluations() {
    let space = asum();
    for (number, hidden) in HIDDEN.iter().enumerate() {
        let optimum = &optima(&space, hidden, 1, number as u64)[0];
        let run = |method| -> f64 {
            let run = |seed| steps_away(&tuned(&space, method, seed, 60, optimum, hidden));
            median((0..3).map(run).collect())
        };
        let (found, random) = (run(Method::Bayesian), run(Method::Random));
        assert!(found <= 1.0, "{}: {found} steps away, at random {random}", hidden.0);
        assert!(found < random, "{}: {found} steps away, at random {random}", hidden.0);
    }
}

/// Returns the points of a search whose result is the sum of its coordinates.
fn history(space: &Space, budget: usize) -> Vec<Evaluation> {
    let mut history = Vec::new();
    while history.len() < budget
        && let Some(point) = propose(space, Method::Bayesian, 7, &history)
    {
        let sum: f64 = space.coordinates(&point).iter().sum();
        let value = (sum < 2.5).then_some(1.0 + sum);
        history.push(Evaluation { point, value });
    }
    history
}

#[test]
fn proposals_do_not_depend_on_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| history(&asum(), 25))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn every_point_of_a_small_space_is_proposed_once() {
    let space = read(
        r#"{"input_parameters": {
            "a": {"parameter_type": "ordinal", "values": [1, 2, 3, 4], "constraints": ["a != b"]},
            "b": {"parameter_type": "integer", "values": [1, 4]},
            "c": {"parameter_type": "categorical", "values": ["x", "y"]}}}"#,
    );
    assert_eq!(space.size(), Some(24));
    let history = history(&space, 100);
    assert_eq!(history.len(), 24);
    assert!(history.iter().all(|known| space.holds(&known.point)));
}

#[test]
fn points_of_a_huge_space_with_rare_ones_are_found() {
    let chain = (1..12).map(|at| {
        let before = at - 1;
        format!(
            r#""p{at}": {{"parameter_type": "integer", "values": [1, 1000000],
                "constraints": ["p{at} > p{before}", "p{at} < p{before} + 200000"]}}"#
        )
    });
    let first = r#""p0": {"parameter_type": "integer", "values": [1, 1000000]}"#.to_owned();
    let parameters: Vec<String> = std::iter::once(first).chain(chain).collect();
    let space = read(&format!(r#"{{"input_parameters": {{ {} }}}}"#, parameters.join(",")));
    assert_eq!(space.size(), None);
    let history = history(&space, 12);
    assert_eq!(history.len(), 12);
    assert!(history.iter().all(|known| space.holds(&known.point)));
}
