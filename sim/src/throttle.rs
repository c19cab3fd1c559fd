//! The throttle: how far the access unit may read into the core's L2 ahead of the execute unit, for prefetches and for
//! loads that allocate there.
//!
//! Each such stream counts the lines that it has requested. When the marshaller passes one of its
//! elements, the count is filed under the next item (token or operand) that it will push; when the execute unit has
//! finished with that item, the lines up to the count no longer need room in the L2.

use std::collections::VecDeque;

/// The lines that the throttled streams are ahead of the execute unit.
#[derive(Debug)]
pub(crate) struct Throttle {
    /// Indexed by stream: the lines that it may be ahead.
    limits: Vec<u64>,
    /// Indexed by stream: the lines requested, and those of them that need no room.
    streams: Vec<(u64, u64)>,
    /// The lines that the execute unit has not reached: the item, the stream, and the lines requested up to there.
    ahead: VecDeque<(u64, usize, u64)>,
    /// The items pushed and taken so far.
    pushed: u64,
    taken: u64,
}

impl Throttle {
    /// Builds the throttle of some streams, each of which may be so many lines ahead.
    pub(crate) fn new(limits: Vec<u64>) -> Throttle {
        Throttle {
            streams: vec![(0, 0); limits.len()],
            limits,
            ahead: VecDeque::new(),
            pushed: 0,
            taken: 0,
        }
    }

    /// Returns true if a stream is as far ahead as it may be.
    #[inline]
    pub(crate) fn holds(&self, stream: usize) -> bool {
        let (requested, returned) = self.streams[stream];
        requested - returned >= self.limits[stream]
    }

    /// Counts a requested line of a stream.
    #[inline]
    pub(crate) fn request(&mut self, stream: usize) {
        self.streams[stream].0 += 1;
    }

    /// Returns the lines that a stream has requested.
    pub(crate) fn requested(&self, stream: usize) -> u64 {
        self.streams[stream].0
    }

    /// Files the lines of an element that the marshaller passes, up to a count.
    pub(crate) fn pass(&mut self, stream: usize, requested: u64) {
        let now = self.pushed;
        match self.ahead.iter_mut().rev().take_while(|a| a.0 == now).find(|a| a.1 == stream) {
            Some(last) => last.2 = requested,
            None => self.ahead.push_back((now, stream, requested)),
        }
    }

    /// Counts an item that the marshaller pushes.
    #[inline]
    pub(crate) fn push(&mut self) {
        self.pushed += 1;
    }

    /// Counts an item that the execute unit takes: it is finished with all items before. Returns true if a stream may
    /// go on.
    #[inline]
    pub(crate) fn take(&mut self) -> bool {
        self.taken += 1;
        let mut returned = false;
        while let Some(&(item, stream, requested)) = self.ahead.front() {
            if item + 1 >= self.taken {
                break;
            }
            self.streams[stream].1 = requested;
            self.ahead.pop_front();
            returned = true;
        }
        returned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_return_when_the_execute_unit_is_past_the_item_that_follows_them() {
        let mut throttle = Throttle::new(vec![3, 3]);
        for _ in 0..3 {
            assert!(!throttle.holds(1));
            throttle.request(1);
        }
        assert!(throttle.holds(1) && !throttle.holds(0));
        throttle.pass(1, 2);
        throttle.push();
        throttle.pass(1, throttle.requested(1));
        throttle.push();
        assert!(!throttle.take(), "the execute unit uses the lines of the first item");
        assert!(throttle.take());
        assert_eq!(throttle.streams[1], (3, 2));
        assert!(!throttle.holds(1));
    }
}
