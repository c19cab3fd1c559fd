//! Progress on a terminal: one line on standard error during the work; nothing if it is no terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A progress line.
pub struct Line {
    bar: ProgressBar,
}

impl Line {
    /// Creates a line that is drawn if standard error is a terminal.
    pub fn on_terminal() -> Line {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}{msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Line { bar }
    }

    /// Creates a line that is never drawn.
    pub fn hidden() -> Line {
        Line { bar: ProgressBar::hidden() }
    }

    /// Sets the prefix of all following messages.
    pub fn within(&self, what: impl Into<String>) {
        self.bar.set_prefix(what.into());
    }

    /// Runs a function that writes to standard error, with the line hidden meanwhile.
    pub fn aside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Sets the message.
    pub fn say(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// Removes the line.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}
