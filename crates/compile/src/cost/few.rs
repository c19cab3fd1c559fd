//! Sets of few members, as sorted lists. Extraction makes and compares them by the hundred thousand,
//! and most have less than a handful of members: a list that lives in its owner costs a fraction of a
//! tree. What the members mean is the business of summaries.

use smallvec::SmallVec;

/// A set of few members that can be copied.
#[derive(Debug, PartialEq, Eq)]
pub struct Few<T: Copy>(SmallVec<[T; 6]>);

impl<T: Copy> Clone for Few<T> {
    fn clone(&self) -> Self {
        // As a slice it is copied at once.
        Few(SmallVec::from_slice(&self.0))
    }
}

impl<T: Copy> Default for Few<T> {
    fn default() -> Self {
        Few(SmallVec::new())
    }
}

impl<T: Copy + Ord> Few<T> {
    /// A set without members.
    pub fn new() -> Self {
        Few::default()
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is a member.
    pub fn contains(&self, member: &T) -> bool {
        self.0.contains(member)
    }

    /// Adds a member.
    pub fn insert(&mut self, member: T) {
        if let Err(at) = self.0.binary_search(&member) {
            self.0.insert(at, member);
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, member: &T) {
        self.0.retain(|other| other != member);
    }

    /// Adds every member of another set.
    pub fn unite(&mut self, other: &Few<T>) {
        if self.is_empty() {
            self.0 = SmallVec::from_slice(&other.0);
        } else {
            self.extend(other.0.iter().copied());
        }
    }

    /// Whether every member is one of the other set.
    pub fn is_subset(&self, other: &Few<T>) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().all(|member| other.contains(member))
    }

    /// Whether the sets share no member.
    pub fn is_disjoint(&self, other: &Few<T>) -> bool {
        !self.0.iter().any(|member| other.contains(member))
    }
}

impl<T: Copy + Ord> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        members.into_iter().for_each(|member| self.insert(member));
    }
}
