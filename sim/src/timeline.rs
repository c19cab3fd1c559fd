//! The stalls of each unit, as totals and, on request, as a Chrome trace that Perfetto opens.

use crate::stats::UnitStats;
use serde_json::{Value, json};

/// The reason why a unit's clock moved without work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stall {
    Memory,
    Full,
    Empty,
    Dispatch,
    Idle,
}

impl Stall {
    fn name(self) -> &'static str {
        match self {
            Stall::Memory => "memory",
            Stall::Full => "full queue",
            Stall::Empty => "empty queue",
            Stall::Dispatch => "dispatch",
            Stall::Idle => "idle",
        }
    }
}

/// The maximum number of intervals in one unit's trace before it becomes coarser.
const SPANS: usize = 20_000;

/// The stalls of one unit.
#[derive(Debug, Default)]
pub(crate) struct Track {
    totals: [u64; 5],
    spans: Option<Spans>,
}

/// Intervals in time order; intervals of one kind closer than `grain` are merged.
#[derive(Debug)]
struct Spans {
    list: Vec<(Stall, u64, u64)>,
    grain: u64,
}

impl Track {
    pub(crate) fn new(recorded: bool) -> Track {
        Track { totals: [0; 5], spans: recorded.then(|| Spans { list: Vec::new(), grain: 0 }) }
    }

    /// Records a stall from one cycle to a later one.
    #[inline]
    pub(crate) fn stall(&mut self, stall: Stall, from: u64, to: u64) {
        if to > from {
            self.totals[stall as usize] += to - from;
            if let Some(spans) = &mut self.spans {
                spans.add(stall, from, to);
            }
        }
    }

    /// Returns the unit's cycles from its beginning until it was done; those without a stall count as work.
    pub(crate) fn stats(&self, name: String, done: u64) -> UnitStats {
        let [memory, full, empty, dispatch, idle] = self.totals;
        let waited = memory + full + empty + dispatch + idle;
        UnitStats { name, busy: done.saturating_sub(waited), memory, full, empty, dispatch, idle }
    }
}

impl Spans {
    #[cold]
    fn add(&mut self, stall: Stall, from: u64, to: u64) {
        match self.list.last_mut() {
            Some(last) if last.0 == stall && from <= last.2 + self.grain => last.2 = last.2.max(to),
            _ => self.list.push((stall, from, to)),
        }
        if self.list.len() > SPANS {
            self.coarsen();
        }
    }

    /// Merges neighbours and drops short intervals until at most half remain.
    fn coarsen(&mut self) {
        while self.list.len() > SPANS / 2 {
            self.grain = (self.grain * 2).max(16);
            let grain = self.grain;
            let mut kept: Vec<(Stall, u64, u64)> = Vec::new();
            for &(stall, from, to) in &self.list {
                match kept.last_mut() {
                    Some(last) if last.0 == stall && from <= last.2 + grain => {
                        last.2 = last.2.max(to)
                    }
                    _ if to - from >= grain / 2 => kept.push((stall, from, to)),
                    _ => {}
                }
            }
            self.list = kept;
        }
    }
}

/// The fill levels of the queues, sampled evenly and ever more coarsely.
#[derive(Debug)]
pub(crate) struct Samples {
    list: Vec<(u64, u64, u64)>,
    every: u64,
    next: u64,
}

impl Samples {
    pub(crate) fn new() -> Samples {
        Samples { list: Vec::new(), every: 1, next: 0 }
    }

    /// Records the bytes of the data queue and the tokens of the control queue.
    pub(crate) fn add(&mut self, at: u64, bytes: u64, tokens: u64) {
        if at >= self.next {
            self.list.push((at, bytes, tokens));
            self.next = at + self.every;
            if self.list.len() > SPANS {
                self.every *= 2;
                let mut keep = false;
                self.list.retain(|_| {
                    keep = !keep;
                    keep
                });
            }
        }
    }
}

/// Returns the trace: one track per unit, and counters for the queues. Timestamps are in microseconds.
pub(crate) fn trace(
    name: &str,
    clock_ghz: f64,
    tracks: &[(String, &Track, u64)],
    samples: Option<&Samples>,
) -> Value {
    let us = |cycles: u64| cycles as f64 / (clock_ghz * 1000.0);
    let mut events = vec![json!({"ph": "M", "pid": 1, "name": "process_name",
        "args": {"name": name}})];
    let mut grain = 0;
    for (tid, (unit, track, done)) in tracks.iter().enumerate() {
        events.push(json!({"ph": "M", "pid": 1, "tid": tid, "name": "thread_name",
            "args": {"name": unit}}));
        let Some(spans) = &track.spans else { continue };
        grain = grain.max(spans.grain);
        let mut event = |name: &str, from: u64, to: u64| {
            if to > from {
                events.push(json!({"ph": "X", "pid": 1, "tid": tid, "name": name,
                    "ts": us(from), "dur": us(to - from)}));
            }
        };
        let mut at = 0;
        for &(stall, from, to) in &spans.list {
            event("busy", at, from);
            event(stall.name(), from.max(at), to);
            at = at.max(to);
        }
        event("busy", at, *done);
    }
    for &(at, bytes, tokens) in samples.iter().flat_map(|s| &s.list) {
        events.push(json!({"ph": "C", "pid": 1, "name": "data queue", "ts": us(at),
            "args": {"bytes": bytes}}));
        events.push(json!({"ph": "C", "pid": 1, "name": "control queue", "ts": us(at),
            "args": {"tokens": tokens}}));
    }
    let every = samples.map_or(0, |s| s.every);
    json!({"displayTimeUnit": "ns", "traceEvents": events, "otherData": {
        "program": name,
        "intervals_merged_below_cycles": grain,
        "queues_sampled_every_cycles": every}})
}
