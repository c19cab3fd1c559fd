//! Prints the rules of derivations as a rule file, which reads back like any other.

use super::book::RuleBook;
use super::load;
use super::rule_form::RuleForm;
use crate::diagnostic::{Checked, Sources};
use crate::fmt::format;
use crate::sexp::{Kind, Sexp};
use std::fmt::Write;
use std::path::PathBuf;

/// Returns the derived rules of rule files and folders, formatted: each set with its rules, under a comment that names
/// the `(derive …)` that they can replace.
pub fn derived(sources: &mut Sources, paths: &[PathBuf]) -> Checked<String> {
    let (mut book, mut errors) = (RuleBook::default(), Vec::new());
    let forms = load::forms(sources, paths, &mut errors);
    let (rules, _) = load::stated(&mut book, forms, &mut errors);
    let ((), _) = load::finish((), errors)?;
    let mut text = String::new();
    let mut last: Option<(usize, &str)> = None;
    let derived =
        rules.iter().filter_map(|(set, form)| Some((*set, form.derived.as_deref()?, form)));
    for (set, boundary, form) in derived {
        if last.is_none_or(|(known, _)| known != set) {
            let own = &book.sets[set];
            let doc = Sexp { span: own.span, kind: Kind::Text(own.doc.clone()) };
            let (name, phase, exact) = (own.name, own.phase, own.exact);
            let _ = writeln!(text, "\n(ruleset {name} {doc} :phase {phase} :exact {exact})");
        }
        if last != Some((set, boundary)) {
            let _ = writeln!(text, "\n; (derive {boundary})");
        }
        let _ = writeln!(text, "{}", RuleForm::form(form));
        last = Some((set, boundary));
    }
    let file = sources.add("<derived>", text);
    format(sources, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::FileId;
    use crate::rules::{self, Arg, RuleBook};
    use rustc_hash::FxHashMap;
    use std::fs;

    /// Returns the paths and texts of the project's rule files, including those of proofs.
    fn files() -> Vec<(PathBuf, String)> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../rules");
        let folders = [folder.clone(), folder.join("equiv")];
        let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|e| e == "rules"));
        paths.sort();
        let text = |path: &PathBuf| fs::read_to_string(path).expect("a text");
        paths.into_iter().map(|path| (path.clone(), text(&path))).collect()
    }

    fn sources(texts: &[(PathBuf, String)]) -> (Sources, Vec<FileId>) {
        let mut sources = Sources::default();
        let ids = texts.iter().map(|(path, text)| sources.add(path, text.as_str())).collect();
        (sources, ids)
    }

    fn book(texts: &[(PathBuf, String)]) -> RuleBook {
        let (mut sources, ids) = sources(texts);
        rules::load_text(&mut sources, &ids).expect("well-formed rules").0
    }

    /// Returns all rules as text, in order, without their places.
    fn told(book: &RuleBook) -> Vec<String> {
        let arg = |arg: &Arg| match arg {
            Arg::Var(v) => v.to_string(),
            Arg::Int(n) => n.to_string(),
        };
        let rules = book.rules.iter().map(|rule| {
            let guards = rule.guards.iter().map(|guard| {
                format!("{}({})", guard.what.name, guard.args.iter().map(arg).collect::<String>())
            });
            let guards: Vec<String> = guards.collect();
            let (set, sides) = (book.sets[rule.set].name, [&rule.lhs, &rule.rhs]);
            format!(
                "{set} {} {:?} {} {} {sides:?} {guards:?}",
                rule.name, rule.doc, rule.phase, rule.exact
            )
        });
        rules.collect()
    }

    /// Returns the printed rules of each derivation.
    fn blocks(text: &str) -> FxHashMap<String, String> {
        let mut blocks: FxHashMap<String, String> = FxHashMap::default();
        let mut open = None;
        for line in text.lines() {
            if line.starts_with("; (derive ") {
                open = Some(line.trim_start_matches("; ").to_owned());
            } else if line.starts_with("(ruleset ") {
                open = None;
            } else if let Some(open) = &open {
                blocks.entry(open.clone()).or_default().push_str(&format!("{line}\n"));
            }
        }
        blocks
    }

    #[test]
    fn derived_rules_may_stand_in_the_place_of_their_derivations() {
        let mut files = files();
        let before = told(&book(&files));
        let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
        let text = derived(&mut sources(&files).0, &paths).expect("rules");
        let blocks = blocks(&text);
        assert!(blocks.len() >= 8, "{text}");
        for (_, text) in &mut files {
            for (derive, rules) in &blocks {
                *text = text.replace(derive, rules);
            }
            assert!(!text.contains("\n(derive "), "{text}");
        }
        assert_eq!(told(&book(&files)), before);
    }

    #[test]
    fn derived_rules_are_a_rule_file() {
        let files = files();
        let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
        let text = derived(&mut sources(&files).0, &paths).expect("rules");
        let name =
            |path: &PathBuf| path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_owned();
        let mut texts = files;
        texts.retain(|(path, _)| name(path).starts_with("dialect-"));
        texts.push((PathBuf::from("derived.rules"), text.clone()));
        let read = book(&texts);
        assert!(read.rules.len() >= 100, "{} rules", read.rules.len());
        let mut sources = Sources::default();
        let file = sources.add("derived.rules", text.as_str());
        assert_eq!(format(&sources, file).expect("it is balanced"), text);
    }
}
