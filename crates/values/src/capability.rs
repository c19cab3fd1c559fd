//! Capabilities: abilities of an access unit beyond traversals, loads and operands, which not every machine has.
//!
//! A description of a machine states which of these it has, a rule set which of these its programs need (`:needs`), and
//! the verifier of programs refuses what a machine lacks.

use std::fmt;

/// An ability of an access unit that not every machine has.
///
/// The number in an induction variable is none: an execute unit that counts by itself (`exe.counter`) needs no hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// Stream elements that are wider than a vector register of the core, such as whole rows as one operand.
    WideRows,
    /// Loads into the core's second-level cache whose data is not marshalled.
    Prefetch,
    /// Stores of streams by the access unit, without work for the execute unit.
    StoreStreams,
    /// Loads whose hint says which caches keep the data.
    Hints,
}

impl Capability {
    /// All capabilities, each with its word in texts and what a program with it does.
    pub const WORDS: [(Capability, &'static str, &'static str); 4] = [
        (Capability::WideRows, "wide-rows", "stream elements wider than a vector register"),
        (Capability::Prefetch, "prefetch", "prefetches into the core's second-level cache"),
        (Capability::StoreStreams, "store-streams", "stores by the access unit"),
        (Capability::Hints, "hints", "loads with a hint on caching"),
    ];

    /// Its word in rule files.
    pub fn name(self) -> &'static str {
        Capability::row(self).map_or("", |(_, name, _)| name)
    }

    /// A noun for the part of a program that uses it.
    pub fn doc(self) -> &'static str {
        Capability::row(self).map_or("", |(_, _, doc)| doc)
    }

    /// Returns the capability with this word.
    pub fn parse(name: &str) -> Option<Capability> {
        let found = Capability::WORDS.into_iter().find(|(_, known, _)| *known == name);
        found.map(|(capability, ..)| capability)
    }

    fn row(self) -> Option<(Capability, &'static str, &'static str)> {
        Capability::WORDS.into_iter().find(|(capability, ..)| *capability == self)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u8);

impl Capabilities {
    /// Every capability.
    pub const ALL: Capabilities = Capabilities(u8::MAX);

    /// Returns true if the set has the capability.
    pub fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u8) != 0
    }

    /// Returns true if the set has everything that the other has.
    pub fn include(self, other: Capabilities) -> bool {
        self.0 & other.0 == other.0
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(all: I) -> Capabilities {
        Capabilities(all.into_iter().fold(0, |set, capability| set | 1 << capability as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_sets_hold_what_was_put_in() {
        for (capability, name, _) in Capability::WORDS {
            assert_eq!(Capability::parse(name), Some(capability));
            let alone: Capabilities = [capability].into_iter().collect();
            for (other, ..) in Capability::WORDS {
                assert_eq!(alone.has(other), other == capability);
            }
            assert!(Capabilities::ALL.include(alone) && !Capabilities::default().include(alone));
        }
    }
}
