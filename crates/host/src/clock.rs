//! Measures elapsed time. Times are reported and never influence a result.

use std::time::Duration;

/// A point in time to measure from.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    #[cfg(feature = "system")]
    at: std::time::Instant,
}

/// Returns the present; without a clock, a placeholder whose elapsed time is zero.
pub fn start() -> Start {
    Start {
        #[cfg(feature = "system")]
        at: std::time::Instant::now(),
    }
}

impl Start {
    /// Returns the time since then; zero without a clock.
    pub fn elapsed(self) -> Duration {
        #[cfg(feature = "system")]
        return self.at.elapsed();
        #[cfg(not(feature = "system"))]
        Duration::ZERO
    }
}
