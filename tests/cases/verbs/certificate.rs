//! Checks certificates, valid and forged, against the rules in the same folder.

use ember_certify::{Rules, check};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::load::load;
use ember_language::sexp;
use ember_tools::render::render;
use std::fmt::Write;
use std::path::Path;

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
