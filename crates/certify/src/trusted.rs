//! The list of the trusted base: the modules, apart from the rules, that the answer *equal* depends on.
//!
//! `check-certificate --trusted` prints this table with the number of lines of each module, counted at build time. A
//! test follows the imports of the checker and of the readers, so that no module is missing.

use serde::Serialize;

/// A part of the trusted base.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Part {
    /// The task of the part.
    pub part: &'static str,
    /// The modules of the part.
    pub modules: &'static [Module],
}

/// A module of the trusted base.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Module {
    /// The path from the root of the project.
    pub path: &'static str,
    /// The number of lines, including comments, tests and empty lines.
    pub lines: usize,
}

/// Third-party packages that these modules call.
pub const PACKAGES: &[&str] = &["egg", "half", "rustc_hash", "serde", "stacker", "thiserror"];

macro_rules! modules {
    ($($path:literal)*) => {
        &[$({
            const TEXT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path));
            // Counted by itself, since the compiler bounds the evaluation of one constant.
            const LINES: usize = lines(TEXT);
            Module { path: $path, lines: LINES }
        }),*]
    };
}

/// Every part, the checker first.
pub const PARTS: &[Part] = &[
    Part {
        part: "the checker",
        modules: modules![
            "crates/certify/src/lib.rs"
            "crates/certify/src/conditions.rs"
            "crates/certify/src/names.rs"
            "crates/certify/src/places.rs"
            "crates/certify/src/ranges.rs"
            "crates/certify/src/refusal.rs"
            "crates/certify/src/scope.rs"
            "crates/certify/src/terms.rs"
            "crates/certify/src/typing.rs"
            "crates/certify/src/units.rs"
        ],
    },
    Part {
        part: "arithmetic on scalars and affine forms",
        modules: modules![
            "crates/values/src/affine.rs"
            "crates/values/src/distance.rs"
            "crates/values/src/scalar.rs"
            "crates/values/src/scalar/extreme.rs"
            "crates/values/src/scalar/binary.rs"
            "crates/values/src/scalar/near.rs"
            "crates/values/src/scalar/price.rs"
            "crates/values/src/scalar/unary.rs"
            "crates/values/src/primitive.rs"
            "crates/values/src/primitive/ask.rs"
            "crates/values/src/primitive/form.rs"
            "crates/values/src/primitive/made.rs"
            "crates/values/src/primitive/over.rs"
            "crates/values/src/primitive/table.rs"
        ],
    },
    Part {
        part: "the reader of S-expressions",
        modules: modules![
            "crates/language/src/sexp.rs"
            "crates/language/src/lex.rs"
            "crates/language/src/diagnostic.rs"
            "crates/language/src/codes.rs"
            "crates/language/src/load.rs"
            "crates/host/src/files.rs"
        ],
    },
    Part {
        part: "the reader of rule files",
        modules: modules![
            "crates/language/src/rules/stated.rs"
            "crates/language/src/rules/load.rs"
            "crates/language/src/rules/files.rs"
            "crates/language/src/rules/syntax.rs"
            "crates/language/src/rules/rule_form.rs"
            "crates/language/src/rules/dialect.rs"
            "crates/language/src/rules/signature.rs"
            "crates/language/src/rules/attributes.rs"
            "crates/language/src/rules/operators.rs"
            "crates/language/src/rules/resolve.rs"
            "crates/language/src/rules/derive.rs"
            "crates/language/src/rules/digest.rs"
            "crates/language/src/rules/build.rs"
            "crates/language/src/rules/define.rs"
            "crates/language/src/rules/tree.rs"
            "crates/language/src/rules/infer.rs"
            "crates/language/src/rules/commutes.rs"
            "crates/language/src/rules/book.rs"
            "crates/language/src/rules/parameters.rs"
            "crates/language/src/term.rs"
            "crates/language/src/rebuild.rs"
        ],
    },
    Part {
        part: "how a DLC program is read as a statement",
        modules: modules![
            "crates/prove/src/equiv/lift/mod.rs"
            "crates/prove/src/equiv/lift/values.rs"
            "crates/prove/src/equiv/lift/whole.rs"
            "crates/prove/src/equiv/lift/writes.rs"
            "targets/src/addresses.rs"
            "targets/src/contract.rs"
        ],
    },
    Part {
        part: "the verifier of DLC programs, on which that reading rests",
        modules: modules![
            "targets/src/dlc.rs"
            "targets/src/verify.rs"
            "targets/src/verify/limits.rs"
            "targets/src/verify/marshal.rs"
            "targets/src/verify/overlap.rs"
            "targets/src/verify/structure.rs"
            "targets/src/verify/summary.rs"
            "targets/src/verify/symbols.rs"
            "targets/src/verify/types.rs"
        ],
    },
    Part {
        part: "how a kernel in MLIR text is read as a statement",
        modules: modules![
            "crates/import/src/lex.rs"
            "crates/import/src/mlir.rs"
            "crates/import/src/mlir/affine.rs"
            "crates/import/src/mlir/read.rs"
            "crates/import/src/mlir/read/attributes.rs"
            "crates/import/src/mlir/read/generic.rs"
            "crates/import/src/mlir/read/names.rs"
            "crates/import/src/mlir/read/pretty.rs"
            "crates/import/src/mlir/read/tokens.rs"
            "crates/import/src/mlir/read/types.rs"
            "crates/import/src/mlir/rows.rs"
            "crates/import/src/mlir/source.rs"
            "crates/import/src/mlir/types.rs"
            "crates/import/src/mlir/lower.rs"
            "crates/import/src/mlir/lower/allocate.rs"
            "crates/import/src/mlir/lower/branches.rs"
            "crates/import/src/mlir/lower/carried.rs"
            "crates/import/src/mlir/lower/forms.rs"
            "crates/import/src/mlir/lower/interface.rs"
            "crates/import/src/mlir/lower/loops.rs"
            "crates/import/src/mlir/lower/memory.rs"
            "crates/import/src/mlir/lower/places.rs"
            "crates/import/src/mlir/lower/plain.rs"
            "crates/prove/src/equiv/kernel.rs"
        ],
    },
    Part {
        part: "how programs are read as parts between barriers",
        modules: modules!["crates/prove/src/equiv/parts.rs" "crates/language/src/erase.rs" "crates/analysis/src/effects.rs"],
    },
    Part {
        part: "how layouts and assumptions are read as equations",
        modules: modules![
            "crates/prove/src/equiv/layout.rs"
            "crates/prove/src/equiv/assume.rs"
            "crates/prove/src/equiv/equation.rs"
        ],
    },
];

/// Returns the number of lines of a text.
const fn lines(text: &str) -> usize {
    let (bytes, mut at, mut count) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        if bytes[at] == b'\n' {
            count += 1;
        }
        at += 1;
    }
    count
}

impl Part {
    /// Returns the number of lines of all modules of the part.
    pub fn lines(&self) -> usize {
        self.modules.iter().map(|module| module.lines).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// Modules that the readers import but that no answer of the checker depends on: they write the help texts of
    /// diagnostics, or build the rule book of the search from the same forms.
    const BESIDE: [&str; 8] =
        ["suggest", "check", "lints", "lowering", "schedule", "steps", "conditions", "words"];

    /// The number of parts whose imports are followed. The other parts import the compiler's e-graph and interpreter to
    /// prepare a question, which the checker then answers independently.
    const FOLLOWED: usize = 4;

    /// Collects the names of all modules below a folder.
    fn names(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                names(&path, found);
                found.insert(name);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.insert(name);
            }
        }
    }

    /// Returns the paths that a module imports, without those of its tests.
    fn imports(text: &str) -> impl Iterator<Item = &str> {
        let own = text.split("#[cfg(test)]").next().unwrap_or_default();
        let uses = |word| own.split(word).skip(1);
        uses("\nuse ").chain(uses("\npub use ")).filter_map(|rest| rest.split(';').next())
    }

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn whatever_the_checker_and_the_readers_import_is_named() {
        let root = root();
        let mut known = BTreeSet::new();
        for folder in ["crates", "targets/src"] {
            names(&root.join(folder), &mut known);
        }
        let modules = || PARTS.iter().flat_map(|part| part.modules);
        let named: BTreeSet<&str> = modules()
            .flat_map(|module| module.path.trim_end_matches(".rs").split('/'))
            .chain(BESIDE)
            .collect();
        let mut missing = BTreeSet::new();
        for module in PARTS[..FOLLOWED].iter().flat_map(|part| part.modules) {
            let text = std::fs::read_to_string(root.join(module.path)).expect("a text");
            for path in imports(&text) {
                let first = path.split(':').next().unwrap_or_default();
                let ours = ["crate", "self", "super", "std"].contains(&first)
                    || first.starts_with("ember_")
                    || named.contains(first);
                if !ours && !PACKAGES.contains(&first) {
                    missing.insert(format!("{}: package {first}", module.path));
                }
                let words = path.split(|c: char| !c.is_alphanumeric() && c != '_');
                let words = words.filter(|word| first != "std" && known.contains(*word));
                missing.extend(
                    words
                        .filter(|word| !named.contains(word) && *word != first)
                        .map(|word| format!("{}: {word}", module.path)),
                );
            }
        }
        assert!(missing.is_empty(), "imported and not named: {missing:#?}");
    }

    #[test]
    fn every_module_of_the_checker_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut own = BTreeSet::new();
        names(&root.join("src"), &mut own);
        own.remove("trusted");
        for name in own {
            let path = format!("crates/certify/src/{name}.rs");
            assert!(PARTS[0].modules.iter().any(|module| module.path == path), "{path}");
        }
    }
}
