//! Finds the classes that a search must inspect again: the classes that changed since the last search, and the classes
//! above them.

use crate::knowledge::{EGraph, Knowledge};
use egg::Id;

/// Classes that changed since they were last searched. A class changes only by a union, so it suffices to remember the
/// classes of the last search.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// The classes at the last search.
    classes: Vec<Id>,
    /// The number of nodes ever made at the last search.
    made: usize,
    /// For each class, its distance above the nearest changed class.
    levels: Vec<u16>,
}

impl Touched {
    /// Takes the changes since the last call, for matches that inspect at most `reach` levels. The e-graph must be
    /// clean.
    pub fn update<A: Knowledge>(&mut self, egraph: &EGraph<A>, reach: u16) {
        self.levels.clear();
        self.levels.resize(egraph.nodes().len(), u16::MAX);
        let merged = self.classes.iter().filter(|id| egraph.find(**id) != **id);
        let made = (self.made..egraph.nodes().len()).map(Id::from);
        let mut level = Vec::new();
        for id in merged.copied().chain(made) {
            touch(&mut self.levels, &mut level, egraph.find(id), 0);
        }
        for height in 1..=reach.min(u16::MAX - 1) {
            let mut above = Vec::new();
            for class in level {
                for parent in egraph[class].parents() {
                    touch(&mut self.levels, &mut above, egraph.find(parent), height);
                }
            }
            level = above;
        }
        self.classes.clear();
        self.classes.extend(egraph.classes().map(|class| class.id));
        self.made = egraph.nodes().len();
    }

    /// Returns the distance of a class above the nearest changed class; `u16::MAX` if none is within reach.
    pub fn level(&self, class: Id) -> u16 {
        self.levels.get(usize::from(class)).copied().unwrap_or(u16::MAX)
    }
}

/// Adds a class to a level, unless it is on a lower one.
fn touch(levels: &mut [u16], level: &mut Vec<Id>, class: Id, height: u16) {
    if let Some(known) = levels.get_mut(usize::from(class))
        && *known == u16::MAX
    {
        *known = height;
        level.push(class);
    }
}
