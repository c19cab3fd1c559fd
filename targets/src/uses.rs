//! The uses of a program's streams: in actions, addresses, bounds and other streams.

use crate::dlc::{Action, Addr, Program, StreamId, StreamKind, TensorId};
use std::collections::BTreeSet;

/// Returns the streams that a stream is computed from.
pub(crate) fn stream_inputs(kind: &StreamKind) -> Vec<StreamId> {
    match kind {
        StreamKind::Const(_) | StreamKind::Size(_) | StreamKind::IndVar(_) => Vec::new(),
        StreamKind::Mem { addr, .. } => address_streams(addr),
        StreamKind::Broadcast(from) | StreamKind::IndexCast(from) => vec![*from],
        StreamKind::Alu { a, b, .. } => vec![*a, *b],
    }
}

/// Returns the streams of an address.
pub(crate) fn address_streams(addr: &Addr<StreamId>) -> Vec<StreamId> {
    addr.expressions().copied().collect()
}

/// Returns the streams whose elements an action uses.
pub(crate) fn action_streams(action: &Action) -> Vec<StreamId> {
    match action {
        Action::Operand(stream) | Action::Prefetch(stream) => vec![*stream],
        Action::Store { addr, value } => {
            let mut streams = address_streams(addr);
            streams.push(*value);
            streams
        }
        Action::Callback(_) | Action::Traverse(_) | Action::Barrier => Vec::new(),
    }
}

impl Program {
    /// Returns the streams that the access unit's actions use, with those that they are computed from.
    pub(crate) fn used_streams(&self) -> BTreeSet<StreamId> {
        let mut used = BTreeSet::new();
        let mut actions: Vec<&Action> = self.access.iter().collect();
        let mut open = Vec::new();
        while let Some(action) = actions.pop() {
            open.extend(action_streams(action));
            if let Action::Traverse(unit) = action
                && let Some(unit) = self.units.get(unit.index())
            {
                open.extend([unit.lo, unit.hi]);
                actions.extend([&unit.beg, &unit.ite, &unit.end].into_iter().flatten());
            }
        }
        while let Some(stream) = open.pop() {
            if used.insert(stream) {
                open.extend(stream_inputs(&self.streams[stream.index()].kind));
            }
        }
        used
    }

    /// Returns the streams that load and depend on no unit, each with its tensor: they may be loaded before everything
    /// else.
    pub fn loaded_first(&self) -> Vec<(StreamId, TensorId)> {
        let mut moves: Vec<bool> = Vec::new();
        for stream in &self.streams {
            let inputs = stream_inputs(&stream.kind);
            let of_unit = inputs.iter().any(|s| moves.get(s.index()).is_none_or(|moves| *moves));
            moves.push(of_unit || matches!(stream.kind, StreamKind::IndVar(_)));
        }
        let streams = (0u32..).map(StreamId).zip(&self.streams).zip(moves);
        streams
            .filter_map(|((id, stream), moves)| match &stream.kind {
                StreamKind::Mem { addr, .. } if !moves => Some((id, addr.tensor)),
                _ => None,
            })
            .collect()
    }

    /// Returns true for each stream that only prefetches use: its elements are not kept, so it occupies no storage.
    pub fn only_prefetched(&self) -> Vec<bool> {
        let events = self.units.iter().flat_map(|u| [&u.beg, &u.ite, &u.end]);
        let (mut prefetched, mut kept) = (BTreeSet::new(), BTreeSet::new());
        for action in events.flatten().chain(&self.access) {
            let takes =
                if matches!(action, Action::Prefetch(_)) { &mut prefetched } else { &mut kept };
            takes.extend(action_streams(action));
        }
        kept.extend(self.units.iter().flat_map(|unit| [unit.lo, unit.hi]));
        kept.extend(self.streams.iter().flat_map(|stream| stream_inputs(&stream.kind)));
        let streams = (0..self.streams.len() as u32).map(StreamId);
        streams.map(|s| prefetched.contains(&s) && !kept.contains(&s)).collect()
    }
}
