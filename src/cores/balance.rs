//! Borders between cores, moved by the time that each core took for its rows.
//!
//! Lookups do not take equally long: some are of rows that a cache holds, others wait for a translation. What a run shows of
//! each core's rows says at which borders the cores would have ended together. They hardly ever do then, since rows of one core
//! are not equally fast either, so borders are moved again.

use super::cut::Cut;
use super::plan::{Key, Plan};
use super::split::{Split, by_borders};
use super::{Judged, judge};
use ember_compile::pipeline::Case;
use ember_compile::rows::Rows;
use ember_language::diagnostic::Checked;
use ember_model::Model;
use ember_sim::{CoreRun, Division};
use itertools::Itertools;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// How often borders are moved at most.
const ROUNDS: usize = 3;

/// Adds plans with moved borders and their runs: for each number of cores, from the fastest plan whose cores have rows in order.
pub(super) fn balance(
    plans: &mut Vec<Plan<'_>>,
    runs: &mut FxHashMap<Key, Judged>,
    of: (&Model, &Rows, &Case),
    run: impl Fn(&Plan<'_>) -> Checked<Judged> + Sync,
) -> Checked<()> {
    for _ in 0..ROUNDS {
        let moved = fastest(plans, runs).filter_map(|(plan, cores)| again(plan, cores, of));
        let moved = moved.collect_vec();
        let new = moved.iter().filter(|plan| !runs.contains_key(&plan.key())).collect_vec();
        let judged = judge(&new, &run)?;
        let ended = judged.is_empty();
        runs.extend(judged);
        plans.extend(moved);
        if ended {
            break;
        }
    }
    Ok(())
}

/// Returns the fastest plan of each number of cores whose cores have rows in order, and what each core did.
fn fastest<'p, 'a>(
    plans: &'p [Plan<'a>],
    runs: &'p FxHashMap<Key, Judged>,
) -> impl Iterator<Item = (&'p Plan<'a>, &'p [CoreRun])> {
    let ordered = plans.iter().filter(|plan| plan.cores > 1 && plan.split.has_borders());
    let ended = ordered.filter_map(|plan| {
        let run = runs.get(&plan.key()).filter(|run| run.mismatch.is_none())?;
        let together = run.together.as_ref()?;
        Some((plan, together.outcome.stats.cycles, &together.cores[..]))
    });
    let by_cores =
        ended.into_group_map_by(|(plan, ..)| plan.cores).into_iter().sorted_by_key(|(n, _)| *n);
    let fastest = by_cores.filter_map(|(_, plans)| plans.into_iter().min_by_key(|ended| ended.1));
    fastest.map(|(plan, _, cores)| (plan, cores))
}

/// Returns a plan with its borders moved by what each core did; `None` if none of them is in a long row any more.
fn again<'a>(
    plan: &Plan<'a>,
    cores: &[CoreRun],
    (model, rows, case): (&Model, &Rows, &Case),
) -> Option<Plan<'a>> {
    let work = |core: &CoreRun| core.end - core.waited + core.released;
    let times: Vec<u64> = cores.iter().map(work).collect();
    let (cut, division) = match &plan.cut {
        Some(cut) => {
            let cut = Cut::of(model, rows, case, &moved(&cut.borders, &times))?;
            let division = cut.division.clone();
            (Some(Arc::new(cut)), division)
        }
        None => (None, by_borders(rows, &moved(&borders(&plan.division, rows), &times))),
    };
    let least = cores.iter().map(|core| core.waited - core.released).min().unwrap_or(0);
    let expected = Some(times.iter().sum::<u64>() / plan.cores + least);
    let Plan { cores, own, phases, .. } = *plan;
    Some(Plan { cores, split: Split::Balanced, own, phases, division, cut, expected })
}

/// Returns the work before the rows of each core, which are in order, and all work.
fn borders(division: &Division, rows: &Rows) -> Vec<u64> {
    let mut borders = vec![0];
    for own in &division.own {
        let work: u64 = own.iter().map(|part| rows.weight(&division.parts[*part])).sum();
        borders.push(borders[borders.len() - 1] + work);
    }
    borders
}

/// Moves borders so that each core takes equally long, if the work between two of them took some time and all of it was
/// equally fast.
fn moved(borders: &[u64], times: &[u64]) -> Vec<u64> {
    let (cores, total) = (times.len() as u128, times.iter().map(|t| u128::from(*t)).sum::<u128>());
    let at = |core: u128| {
        let mut left = total * core / cores.max(1);
        for (ends, time) in borders.windows(2).zip(times) {
            let time = u128::from(*time);
            if left <= time {
                let work = u128::from(ends[1] - ends[0]);
                return ends[0] + (work * left / time.max(1)) as u64;
            }
            left -= time;
        }
        borders.last().copied().unwrap_or(0)
    };
    let within = (1..cores).map(at);
    let ends = |end: Option<&u64>| end.copied();
    ends(borders.first()).into_iter().chain(within).chain(ends(borders.last())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use itertools::Itertools;
    use quickcheck::quickcheck;

    quickcheck! {
        fn borders_of_cores_that_end_together_stay(works: Vec<u16>) -> bool {
            let works: Vec<u64> = works.iter().map(|work| u64::from(*work) + 1).collect();
            let mut borders = vec![0];
            for work in &works {
                borders.push(borders[borders.len() - 1] + work);
            }
            works.is_empty() || moved(&borders, &vec![1 << 20; works.len()]) == borders
        }

        fn moved_borders_are_in_order_and_even_in_time(works: Vec<(u16, u16)>) -> bool {
            let works = || works.iter().map(|(work, time)| (u64::from(*work) + 1, u64::from(*time) + 1));
            let (sizes, times): (Vec<u64>, Vec<u64>) = works().unzip();
            if sizes.is_empty() {
                return true;
            }
            let mut before = vec![0];
            for work in &sizes {
                before.push(before[before.len() - 1] + work);
            }
            let places = moved(&before, &times);
            // The time until a place, if all work of a core was equally fast.
            let until = |place: u64| -> f64 {
                let each = before.windows(2).zip(&times).map(|(ends, time)| {
                    let done = place.clamp(ends[0], ends[1]) - ends[0];
                    *time as f64 * done as f64 / (ends[1] - ends[0]) as f64
                });
                each.sum()
            };
            // Places are whole, so each is off by less than the time of a unit of work.
            let unit = sizes.iter().zip(&times).map(|(work, time)| *time as f64 / *work as f64);
            let slack = 1.0 + unit.fold(0.0, f64::max);
            let mean = until(before[sizes.len()]) / sizes.len() as f64;
            let even = places.iter().enumerate()
                .all(|(core, place)| (until(*place) - mean * core as f64).abs() <= slack);
            even && places.iter().tuple_windows().all(|(a, b)| a <= b)
                && (places[0], places[sizes.len()]) == (0, before[sizes.len()])
        }
    }
}
