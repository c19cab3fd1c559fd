//! One cache: real tags, least-recently-used replacement, dirty lines, and lines still in flight.

use std::ops::Range;

/// The number of guesses of a cache, a power of two.
const GUESSES: usize = 64;

/// Tags of a set-associative cache. Entries of one set are adjacent.
#[derive(Debug)]
pub(super) struct Cache {
    sets: u64,
    ways: usize,
    /// The line plus one; 0 is an empty entry.
    tags: Vec<u64>,
    /// The arrival of the line's data, with the dirty flag in the lowest bit.
    state: Vec<u64>,
    used: Vec<u32>,
    clock: u32,
    /// The entries where lines were found last, by line: the host looks there before it searches a set.
    guesses: [usize; GUESSES],
}

impl Cache {
    /// Builds an empty cache of so many lines.
    pub(super) fn new(lines: u64, ways: u64) -> Cache {
        let sets = (lines / ways).max(1);
        let entries = (sets * ways) as usize;
        Cache {
            sets,
            ways: ways as usize,
            tags: vec![0; entries],
            state: vec![0; entries],
            used: vec![0; entries],
            clock: 0,
            guesses: [0; GUESSES],
        }
    }

    fn set(&self, line: u64) -> usize {
        let set =
            if self.sets.is_power_of_two() { line & (self.sets - 1) } else { line % self.sets };
        set as usize * self.ways
    }

    /// Returns the entry that holds a line, and makes it the set's most recently used.
    #[inline]
    pub(super) fn find(&mut self, line: u64) -> Option<usize> {
        let guess = self.guesses[line as usize % GUESSES];
        let entry = if self.tags[guess] == line + 1 { guess } else { self.search(line)? };
        self.touch(entry);
        Some(entry)
    }

    /// Returns the entry of a set that holds a line.
    fn search(&mut self, line: u64) -> Option<usize> {
        let first = self.set(line);
        let way = self.tags[first..first + self.ways].iter().position(|&t| t == line + 1)?;
        self.guesses[line as usize % GUESSES] = first + way;
        Some(first + way)
    }

    #[inline]
    fn touch(&mut self, entry: usize) {
        self.clock = self.clock.wrapping_add(1);
        self.used[entry] = self.clock;
    }

    /// Returns the cycle in which the data of an entry is available.
    #[inline]
    pub(super) fn ready(&self, entry: usize) -> u64 {
        self.state[entry] >> 1
    }

    /// Marks an entry as written.
    #[inline]
    pub(super) fn soil(&mut self, entry: usize) {
        self.state[entry] |= 1;
    }

    /// Marks a line as written back. Returns true if it was dirty.
    pub(super) fn clean(&mut self, line: u64) -> bool {
        let dirty = self.search(line).filter(|&e| self.state[e] & 1 == 1);
        dirty.inspect(|&e| self.state[e] &= !1).is_some()
    }

    /// Marks all lines as written back; returns those that were dirty, each with the arrival of its data.
    pub(super) fn clean_all(&mut self) -> Vec<(u64, u64)> {
        let entries = self.tags.iter().zip(&mut self.state);
        let dirty = entries.filter(|(tag, state)| **tag != 0 && **state & 1 == 1);
        dirty
            .map(|(tag, state)| {
                *state &= !1;
                (tag - 1, *state >> 1)
            })
            .collect()
    }

    /// Inserts a missing line in place of the set's least recently used one, and returns the replaced line if it must
    /// be written back.
    pub(super) fn insert(&mut self, line: u64, ready: u64, dirty: bool) -> Option<u64> {
        let entry = self.place(self.set(line));
        let victim =
            (self.tags[entry] != 0 && self.state[entry] & 1 == 1).then(|| self.tags[entry] - 1);
        self.tags[entry] = line + 1;
        self.state[entry] = ready << 1 | u64::from(dirty);
        self.guesses[line as usize % GUESSES] = entry;
        self.touch(entry);
        victim
    }

    /// Returns the entry of a set for a new line: the first empty one, or the least recently used.
    #[inline]
    fn place(&self, first: usize) -> usize {
        let set = first..first + self.ways;
        let (mut oldest, mut most) = (0, 0);
        for (way, (&tag, &used)) in self.tags[set.clone()].iter().zip(&self.used[set]).enumerate() {
            if tag == 0 {
                return first + way;
            }
            // Ages are differences, so the counter may wrap.
            let age = self.clock.wrapping_sub(used);
            if age >= most {
                (oldest, most) = (way, age);
            }
        }
        first + oldest
    }

    /// Drops all lines in some ranges that are not dirty.
    pub(super) fn drop_clean(&mut self, lines: &[Range<u64>]) {
        let clean = self.tags.iter_mut().zip(&self.state).filter(|(_, state)| **state & 1 == 0);
        for (tag, _) in clean.filter(|(tag, _)| **tag != 0) {
            if lines.iter().any(|lines| lines.contains(&(*tag - 1))) {
                *tag = 0;
            }
        }
    }

    /// Drops a line whose newer value is elsewhere.
    pub(super) fn drop_line(&mut self, line: u64) {
        if let Some(entry) = self.search(line) {
            self.tags[entry] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_line_goes_and_only_dirty_ones_are_written_back() {
        let mut cache = Cache::new(4, 2);
        assert_eq!(cache.insert(0, 7, true), None);
        assert_eq!(cache.insert(2, 8, false), None);
        assert_eq!(cache.insert(1, 9, false), None);
        assert_eq!(cache.find(0).map(|e| cache.ready(e)), Some(7));
        assert_eq!(cache.insert(4, 9, false), None, "line 2 was clean");
        assert_eq!(cache.find(2), None);
        assert_eq!(cache.insert(6, 9, false), Some(0), "line 0 was dirty");
        cache.insert(8, 9, true);
        assert!(cache.clean(8) && !cache.clean(8) && !cache.clean(10), "clean once");
        cache.drop_line(6);
        assert_eq!(cache.find(6), None);
        cache.insert(3, 9, true);
        cache.drop_clean(&[Range { start: 0, end: 9 }]);
        assert_eq!((cache.find(8), cache.find(3).is_some()), (None, true), "line 3 is dirty");
        assert_eq!((cache.clean_all(), cache.clean_all()), (vec![(3, 9)], vec![]));
    }
}
