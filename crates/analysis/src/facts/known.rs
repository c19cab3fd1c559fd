//! The stored form of facts in the e-graph: one word per class, because most classes of most dialects have no facts.

use super::Fact;
use std::ops::Deref;

/// The facts of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Known(Option<Box<Fact>>);

static UNKNOWN: Fact = Fact::UNKNOWN;

impl Known {
    /// The absence of facts.
    pub(super) const NOTHING: Known = Known(None);

    /// Returns true if there are no facts.
    pub(super) fn is_nothing(&self) -> bool {
        self.0.is_none()
    }
}

impl From<Fact> for Known {
    fn from(fact: Fact) -> Known {
        if fact == UNKNOWN { Known::NOTHING } else { Known(Some(Box::new(fact))) }
    }
}

impl Deref for Known {
    type Target = Fact;

    fn deref(&self) -> &Fact {
        self.0.as_deref().unwrap_or(&UNKNOWN)
    }
}
