//! Abilities of the target: each use of one that the target lacks is an error at the stream.

use super::structure::events;
use super::{Errors, Kind, Limits, Part, Place};
use crate::dlc::{Action, Hint, Program, StreamId, StreamKind};
use ember_values::capability::Capability;
use std::collections::BTreeSet;

/// Checks what the program uses against what the target can do.
pub fn check(program: &Program, limits: &Limits, errors: &mut Errors) {
    for (stream, capability) in uses(program, limits.vector_bytes) {
        if !limits.capabilities.has(capability) {
            let place = Place::new(Part::Stream, &program.streams[stream.index()].name);
            let message = format!("needs {}, which the target lacks", capability.doc());
            errors.push(Kind::Ability, &place, message);
        }
    }
}

/// Returns what the program uses, with the stream that each use concerns.
pub(super) fn uses(program: &Program, vector_bytes: u64) -> BTreeSet<(StreamId, Capability)> {
    let prefetched = program.only_prefetched();
    let mut uses = BTreeSet::new();
    for (at, (stream, prefetched)) in program.streams.iter().zip(prefetched).enumerate() {
        let id = StreamId(at as u32);
        // What is only prefetched takes no room in the access unit, however wide it is, and always goes to the core.
        if prefetched {
            continue;
        }
        if stream.ty.lanes > 1 && stream.ty.bytes() > vector_bytes {
            uses.insert((id, Capability::WideRows));
        }
        if let StreamKind::Mem { hint: Hint::NonTemporal | Hint::TemporalL2, .. } = stream.kind {
            uses.insert((id, Capability::Hints));
        }
    }
    for action in program.units.iter().flat_map(events).flatten().chain(&program.access) {
        match action {
            Action::Prefetch(stream) => uses.insert((*stream, Capability::Prefetch)),
            Action::Store { value, .. } => uses.insert((*value, Capability::StoreStreams)),
            _ => false,
        };
    }
    uses
}
