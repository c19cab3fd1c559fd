//! The option `--rules`, which every command takes alike.

use crate::shipped;
use clap::Args;
use ember_language::diagnostic::{FileId, Sources};
use ember_language::rules;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The rules that a command works with.
#[derive(Clone, Debug, Args)]
pub(crate) struct RulePaths {
    /// A folder of rule files, one rule file, or `default` for the rules that come with the program; may be given
    /// again.
    #[arg(long, value_name = "PATH", default_value = shipped::DEFAULT, value_parser = shipped::path())]
    pub rules: Vec<PathBuf>,
}

/// The rules that a command reports on, and rules that it only needs for them.
#[derive(Clone, Debug, Args)]
pub(super) struct Subject {
    /// Folders of rule files, rule files, or `default` for the rules that come with the program
    /// [default: what `--rules` gives, else default].
    #[arg(value_name = "PATH", value_parser = shipped::path())]
    paths: Vec<PathBuf>,
    /// Further rules, on which nothing is reported: a folder, a file or `default`; may be given again.
    #[arg(long, value_name = "PATH", value_parser = shipped::path())]
    rules: Vec<PathBuf>,
}

impl Subject {
    /// Returns every path, those of further rules first.
    pub fn all(&self) -> Vec<PathBuf> {
        let given: Vec<PathBuf> = self.rules.iter().chain(&self.paths).cloned().collect();
        if given.is_empty() { vec![shipped::rules()] } else { given }
    }

    /// Returns a test for the files that are reported on: those that the further rules do not consist of.
    pub fn is_own(&self, sources: &mut Sources) -> impl Fn(&Sources, FileId) -> bool + use<> {
        // Rules that are given alone are not there for others.
        let further: BTreeSet<PathBuf> = match self.paths.is_empty() {
            true => BTreeSet::new(),
            false => {
                let files = rules::check(sources, &self.rules).files;
                files.iter().map(|file| key(sources, *file)).collect()
            }
        };
        move |sources, file| !further.contains(&key(sources, file))
    }
}

fn key(sources: &Sources, file: FileId) -> PathBuf {
    sources.files().key(&sources.get(file).path)
}
