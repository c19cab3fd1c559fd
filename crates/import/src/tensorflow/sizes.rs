//! Sizes that only the data says: which of them are one, and what they are at least.

use crate::error::Problem;
use crate::limits::{RESULTS, SEGMENTS};
use ember_model::Extent;
use std::collections::BTreeMap;

/// The facts about sizes that operators need.
#[derive(Default)]
pub(super) struct Sizes {
    /// The sizes that are others.
    same: BTreeMap<String, String>,
    /// The least value of sizes.
    least: BTreeMap<String, u64>,
}

impl Sizes {
    /// Notes what a problem says about sizes; returns false if that is nothing new.
    pub(super) fn learn(&mut self, problem: &Problem) -> bool {
        if self.same.len() + self.least.len() > RESULTS {
            return false;
        }
        match problem {
            // Only extents of arguments may be one: others are found out to be, if they are.
            Problem::Sizes(a, b) if [a, b].iter().all(|name| !is_derived(name)) => {
                let (first, second) = if a < b { (a, b) } else { (b, a) };
                self.same.insert(base(second).to_owned(), base(first).to_owned()).is_none()
            }
            Problem::Less(name, by) if !is_derived(name) => {
                let least = self.least.entry(base(name).to_owned()).or_default();
                *least += by;
                *least <= SEGMENTS
            }
            _ => false,
        }
    }

    /// Returns the extent of a dimension that the data says.
    pub(super) fn extent(&self, name: &str) -> Extent {
        let mut name = name;
        for _ in 0..=self.same.len() {
            name = self.same.get(name).map_or(name, String::as_str);
        }
        match self.least.get(name) {
            Some(least) => Extent::Size { name: format!("{name}{LESS}{least}"), plus: *least },
            None => Extent::Size { name: name.to_owned(), plus: 0 },
        }
    }
}

/// The sign between the name of a size and what was taken off it.
const LESS: &str = "_less_";

/// Returns the name of a size without what was taken off it.
fn base(name: &str) -> &str {
    name.rsplit_once(LESS).map_or(name, |(name, _)| name)
}

/// Returns true if a size follows from values.
fn is_derived(name: &str) -> bool {
    name.starts_with("made.") || name.starts_with("segments.")
}
