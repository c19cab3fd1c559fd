//! The option `--set`, which sets parameters that rules leave open.

use clap::Args;
use ember_language::rules::Settings;
use thiserror::Error;

/// What parameters are set to.
#[derive(Clone, Debug, Args)]
pub(super) struct Set {
    /// Set a parameter that rules or schedules leave open; may be given again.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
}

impl Set {
    /// Returns the settings; the last one of each parameter counts.
    pub fn settings(&self) -> Settings {
        self.set.iter().cloned().collect()
    }
}

/// The error of a word that sets nothing.
#[derive(Clone, Copy, Debug, Error)]
#[error("write NAME=VALUE")]
struct NoSetting;

fn setting(word: &str) -> Result<(String, String), NoSetting> {
    let (name, value) = word.split_once('=').ok_or(NoSetting)?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
