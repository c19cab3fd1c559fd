//! The queues between the units: data in chunks, control by token. They hold values and times; the scheduler handles
//! waiting and waking.

use crate::memory::Lines;
use ember_targets::dlc::Type;
use ember_targets::machine::Queue;
use std::collections::VecDeque;

/// The data queue: a ring of chunks. One chunk is filled; when full or flushed, it is closed and visible to the execute
/// unit; when drained, it is free again.
#[derive(Debug)]
pub(crate) struct DataQueue {
    chunks: Vec<Chunk>,
    chunk_bytes: u64,
    lines: Lines,
    writing: usize,
    reading: usize,
    /// The cycle in which the last operand was written.
    written_at: u64,
    /// The number of bytes in the queue.
    pub(crate) bytes: u64,
}

#[derive(Debug)]
struct Chunk {
    state: State,
    used: u64,
    operands: Vec<(Type, u64)>,
    values: Vec<u64>,
    next_operand: usize,
    next_value: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// May be filled from this cycle on.
    Free(u64),
    Open,
    /// May be read from this cycle on.
    Closed(u64),
}

/// The layout of operands of one type in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    pub(crate) ty: Type,
    pub(crate) bytes: u64,
    /// A power of two: the operand's size, or a line if the operand is larger.
    alignment: u64,
}

impl Format {
    pub(crate) fn new(ty: Type, line_bytes: u64) -> Format {
        let bytes = ty.bytes();
        Format { ty, bytes, alignment: bytes.next_power_of_two().min(line_bytes) }
    }

    /// Returns the first aligned offset for an operand after `used` bytes.
    #[inline(always)]
    fn offset(&self, used: u64) -> u64 {
        (used + self.alignment - 1) & !(self.alignment - 1)
    }
}

/// The room for an operand.
#[derive(Debug, PartialEq)]
pub(crate) enum Room {
    /// There is room, at the start of a chunk.
    Yes,
    /// There is room from this cycle on.
    Later(u64),
    /// There is room once the execute unit has drained a chunk.
    Full,
    /// There is never room: the operand is larger than a chunk.
    Never,
}

/// A visible operand.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) ty: Type,
    /// Its offset in its chunk.
    pub(crate) offset: u64,
    /// The position of its first value, for [`DataQueue::values`].
    first: usize,
    /// The cycle in which it became visible.
    pub(crate) visible: u64,
}

impl DataQueue {
    pub(crate) fn new(queue: &Queue, lines: Lines) -> DataQueue {
        let chunk = || Chunk {
            state: State::Free(0),
            used: 0,
            operands: Vec::new(),
            values: Vec::new(),
            next_operand: 0,
            next_value: 0,
        };
        DataQueue {
            chunks: (0..queue.chunks).map(|_| chunk()).collect(),
            chunk_bytes: queue.chunk_bytes,
            lines,
            writing: 0,
            reading: 0,
            written_at: 0,
            bytes: 0,
        }
    }

    fn following(&self, chunk: usize) -> usize {
        if chunk + 1 == self.chunks.len() { 0 } else { chunk + 1 }
    }

    /// Returns the offset of an operand in the open chunk, if there is one with room for it.
    #[inline(always)]
    pub(crate) fn fits(&self, operand: &Format) -> Option<u64> {
        let chunk = &self.chunks[self.writing];
        let offset = operand.offset(chunk.used);
        (chunk.state == State::Open && offset + operand.bytes <= self.chunk_bytes).then_some(offset)
    }

    /// Looks for room at a cycle if no open chunk has it. Closes the open chunk if the operand does not fit it; the
    /// second result is then true.
    pub(crate) fn room(&mut self, operand: &Format, at: u64) -> (Room, bool) {
        if operand.bytes > self.chunk_bytes {
            return (Room::Never, false);
        }
        let closed = self.chunks[self.writing].state == State::Open;
        if closed {
            self.close(at);
        }
        let room = match self.chunks[self.writing].state {
            State::Free(since) if since > at => Room::Later(since),
            State::Free(_) | State::Open => Room::Yes,
            State::Closed(_) => Room::Full,
        };
        (room, closed)
    }

    /// Returns the number of lines that an operand at an offset of the open chunk is the first to touch, and the bytes
    /// it takes including its alignment.
    #[inline(always)]
    pub(crate) fn takes(&self, operand: &Format, offset: u64) -> (u64, u64) {
        let (used, end) = (self.chunks[self.writing].used, offset + operand.bytes);
        (self.lines.after(end) - self.lines.after(used), end - used)
    }

    /// Writes an operand into its room by a cycle. Returns true if that closed the chunk.
    #[inline]
    pub(crate) fn push(&mut self, operand: &Format, values: &[u64], offset: u64, by: u64) -> bool {
        let chunk = &mut self.chunks[self.writing];
        chunk.state = State::Open;
        chunk.operands.push((operand.ty, offset));
        match values {
            [value] => chunk.values.push(*value),
            values => chunk.values.extend_from_slice(values),
        }
        self.bytes += offset + operand.bytes - chunk.used;
        chunk.used = offset + operand.bytes;
        self.written_at = by;
        let full = chunk.used == self.chunk_bytes;
        if full {
            self.close(by);
        }
        full
    }

    fn close(&mut self, at: u64) {
        self.chunks[self.writing].state = State::Closed(at);
        self.writing = self.following(self.writing);
    }

    /// Makes a partly filled chunk visible to a reader that has waited since a cycle. Returns true if there was one.
    pub(crate) fn flush(&mut self, at: u64) -> bool {
        let open = self.chunks[self.writing].state == State::Open;
        if open {
            self.close(at.max(self.written_at));
        }
        open
    }

    /// Returns the next operand if it is visible.
    #[inline]
    pub(crate) fn front(&self) -> Option<Operand> {
        let chunk = &self.chunks[self.reading];
        let State::Closed(visible) = chunk.state else { return None };
        let &(ty, offset) = chunk.operands.get(chunk.next_operand)?;
        Some(Operand { ty, offset, first: chunk.next_value, visible })
    }

    /// Returns the values of [`DataQueue::front`].
    #[inline]
    pub(crate) fn values(&self, operand: &Operand) -> &[u64] {
        let first = operand.first;
        &self.chunks[self.reading].values[first..first + operand.ty.lanes as usize]
    }

    /// Pops the front operand, read by a cycle. Returns true if that freed its chunk.
    #[inline]
    pub(crate) fn pop(&mut self, operand: &Operand, read: u64) -> bool {
        let chunk = &mut self.chunks[self.reading];
        chunk.next_operand += 1;
        chunk.next_value += operand.ty.lanes as usize;
        let drained = chunk.next_operand == chunk.operands.len();
        if drained {
            self.bytes -= chunk.used;
            chunk.state = State::Free(read);
            chunk.used = 0;
            chunk.operands.clear();
            chunk.values.clear();
            chunk.next_operand = 0;
            chunk.next_value = 0;
            self.reading = self.following(self.reading);
        }
        drained
    }

    /// Returns the number of operands that remain.
    pub(crate) fn left(&self) -> usize {
        self.chunks.iter().map(|c| c.operands.len() - c.next_operand).sum()
    }
}

/// The control queue.
#[derive(Debug)]
pub(crate) struct ControlQueue {
    tokens: VecDeque<(usize, u64)>,
    entries: usize,
}

impl ControlQueue {
    pub(crate) fn new(queue: &Queue) -> ControlQueue {
        ControlQueue { tokens: VecDeque::new(), entries: queue.control_entries as usize }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.tokens.len() >= self.entries
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Pushes a case's token, visible from a cycle on.
    pub(crate) fn push(&mut self, case: usize, visible: u64) {
        self.tokens.push_back((case, visible));
    }

    /// Pops the oldest token: its case and the cycle in which it became visible.
    pub(crate) fn pop(&mut self) -> Option<(usize, u64)> {
        self.tokens.pop_front()
    }
}
