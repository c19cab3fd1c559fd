//! Times of programs that run in turn, so that what disturbs the machine disturbs all of them.

use std::sync::LazyLock;
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

/// A clock, which returns the time since some moment.
pub(super) type Clock = fn() -> Duration;

/// The time that passes.
pub(super) const WALL: Clock = || {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
};

/// Returns the clock for programs of so many threads: of one, the time that it has a processor for, which other programs
/// on the machine change less.
#[cfg(target_os = "linux")]
pub(super) fn clock(threads: u32) -> Clock {
    use rustix::time::{ClockId, clock_gettime};
    let own = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
    };
    if threads == 1 { own } else { WALL }
}

/// Returns the clock for programs.
#[cfg(not(target_os = "linux"))]
pub(super) fn clock(_threads: u32) -> Clock {
    WALL
}

/// Runs programs in turn by their rounds and numbers, in so many rounds at most, and returns the times of each by a clock.
pub(super) fn interleaved(
    programs: usize,
    most: usize,
    clock: Clock,
    mut run: impl FnMut(usize, usize),
) -> Vec<Times> {
    let mut times = vec![Vec::new(); programs];
    let started = Instant::now();
    for round in 0..most {
        if round >= LEAST && started.elapsed() > ENOUGH {
            break;
        }
        for (at, times) in times.iter_mut().enumerate() {
            let start = clock();
            run(round, at);
            times.push(clock().saturating_sub(start));
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
