//! The size of random samples: as much as every `cargo test` has time for, and as many times that as a user asks for.

/// Returns `least`, or as many times that as the environment variable `EMBER_SAMPLES` says. A larger sample begins with
/// the smaller one.
///
/// # Panics
///
/// Panics if the variable is not a number of at least 1.
pub fn samples(least: usize) -> usize {
    let times = match std::env::var("EMBER_SAMPLES") {
        Ok(text) => text.parse().ok().filter(|&times| times > 0),
        Err(_) => Some(1),
    };
    least * times.expect("EMBER_SAMPLES is a number of at least 1")
}
