//! The wire format of messages: JSON after a header with its length. The meaning of messages is not known here.

use serde_json::Value;
use std::io::{self, BufRead, Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};

/// The largest message accepted, in bytes. The protocol has no limit, but memory has.
const LIMIT: usize = 256 << 20;

/// The longest header line accepted, in bytes.
const HEADER_LIMIT: u64 = 8 << 10;

/// The result of reading a message.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A message.
    Message(Value),
    /// A body of the right length that is not JSON; the next message can be read.
    NoJson(String),
    /// The end of the input.
    End,
}

/// The most messages that are read before they are handled.
const AHEAD: usize = 256;

/// Reads messages on a thread of its own, until the input ends or breaks.
pub(super) fn read_ahead(
    mut input: impl BufRead + Send + 'static,
) -> Receiver<io::Result<Incoming>> {
    let (send, receive) = sync_channel(AHEAD);
    std::thread::spawn(move || {
        loop {
            let message = read(&mut input);
            let ended = !matches!(message, Ok(Incoming::Message(_) | Incoming::NoJson(_)));
            if send.send(message).is_err() || ended {
                return;
            }
        }
    });
    receive
}

/// Reads the next message.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Incoming> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(HEADER_LIMIT).read_until(b'\n', &mut line)? == 0 {
            return Ok(Incoming::End);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let Some(length) = length.filter(|length| *length <= LIMIT) else {
        // The start of the next message is unknown.
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a header without a usable length"));
    };
    let mut body = Vec::new();
    if input.by_ref().take(length as u64).read_to_end(&mut body)? < length {
        return Ok(Incoming::End);
    }
    Ok(match serde_json::from_slice(&body) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::NoJson(error.to_string()),
    })
}

/// Writes a message.
pub(super) fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}
