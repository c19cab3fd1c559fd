//! Tests the cases by verb: every file in `tests/cases/VERB/` is passed to the verb's function, and the result is
//! compared with the file of the same name that ends in `.expected`.
//!
//! `cargo test --test cases -- --bless` (or `BLESS=1`) writes the expectations instead. A case's data files are in the
//! same folder. An expectation without its case is a failure, so none is forgotten. The verbs' functions are in
//! `tests/cases/verbs/`.

#[path = "cases/verbs/certificate.rs"]
mod certificate;
#[path = "cases/verbs/command.rs"]
mod command;
#[path = "cases/verbs/rewrite.rs"]
mod rewrite;

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of cases.
struct Verb {
    /// The folder's name.
    name: &'static str,
    /// The extensions of cases; other files are data.
    extensions: &'static [&'static str],
    /// Runs a case: returns the text to compare, or the reason why there is none.
    run: fn(&Path) -> Result<String, String>,
}

const VERBS: [Verb; 19] = [
    Verb {
        name: "fail",
        extensions: &["sexp", "rules", "dlc", "scf", "slc", "mlir", "toml", "edit", "args"],
        run: command::fail,
    },
    Verb { name: "fmt", extensions: &["rules", "sexp", "case", "dlc"], run: command::format },
    Verb { name: "gen", extensions: &["args"], run: command::print },
    Verb { name: "lower", extensions: &["args"], run: command::print },
    Verb { name: "extract", extensions: &["args", "json"], run: command::extract },
    Verb { name: "run", extensions: &["args"], run: command::compare },
    Verb { name: "saturate", extensions: &["args"], run: command::saturate },
    Verb { name: "certificate", extensions: &["certs"], run: certificate::answers },
    Verb { name: "equiv", extensions: &["pair"], run: command::equiv },
    Verb { name: "explain", extensions: &["args"], run: command::answer },
    Verb { name: "why-not", extensions: &["args"], run: command::answer },
    Verb { name: "verify", extensions: &["args"], run: command::answer },
    Verb { name: "import", extensions: &["args", "run"], run: command::import },
    Verb { name: "mlir", extensions: &["args"], run: command::answer },
    Verb { name: "sweep", extensions: &["toml"], run: command::sweep },
    Verb { name: "calibrate", extensions: &["toml"], run: command::calibrate },
    Verb { name: "cores", extensions: &["args"], run: command::answer },
    Verb { name: "tune", extensions: &["json", "args"], run: command::tune },
    Verb { name: "rewrite", extensions: &["rewrite"], run: rewrite::forms },
];

/// The folder of the verbs' code, among the folders of cases.
const CODE: &str = "verbs";

fn extension(path: &Path) -> &str {
    path.extension().and_then(|e| e.to_str()).unwrap_or("")
}

fn main() {
    // Paths in messages are relative to the package's folder.
    std::env::set_current_dir(env!("CARGO_MANIFEST_DIR")).expect("the package's folder");
    let (bless, rest): (Vec<_>, Vec<_>) = std::env::args().partition(|arg| arg == "--bless");
    let bless = !bless.is_empty() || std::env::var_os("BLESS").is_some_and(|v| v != "0");
    let root = Path::new("tests/cases");
    let mut trials: Vec<Trial> = VERBS.iter().flat_map(|v| trials(v, root, bless)).collect();
    for folder in entries(root) {
        let name = file_name(&folder);
        if name != CODE && VERBS.iter().all(|verb| name != verb.name) {
            trials.push(broken(&folder, "no verb of this name"));
        }
    }
    libtest_mimic::run(&Arguments::from_iter(rest), trials).exit();
}

/// Returns one trial per case, and one for each expectation that belongs to no case or to several.
fn trials(verb: &Verb, root: &Path, bless: bool) -> Vec<Trial> {
    let files = entries(&root.join(verb.name));
    let (expected, files): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) =
        files.into_iter().partition(|path| extension(path) == "expected");
    let cases = files.iter().filter(|path| verb.extensions.contains(&extension(path)));
    let mut by_expectation: BTreeMap<PathBuf, Vec<&PathBuf>> = BTreeMap::new();
    for case in cases {
        by_expectation.entry(case.with_extension("expected")).or_default().push(case);
    }
    let orphans = expected.iter().filter(|path| !by_expectation.contains_key(*path));
    let mut trials: Vec<Trial> = orphans.map(|path| broken(path, "no case of this name")).collect();
    for (expectation, cases) in by_expectation {
        let [case] = cases[..] else {
            trials.push(broken(&expectation, "several cases of this name"));
            continue;
        };
        let (case, run) = (case.clone(), verb.run);
        let name = format!("{}/{}", verb.name, file_name(&case));
        trials.push(Trial::test(name, move || {
            let got = run(&case).map_err(Failed::from)?;
            compare(&expectation, &got, bless)
        }));
    }
    trials
}

/// Compares a result with its expectation, or writes the expectation.
fn compare(expectation: &Path, got: &str, bless: bool) -> Result<(), Failed> {
    if bless {
        return fs::write(expectation, got).map_err(Failed::from);
    }
    match fs::read_to_string(expectation) {
        Ok(expected) if expected == got => Ok(()),
        Ok(expected) => Err(format!("expected:\n{expected}\ngot:\n{got}").into()),
        Err(error) => Err(format!("{}: {error}; got:\n{got}", expectation.display()).into()),
    }
}

/// Returns a trial that fails.
fn broken(path: &Path, reason: &'static str) -> Trial {
    Trial::test(path.display().to_string(), move || Err(reason.into()))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
