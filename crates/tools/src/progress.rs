//! Progress of long work: one line on standard error if it is a terminal, or messages to a listener.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

/// A message about the state of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The message.
    pub message: String,
    /// How much is done of how much, if the work has known parts.
    pub part: Option<(usize, usize)>,
}

/// A function that hears of progress, from any thread.
type Listener = Box<dyn Fn(Said) + Send + Sync>;

/// The progress of one piece of work.
pub struct Line {
    to: To,
}

enum To {
    Terminal { bar: ProgressBar, started: Once },
    Listener { listener: Listener, prefix: Mutex<String> },
    Nobody,
}

impl Line {
    /// Creates a line that is drawn from its first message on, if standard error is a terminal.
    pub fn on_terminal() -> Line {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}{msg} ({elapsed})") {
            bar.set_style(style);
        }
        Line { to: To::Terminal { bar, started: Once::new() } }
    }

    /// Creates a line whose messages a function takes, while the work waits for it.
    pub fn heard_by(listener: impl Fn(Said) + Send + Sync + 'static) -> Line {
        Line { to: To::Listener { listener: Box::new(listener), prefix: Mutex::default() } }
    }

    /// Creates a line that nobody sees.
    pub fn hidden() -> Line {
        Line { to: To::Nobody }
    }

    /// Sets the prefix of all following messages.
    pub fn within(&self, what: impl Into<String>) {
        match &self.to {
            To::Terminal { bar, .. } => bar.set_prefix(what.into()),
            To::Listener { prefix, .. } => {
                *prefix.lock().unwrap_or_else(PoisonError::into_inner) = what.into();
            }
            To::Nobody => {}
        }
    }

    /// Runs a function that writes to standard error, with the line hidden meanwhile.
    pub fn aside(&self, write: impl FnOnce()) {
        match &self.to {
            To::Terminal { bar, .. } => bar.suspend(write),
            To::Listener { .. } | To::Nobody => write(),
        }
    }

    /// Sets the message.
    pub fn say(&self, what: impl Into<String>) {
        self.tell(what.into(), None);
    }

    /// Sets the message of work that has parts, which a word in the plural names.
    pub fn part(&self, done: usize, total: usize, parts: &str) {
        self.tell(format!("{done} of {total} {parts}"), Some((done, total)));
    }

    fn tell(&self, message: String, part: Option<(usize, usize)>) {
        match &self.to {
            To::Terminal { bar, started } => {
                started.call_once(|| bar.enable_steady_tick(Duration::from_millis(100)));
                bar.set_message(message);
            }
            To::Listener { listener, prefix } => {
                let prefix = prefix.lock().unwrap_or_else(PoisonError::into_inner).clone();
                listener(Said { message: prefix + &message, part });
            }
            To::Nobody => {}
        }
    }

    /// Removes the line.
    pub fn done(&self) {
        if let To::Terminal { bar, .. } = &self.to {
            bar.finish_and_clear();
        }
    }
}
