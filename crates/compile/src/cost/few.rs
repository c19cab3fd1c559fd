//! Small sets as sorted lists. Extraction builds and compares them by the hundred thousand, and most have only a few
//! members, so a list that is stored inline costs a fraction of a tree.

use smallvec::SmallVec;

/// A small set of copyable members.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Few<T: Copy>(SmallVec<[T; 6]>);

impl<T: Copy> Clone for Few<T> {
    fn clone(&self) -> Self {
        // Copying from a slice copies all members at once.
        Few(SmallVec::from_slice(&self.0))
    }
}

impl<T: Copy> Default for Few<T> {
    fn default() -> Self {
        Few(SmallVec::new())
    }
}

impl<T: Copy + Ord> Few<T> {
    /// Returns an empty set.
    pub fn new() -> Self {
        Few::default()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the members.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// Returns true if the set contains the member.
    pub fn contains(&self, member: &T) -> bool {
        self.0.contains(member)
    }

    /// Adds a member.
    pub fn insert(&mut self, member: T) {
        if let Err(at) = self.0.binary_search(&member) {
            self.0.insert(at, member);
        }
    }

    /// Removes a member.
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

    /// Iterates over the members of both sets.
    pub fn union<'a>(&'a self, other: &'a Few<T>) -> impl Iterator<Item = &'a T> {
        self.0.iter().chain(other.0.iter().filter(|member| !self.contains(member)))
    }

    /// Returns the members that both sets have.
    pub fn common(&self, other: &Few<T>) -> Few<T> {
        Few(self.0.iter().copied().filter(|member| other.contains(member)).collect())
    }

    /// Returns true if every member is in the other set.
    pub fn is_subset(&self, other: &Few<T>) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().all(|member| other.contains(member))
    }

    /// Returns true if the sets have no common member.
    pub fn is_disjoint(&self, other: &Few<T>) -> bool {
        !self.0.iter().any(|member| other.contains(member))
    }
}

impl<T: Copy + Ord> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        members.into_iter().for_each(|member| self.insert(member));
    }
}
