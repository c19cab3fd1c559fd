//! The common parts of the commands that ask about a search: its options, and terms without a model.

use super::common::{Exact, Sample};
use super::rule_paths::RulePaths;
use super::settings::Set;
use clap::Args;
use ember_compile::pipeline::{Arrays, Options};
use ember_engine::CompiledRule;
use ember_engine::saturate::Limits;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::load::load;
use ember_language::rules::{self, RuleBook};
use ember_language::sexp;
use ember_language::term::Term;
use ember_language::text::{Words, written_out};
use ember_model::data::TensorFile;
use ember_tools::history::Plain;
use std::path::{Path, PathBuf};

/// Options of the commands that ask about a search.
#[derive(Debug, Args)]
pub(super) struct Asked {
    #[command(flatten)]
    pub rules: RulePaths,
    /// The machine: a name, or the file of a description.
    #[arg(long, value_name = "NAME|FILE", default_value = ember_targets::machine::DEFAULT)]
    pub target: String,
    /// The schedule [default: search; for terms, every rule at once].
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<String>,
    /// The least exact rules that may run.
    #[arg(long, value_enum, default_value_t = Exact::Bitwise)]
    pub exact: Exact,
    /// The seed of the data that candidates are ranked on [default: the model's].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Take the inputs from the arrays of a file, which have the inputs' names or are called input.0, input.1 and so
    /// on, in order: FILE ends in .safetensors or .npz.
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<TensorFile>,
    /// The most e-nodes of a saturation.
    #[arg(long, value_name = "N", default_value_t = Options::default().node_limit)]
    pub node_limit: usize,
    /// The most iterations of a saturation.
    #[arg(long, value_name = "N", default_value_t = Options::default().iter_limit)]
    pub iter_limit: usize,
    /// How many of the best candidates the simulator ranks [default: what the schedule says, or 12].
    #[arg(long, value_name = "N")]
    pub candidates: Option<usize>,
    #[command(flatten)]
    pub sample: Sample,
    #[command(flatten)]
    pub set: Set,
    /// Let the cost model choose, and run no candidate.
    #[arg(long)]
    pub no_rank: bool,
    /// Only this statement of the model, counted from 0.
    #[arg(long, value_name = "N")]
    pub statement: Option<usize>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Asked {
    pub fn options(&self) -> Options {
        let default = Options::default();
        Options {
            inputs: self.inputs.clone().map(Arrays::File),
            rules: self.rules.rules.clone(),
            target: self.target.clone(),
            schedule: self.schedule.clone().unwrap_or(default.schedule),
            exact: self.exact.into(),
            seed: self.seed,
            tune_seed: None,
            sample: self.sample.error(),
            node_limit: self.node_limit,
            iter_limit: self.iter_limit,
            candidates: self.candidates.map(|candidates| candidates.max(1)),
            settings: self.set.settings(),
            cycle_limit: default.cycle_limit,
            rank: !self.no_rank,
            threads: default.threads,
            bounded: default.bounded,
            pool: default.pool,
        }
    }

    /// Reads only the rules. Their warnings are reported by the `check` command, not here.
    pub fn book(&self, sources: &mut Sources) -> Checked<(RuleBook, Vec<CompiledRule>)> {
        let (book, _) = rules::load(sources, &self.rules.rules)?;
        let compiled = ember_engine::compile(&book);
        Ok((book, compiled))
    }

    /// Returns the setup of a search on terms that belong to no model.
    pub fn plain<'a>(
        &self,
        book: &'a RuleBook,
        compiled: &'a [CompiledRule],
    ) -> Checked<Plain<'a>> {
        let schedule = match &self.schedule {
            Some(name) => Some(book.require_schedule(name)?),
            None => None,
        };
        let limits = Limits { iterations: self.iter_limit, nodes: self.node_limit };
        Ok(Plain { book, compiled, schedule, exact: self.exact.into(), limits })
    }
}

/// Reads a term from a file, or from the word itself if it starts with a parenthesis.
pub(super) fn term(sources: &mut Sources, book: &RuleBook, word: &str) -> Checked<Term> {
    let file = match word.starts_with('(') {
        true => sources.add("<term>", word),
        false => load(sources, Path::new(word))?,
    };
    match sexp::read(sources, file)?.as_slice() {
        [term] => {
            let full = written_out(term, &Words::new(&book.signature), &[])?;
            book.signature.read_term(&full).map(|(term, _)| term)
        }
        others => {
            let path = sources.get(file).path.display();
            let error = Diagnostic::global(format!("`{path}` has {} terms in it", others.len()));
            Err(vec![error.with_help("give a file with one term")])
        }
    }
}
