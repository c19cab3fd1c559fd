//! Checks certificates: valid and forged ones against the rules in the same folder, and those that the command writes
//! against the rules that it was given.

use ember_certify::{Rules, check};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::load::load;
use ember_language::sexp;
use ember_prove::equiv;
use ember_tools::render::render;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Returns the checker's answer on each certificate of a file, under the comment that precedes it.
pub fn answers(path: &Path) -> Result<String, String> {
    let mut sources = Sources::new(Disk);
    let read = Rules::read(&mut sources, &[path.with_file_name("asked.rules")]).and_then(|rules| {
        let file = load(&mut sources, path)?;
        Ok((rules, sexp::read(&sources, file)?, sources.get(file).text.clone()))
    });
    let (rules, forms, text) = read.map_err(|errors| render(&sources, &errors, false))?;
    let mut said = String::new();
    for form in &forms {
        let title = text[..form.span.range().start].lines().last().unwrap_or_default();
        let answer = match check(&rules, form) {
            Ok(exact) => format!("holds: {exact}"),
            Err(why) => format!("does not hold: {why}"),
        };
        let _ = writeln!(said, "{title}\n{answer}");
    }
    Ok(said)
}

/// Returns an error if a certificate that the command has written does not hold with the rules that were given to it.
pub fn holds(certificate: &Path, given: Vec<&str>) -> Result<(), String> {
    static READ: Mutex<BTreeMap<Vec<PathBuf>, Arc<Rules>>> = Mutex::new(BTreeMap::new());
    let own = |path: &str| PathBuf::from(if path == "default" { "rules" } else { path });
    let given = if given.is_empty() { vec!["default"] } else { given };
    let paths: Vec<PathBuf> = given.into_iter().map(own).collect();
    let mut sources = Sources::new(Disk);
    let mut read = READ.lock().map_err(|e| e.to_string())?;
    let rules = match read.get(&paths) {
        Some(known) => known.clone(),
        None => {
            let new = Rules::read(&mut sources, &equiv::rule_paths(&Disk, &paths));
            let new = Arc::new(new.map_err(|errors| render(&sources, &errors, false))?);
            read.entry(paths).or_insert(new).clone()
        }
    };
    drop(read);
    let forms = load(&mut sources, certificate).and_then(|file| sexp::read(&sources, file));
    match forms.map_err(|errors| render(&sources, &errors, false))?.as_slice() {
        [form] => check(&rules, form).map(drop).map_err(|why| why.to_string()),
        forms => Err(format!("{} forms, not one", forms.len())),
    }
}
