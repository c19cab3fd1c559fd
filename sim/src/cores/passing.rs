//! Rows that are passed over: they take no time, but caches and translations are as though they had run.
//!
//! That is functional warming (Wunderlich et al., SMARTS: Accelerating Microarchitecture Simulation via Rigorous Statistical
//! Sampling, ISCA 2003): what runs after them is timed with the lines that it would find.

use crate::data::Held;
use crate::memory::{Lines, Memory, Way};
use ember_targets::dlc::{Hint, Program, StreamKind, TensorId};
use ember_targets::verify::Footprint;
use std::ops::Range;

/// Takes the elements of a tensor that a program accesses.
pub type Visit<'a> = dyn FnMut(TensorId, Range<u64>) + 'a;

/// The rows that are passed over.
#[derive(Clone, Copy)]
pub struct Passed<'a> {
    /// Calls back with the elements that a program accesses in the rows that are passed over before a part, or with the number
    /// of parts behind the last, in the order of rows.
    pub accesses: &'a dyn Fn(usize, &mut Visit<'_>),
    /// The part of all work that is not passed over.
    pub part: f64,
}

/// The rows that are passed over before each part of a program.
pub(super) struct Passing<'a> {
    pub(super) passed: Passed<'a>,
    /// The ways in which the program accesses each tensor.
    ways: Vec<Vec<Way>>,
}

impl<'a> Passing<'a> {
    pub(super) fn new(program: &Program, passed: Passed<'a>) -> Passing<'a> {
        let footprint = Footprint::of(program);
        let ways = |tensor: TensorId| {
            let loaded = |hint: &Hint| {
                let mut kinds = program.streams.iter().map(|stream| &stream.kind);
                kinds.any(|kind| match kind {
                    StreamKind::Mem { addr, hint: own } => addr.tensor == tensor && own == hint,
                    _ => false,
                })
            };
            let hints = [Hint::Temporal, Hint::TemporalL2, Hint::NonTemporal];
            let loads = hints.into_iter().filter(loaded).map(Way::Load);
            let others = [
                footprint.reads(tensor).then_some(Way::Read),
                footprint.writes(tensor).then_some(Way::Write),
                footprint.stores(tensor).then_some(Way::Store),
            ];
            loads.chain(others.into_iter().flatten()).collect()
        };
        Passing { passed, ways: program.ids().map(ways).collect() }
    }

    /// Passes over the rows before a part, or behind all parts, at a cycle.
    pub(super) fn before(
        &self,
        part: usize,
        tensors: &[Held],
        lines: Lines,
        memory: &mut Memory,
        at: u64,
    ) {
        (self.passed.accesses)(part, &mut |tensor, elements| {
            let held = &tensors[tensor.index()];
            let (first, end) = held.bytes(elements.start, elements.end - elements.start);
            for way in &self.ways[tensor.index()] {
                lines.covering(first, end).for_each(|line| memory.pass(line, *way, at));
            }
        });
    }
}
