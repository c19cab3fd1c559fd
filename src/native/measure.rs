//! Times of programs that run in turn, so that what disturbs the machine disturbs all of them.

use std::time::{Duration, Instant};

/// The number of rounds that are run however long they take.
const LEAST: usize = 7;

/// The greatest number of rounds.
pub(super) const MOST: usize = 1000;

/// The time after which no round begins, once there are enough.
const ENOUGH: Duration = Duration::from_millis(600);

/// The times of one program, in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Times(Vec<Duration>);

/// Runs programs in turn by their numbers, in so many rounds at most, and returns the times of each.
pub(super) fn interleaved(programs: usize, most: usize, mut run: impl FnMut(usize)) -> Vec<Times> {
    let mut times = vec![Vec::new(); programs];
    let started = Instant::now();
    for round in 0..most {
        if round >= LEAST && started.elapsed() > ENOUGH {
            break;
        }
        for (at, times) in times.iter_mut().enumerate() {
            let start = Instant::now();
            run(at);
            times.push(start.elapsed());
        }
    }
    let sorted = |mut times: Vec<Duration>| {
        times.sort_unstable();
        Times(times)
    };
    times.into_iter().map(sorted).collect()
}

impl Times {
    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.0.len()
    }

    /// Returns the time in seconds below which a share of the runs stayed.
    pub fn quantile(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        self.0.get(at).map_or(0.0, Duration::as_secs_f64)
    }
}
