//! The loop of a tuning.

use super::evaluate::Outcome;
use super::store::Store;
use ember_language::diagnostic::Checked;
use ember_tools::progress::Line;
use ember_tune::{Method, Point, Space, propose};

/// Evaluates and stores points until the budget is spent, or no new point is found.
///
/// # Errors
///
/// Fails if a point cannot be evaluated, or stored. What was stored before stays.
pub fn run(
    space: &Space,
    (method, seed): (Method, u64),
    budget: usize,
    store: &mut Store,
    line: &Line,
    mut evaluate: impl FnMut(&Point) -> Checked<Outcome>,
) -> Checked<()> {
    while store.history.len() < budget
        && let Some(point) = propose(space, method, seed, &store.history)
    {
        let values = store.history.iter().filter_map(|known| known.value);
        let least =
            values.min_by(f64::total_cmp).map_or(String::new(), |least| format!(", best {least}"));
        line.say(format!("evaluation {} of {budget}{least}", store.history.len() + 1));
        let outcome = evaluate(&point)?;
        store.put(space, point, outcome)?;
    }
    Ok(())
}
