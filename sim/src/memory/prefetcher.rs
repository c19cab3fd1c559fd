//! The stride prefetcher of a core that has no access unit beside it.

use ember_targets::machine::Core;

/// A miss this near to the last one of a stream belongs to it, in lines.
const NEAR: i64 = 16;

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

    /// Observes a miss of the first-level cache; returns the lines to prefetch: a stream that has just been confirmed
    /// fills its distance, and each further miss adds one line.
    pub(super) fn missed(&mut self, line: u64) -> impl Iterator<Item = u64> + use<> {
        self.clock += 1;
        let (clock, ahead) = (self.clock, self.ahead);
        let distance = |stream: &Stream| line.wrapping_sub(stream.last) as i64;
        let near = |stream: &&mut Stream| {
            stream.used > 0 && distance(stream) != 0 && distance(stream).abs() <= NEAR
        };
        let mut fetched = 0..0;
        let mut stride = 0;
        if let Some(stream) = self.streams.iter_mut().find(near) {
            let step = distance(stream);
            stream.confirmed = if step == stream.stride { stream.confirmed + 1 } else { 0 };
            stride = step;
            fetched = match stream.confirmed {
                CONFIRMED => 1..ahead + 1,
                more if more > CONFIRMED => ahead..ahead + 1,
                _ => 0..0,
            };
            *stream = Stream { last: line, stride, used: clock, ..*stream };
        } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = Stream { last: line, used: clock, ..Stream::default() };
        }
        fetched.map(move |n| line.wrapping_add_signed(stride * n as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_targets::machine::{Machine, TMU_CPU};

    #[test]
    fn a_stream_is_followed_once_its_stride_is_confirmed() {
        let mut core = Machine::parse(TMU_CPU).unwrap().core;
        core.prefetch_lines = 4;
        let mut prefetcher = Prefetcher::new(&core).unwrap();
        let mut missed = |line| prefetcher.missed(line).collect::<Vec<_>>();
        for line in [100, 102, 104] {
            assert!(missed(line).is_empty());
        }
        assert_eq!(missed(106), [108, 110, 112, 114]);
        assert!(missed(5000).is_empty(), "another stream");
        assert_eq!(missed(108), [116]);
        assert!(missed(109).is_empty(), "another stride");
        core.prefetch_streams = 0;
        assert!(Prefetcher::new(&core).is_none());
    }
}
