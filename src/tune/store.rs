//! The file of a tuning's results: a line of JSON that says what is tuned, and one for each evaluation, written when it
//! is done.

use crate::journal::{self, Journal, error_of};
use ember_language::diagnostic::{Checked, Sources};
use ember_tune::{Evaluation, Method, Point, Space};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use siphasher::sip128::{Hash128, Hasher128, SipHasher13};
use std::hash::Hash;
use std::path::Path;

/// The version of the lines. It grows by one when a member is removed or renamed, or changes its meaning.
const VERSION: u32 = 1;

/// What is tuned, and how: results of another tuning are not continued.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The version of the lines.
    #[serde(rename = "tuning")]
    version: u32,
    /// A digest of the space.
    space: String,
    /// What evaluates a point.
    command: String,
    /// The method by its name.
    method: String,
    seed: u64,
}

impl Identity {
    /// Creates the identity of a tuning.
    pub fn new(space: &str, command: &str, method: Method, seed: u64) -> Identity {
        let space = hex(SipHasher13::new().hash(space.as_bytes()));
        let method = format!("{method:?}").to_lowercase();
        Identity { version: VERSION, space, command: command.to_owned(), method, seed }
    }
}

/// Returns a digest of texts that were read.
pub fn digest(sources: &Sources) -> String {
    let mut hasher = SipHasher13::new();
    for source in sources.texts() {
        (&source.path, &source.text).hash(&mut hasher);
    }
    hex(hasher.finish128())
}

fn hex(digest: Hash128) -> String {
    format!("{:016x}{:016x}", digest.h1, digest.h2)
}

impl journal::Identity for Identity {
    const WHAT: &'static str = "a tuning's";

    fn other(&self, other: &Identity) -> Option<&'static str> {
        let parts = [
            (self.version == other.version, "another version"),
            (self.space == other.space, "another space"),
            (self.command == other.command, "another command"),
            (self.method == other.method, "another method"),
            (self.seed == other.seed, "another seed"),
        ];
        parts.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
    }
}

/// A line of an evaluation.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Line {
    point: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The evaluations that are stored so far, and the file that holds them.
#[derive(Debug)]
pub struct Store {
    journal: Journal,
    /// The points with their results.
    pub history: Vec<Evaluation>,
    /// The reasons of points without a result, by evaluation.
    pub reasons: Vec<Option<String>>,
}

impl Store {
    /// Opens a file, which may hold evaluations of the same tuning; others do not count if it is restarted.
    ///
    /// # Errors
    ///
    /// Fails if the file holds something else, or cannot be written.
    pub fn open(path: &Path, identity: &Identity, space: &Space, restart: bool) -> Checked<Store> {
        let (journal, lines) = Journal::open(path, identity, restart)?;
        let mut store = Store { journal, history: vec![], reasons: vec![] };
        for (number, line) in lines.iter().enumerate() {
            let read = serde_json::from_str::<Line>(line).ok();
            let known =
                read.and_then(|line| Some((space.point(&line.point)?, line.value, line.reason)));
            let Some((point, value, reason)) = known else {
                let message = format!("line {} is no evaluation of this space", number + 2);
                return Err(vec![error_of(path, message)]);
            };
            store.history.push(Evaluation { point, value });
            store.reasons.push(reason);
        }
        Ok(store)
    }

    /// Stores the outcome of an evaluation.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn put(
        &mut self,
        space: &Space,
        point: Point,
        outcome: Result<f64, String>,
    ) -> Checked<()> {
        let (value, reason) = match outcome {
            Ok(value) => (Some(value), None),
            Err(reason) => (None, Some(reason)),
        };
        let line = Line { point: space.write(&point), value, reason: reason.clone() };
        self.journal.append(&line)?;
        self.history.push(Evaluation { point, value });
        self.reasons.push(reason);
        Ok(())
    }
}
