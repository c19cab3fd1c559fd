//! The project's own rule files.

use ember_rewrite::diagnostic::{Diagnostic, Sources};
use ember_rewrite::rules;
use std::path::PathBuf;

#[test]
fn the_rule_folder_loads_without_errors_and_warnings() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut sources = Sources::default();
    let loaded = rules::load(&mut sources, &[folder]);
    let show = |diagnostics: Vec<Diagnostic>| -> String {
        let line = |d: Diagnostic| {
            let place = d.at.map(|(span, label)| {
                let source = sources.get(span.file);
                let line = source.text[..span.range().start].matches('\n').count() + 1;
                format!("{}:{line}: {label}", source.path.display())
            });
            format!("{} ({})\n", d.message, place.unwrap_or_default())
        };
        diagnostics.into_iter().map(line).collect()
    };
    match loaded {
        Ok((book, warnings)) => {
            assert_eq!(show(warnings), "");
            assert!(book.rules.len() > 50);
        }
        Err(errors) => panic!("{}", show(errors)),
    }
}
