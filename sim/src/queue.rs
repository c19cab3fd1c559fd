//! The queues between the units: data in chunks, control by token. They hold values and times; the scheduler handles
//! waiting and waking.

use crate::memory::Lines;
use ember_targets::dlc::Type;
use ember_targets::machine::Queue;
use std::collections::VecDeque;

/// The data queue. Its chunks go around: a free chunk is filled; when full or flushed, it is closed and visible to the
/// execute unit; when drained, it is free again.
#[derive(Debug)]
pub(crate) struct DataQueue {
    /// The free chunks, in the order in which they were drained, each with the cycle from which on it may be filled.
    free: VecDeque<(u64, Chunk)>,
    /// The chunk that is filled: the open one.
    writing: Option<Chunk>,
    /// The closed chunks behind the one that is read, each with the cycle from which on it may be read.
    closed: VecDeque<(u64, Chunk)>,
    /// The oldest closed chunk, from which operands are popped.
    reading: Option<(u64, Chunk)>,
    chunk_bytes: u64,
    lines: Lines,
    /// The cycle in which the last operand was written.
    written_at: u64,
    /// The number of bytes in the queue.
    pub(crate) bytes: u64,
}

#[derive(Debug, Default)]
struct Chunk {
    used: u64,
    operands: Vec<(Type, u64)>,
    values: Vec<u64>,
    next_operand: usize,
    next_value: usize,
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
pub(crate) struct Operand<'a> {
    pub(crate) ty: Type,
    /// Its offset in its chunk.
    pub(crate) offset: u64,
    pub(crate) values: &'a [u64],
    /// The cycle in which it became visible.
    pub(crate) visible: u64,
}

impl DataQueue {
    pub(crate) fn new(queue: &Queue, lines: Lines) -> DataQueue {
        DataQueue {
            free: (0..queue.chunks).map(|_| (0, Chunk::default())).collect(),
            writing: None,
            closed: VecDeque::new(),
            reading: None,
            chunk_bytes: queue.chunk_bytes,
            lines,
            written_at: 0,
            bytes: 0,
        }
    }

    /// Returns the offset of an operand in the open chunk, if there is one with room for it.
    #[inline(always)]
    pub(crate) fn fits(&self, operand: &Format) -> Option<u64> {
        let offset = operand.offset(self.writing.as_ref()?.used);
        (offset + operand.bytes <= self.chunk_bytes).then_some(offset)
    }

    /// Looks for room at a cycle if no open chunk has it. Closes the open chunk if the operand does not fit it; the
    /// second result is then true.
    pub(crate) fn room(&mut self, operand: &Format, at: u64) -> (Room, bool) {
        if operand.bytes > self.chunk_bytes {
            return (Room::Never, false);
        }
        let closed = self.writing.is_some();
        self.close(at);
        let room = match self.free.front() {
            Some(&(since, _)) if since > at => Room::Later(since),
            Some(_) => Room::Yes,
            None => Room::Full,
        };
        (room, closed)
    }

    /// Returns the number of lines that an operand at an offset of the open chunk is the first to touch, and the bytes
    /// it takes including its alignment.
    #[inline(always)]
    pub(crate) fn takes(&self, operand: &Format, offset: u64) -> (u64, u64) {
        let used = self.writing.as_ref().map_or(0, |chunk| chunk.used);
        let end = offset + operand.bytes;
        (self.lines.after(end) - self.lines.after(used), end - used)
    }

    /// Writes an operand into its room by a cycle. Returns true if that closed the chunk.
    #[inline]
    pub(crate) fn push(&mut self, operand: &Format, values: &[u64], offset: u64, by: u64) -> bool {
        let free = &mut self.free;
        let open = || free.pop_front().map_or_else(Chunk::default, |(_, chunk)| chunk);
        let chunk = self.writing.get_or_insert_with(open);
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

    /// Closes the open chunk, if there is one.
    fn close(&mut self, at: u64) {
        let Some(chunk) = self.writing.take() else { return };
        match self.reading {
            None => self.reading = Some((at, chunk)),
            Some(_) => self.closed.push_back((at, chunk)),
        }
    }

    /// Makes a partly filled chunk visible to a reader that has waited since a cycle. Returns true if there was one.
    pub(crate) fn flush(&mut self, at: u64) -> bool {
        let open = self.writing.is_some();
        self.close(at.max(self.written_at));
        open
    }

    /// Returns true if no operand is visible.
    #[inline(always)]
    pub(crate) fn shows_nothing(&self) -> bool {
        self.reading.is_none()
    }

    /// Returns the next operand, which has so many computed lanes if it is of the expected type, if it is visible.
    #[inline]
    pub(crate) fn front(&self, lanes: usize) -> Option<Operand<'_>> {
        let (visible, chunk) = self.reading.as_ref()?;
        let &(ty, offset) = chunk.operands.get(chunk.next_operand)?;
        let first = chunk.next_value;
        let values = chunk.values.get(first..first + lanes).unwrap_or_default();
        Some(Operand { ty, offset, values, visible: *visible })
    }

    /// Pops the front operand, which has some computed lanes and has been read by a cycle. Returns true if that freed its
    /// chunk.
    #[inline]
    pub(crate) fn pop(&mut self, lanes: usize, read: u64) -> bool {
        let Some((_, chunk)) = &mut self.reading else { return false };
        chunk.next_operand += 1;
        chunk.next_value += lanes;
        let drained = chunk.next_operand == chunk.operands.len();
        if drained {
            self.drain(read);
        }
        drained
    }

    /// Frees the chunk that has been read, and begins the next.
    fn drain(&mut self, read: u64) {
        let Some((_, mut chunk)) = std::mem::replace(&mut self.reading, self.closed.pop_front())
        else {
            return;
        };
        self.bytes -= chunk.used;
        chunk.operands.clear();
        chunk.values.clear();
        self.free.push_back((read, Chunk { used: 0, next_operand: 0, next_value: 0, ..chunk }));
    }

    /// Returns the number of operands that remain.
    pub(crate) fn left(&self) -> usize {
        let closed = self.closed.iter().chain(&self.reading).map(|(_, chunk)| chunk);
        closed.chain(&self.writing).map(|chunk| chunk.operands.len() - chunk.next_operand).sum()
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
