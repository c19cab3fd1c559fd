//! Models compiled for this machine by the schedule `native`.

use ember_compile::cost::Goal;
use ember_compile::native;
use ember_compile::pipeline::{Case, Options, compile, read};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::Exactness;
use ember_sim::Bindings;
use ember_targets::c::Source;
use ember_targets::verify::Verified;
use regex_lite::{Captures, Regex};
use std::path::{Path, PathBuf};

/// A model's program with its data.
pub struct Compiled {
    pub program: Verified,
    pub source: Source,
    pub case: Case,
    pub data: Bindings,
}

impl Compiled {
    /// Compiles an example, whose text `change` may change first.
    pub fn of(example: &str, threads: u32, change: impl Fn(String) -> String) -> Compiled {
        Compiled::on("cpu", example, threads, change)
    }

    /// Compiles an example for a target.
    pub fn on(
        target: &str,
        example: &str,
        threads: u32,
        change: impl Fn(String) -> String,
    ) -> Compiled {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let options = Options {
            rules: vec![root.join("rules")],
            target: target.to_owned(),
            schedule: "native".to_owned(),
            threads,
            ..Options::default()
        };
        let mut sources = Sources::new(Disk);
        let path = root.join("examples").join(example);
        let text = std::fs::read_to_string(&path).expect("an example");
        sources.add(&path, change(text));
        let inputs = read(&mut sources, &path, &options).expect("a model");
        let chosen = compile(&inputs, &options, Goal::Coupled).expect("a program");
        let source = native::source(&inputs, &chosen.program, &options).expect("C");
        let case = Case::new(&inputs.model, None, Exactness::Bitwise).expect("data");
        let data = case.bindings(&chosen.program).expect("fits");
        Compiled { program: chosen.program, source, case, data }
    }
}

/// Returns a model's text with sizes of at most `most`.
pub fn smaller(text: &str, most: u64) -> String {
    let sizes = Regex::new(r"\((size [^ ()]+|nodes|edges|uniform 0) (\d+)\)").expect("a pattern");
    let at_most = |found: &Captures<'_>| {
        let size = found[2].parse::<u64>().map_or(most, |size| size.min(most));
        format!("({} {size})", &found[1])
    };
    sizes.replace_all(text, at_most).into_owned()
}

/// Returns the models among the examples.
pub fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let paths =
        std::fs::read_dir(folder).expect("examples").map(|file| file.expect("a file").path());
    let mut models: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "sexp")).collect();
    models.sort();
    assert!(models.len() >= 13);
    models
}

/// Returns an empty folder for a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
