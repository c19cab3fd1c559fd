//! Progress on a terminal: one line on standard error while the work goes on, nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A progress line.
pub struct Line {
    bar: ProgressBar,
}

impl Line {
    /// A line that is drawn where standard error is a terminal.
    pub fn on_terminal() -> Line {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}{msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Line { bar }
    }

    /// A line that is never drawn.
    pub fn hidden() -> Line {
        Line { bar: ProgressBar::hidden() }
    }

    /// Says what all that follows is a part of; it stands before what is being done.
    pub fn within(&self, what: impl Into<String>) {
        self.bar.set_prefix(what.into());
    }

    /// Lets something else write to standard error, without the line in between.
    pub fn aside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Says what is being done.
    pub fn say(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// Takes the line away.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}
