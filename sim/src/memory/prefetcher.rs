//! The stride prefetcher of a core.

use ember_targets::machine::Core;

/// A miss this near to the last one of a stream belongs to it, in lines.
pub const NEAR_LINES: i64 = 16;

/// The misses at one distance after which a stream is prefetched.
const CONFIRMED: u64 = 2;

/// The streams of misses that are followed, the least recently used of which is replaced.
#[derive(Debug)]
pub(super) struct Prefetcher {
    streams: Vec<Stream>,
    ahead: u64,
    clock: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    last: u64,
    stride: i64,
    /// The misses that confirmed the stride.
    confirmed: u64,
    used: u64,
}

impl Prefetcher {
    /// Builds the prefetcher of a core; `None` if it has none.
    pub(super) fn new(core: &Core) -> Option<Prefetcher> {
        let has = core.prefetch_streams > 0 && core.prefetch_lines > 0;
        has.then(|| Prefetcher {
            streams: vec![Stream::default(); core.prefetch_streams as usize],
            ahead: core.prefetch_lines,
            clock: 0,
        })
    }

    /// Observes a miss of the first-level cache, and whether the second-level cache missed it, too; returns the lines to
    /// prefetch. A stream that has just been confirmed fills its distance; each further line of it adds one. Lines that
    /// someone else has brought into the second-level cache begin no stream. A falling stream ends at the first line of
    /// memory.
    pub(super) fn observe(&mut self, line: u64, missed: bool) -> impl Iterator<Item = u64> + use<> {
        self.clock += 1;
        let (clock, ahead) = (self.clock, self.ahead);
        let distance = |stream: &Stream| line.wrapping_sub(stream.last) as i64;
        let follows = |stream: &&mut Stream| {
            let expected = stream.confirmed >= CONFIRMED && distance(stream) == stream.stride;
            let near =
                stream.used > 0 && distance(stream) != 0 && distance(stream).abs() <= NEAR_LINES;
            expected || (missed && near)
        };
        let mut fetched = 0..0;
        let mut stride = 0;
        if let Some(stream) = self.streams.iter_mut().find(follows) {
            let step = distance(stream);
            stream.confirmed = if step == stream.stride { stream.confirmed + 1 } else { 0 };
            stride = step;
            fetched = match stream.confirmed {
                CONFIRMED => 1..ahead + 1,
                more if more > CONFIRMED => ahead..ahead + 1,
                _ => 0..0,
            };
            *stream = Stream { last: line, stride, used: clock, ..*stream };
        } else if missed && let Some(oldest) = self.streams.iter_mut().min_by_key(|s| s.used) {
            *oldest = Stream { last: line, used: clock, ..Stream::default() };
        }
        fetched.filter_map(move |n| line.checked_add_signed(stride * n as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_targets::machine::Machine;

    #[test]
    fn a_stream_is_followed_once_its_stride_is_confirmed() {
        let mut core = Machine::plus().unwrap().core;
        core.prefetch_lines = 4;
        let mut prefetcher = Prefetcher::new(&core).unwrap();
        let mut seen = |line, missed| prefetcher.observe(line, missed).collect::<Vec<_>>();
        for line in [100, 102, 104] {
            assert!(seen(line, true).is_empty());
        }
        assert_eq!(seen(106, true), [108, 110, 112, 114]);
        assert!(seen(5000, true).is_empty(), "another stream");
        assert_eq!(seen(108, false), [116], "a line that it has brought");
        assert!(seen(109, true).is_empty(), "another stride");
        for line in 200..210 {
            assert!(seen(line, false).is_empty(), "lines that others have brought");
        }
        for line in [6, 5, 4] {
            assert!(seen(line, true).is_empty());
        }
        assert_eq!(seen(3, true), [2, 1, 0], "a stream that falls to the first line");
        core.prefetch_streams = 0;
        assert!(Prefetcher::new(&core).is_none());
    }
}
