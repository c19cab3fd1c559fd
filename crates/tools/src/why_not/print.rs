//! Prints answers as text and as JSON.

use super::Answer;
use serde_json::{Value, json};

/// The column in which evidence starts.
const COLUMN: usize = 12;

/// Returns the answer as text: the verdict on the first line, then the evidence, then the suggestion.
pub fn print(answer: &Answer) -> String {
    let mut out = format!("{}\n", answer.verdict);
    let rows = answer.evidence.iter().map(|(what, text)| (*what, text.as_str()));
    for (what, text) in rows.chain(answer.help.as_deref().map(|help| ("help", help))) {
        let mut what = what;
        for line in text.lines() {
            out += &format!("  {what:<COLUMN$}{line}\n");
            what = "";
        }
    }
    out
}

/// Returns the answer as JSON.
pub fn to_json(answer: &Answer) -> Value {
    let evidence = answer.evidence.iter().map(|(what, text)| json!({ "what": what, "text": text }));
    json!({
        "rule": answer.rule,
        "cause": answer.cause.name(),
        "verdict": answer.verdict,
        "evidence": evidence.collect::<Vec<_>>(),
        "help": answer.help,
    })
}
