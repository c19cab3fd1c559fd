//! Counts how often Rust outside tests names an operator of the dialects: as a string, in a longer string, or as a
//! variant of the enums of primitives. The dialects and the tables of `crates/values` define the operators; other code
//! should ask those.
//!
//! `cargo test --test operator_names -- --nocapture` prints the places.

use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules;
use ember_values::primitive;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files in which names belong: the tables, the decoupler, the text of its programs, and the words of models that
/// are imported.
const HOMES: &[&str] = &[
    "crates/values/src/primitive.rs",
    "crates/values/src/primitive/",
    "crates/values/src/operation.rs",
    "crates/values/src/operation/",
    "crates/values/src/scalar.rs",
    "crates/values/src/scalar/",
    "crates/import/src/words.rs",
    "crates/compile/src/decouple.rs",
    "crates/compile/src/decouple/",
    "crates/compile/src/dlc_text.rs",
    "crates/compile/src/dlc_text/",
    "targets/src/",
];

/// Words of other languages that are also names of operators.
const OTHER_WORDS: &[(&str, &str, &str)] = &[
    ("crates/model/src/", "size", "a word of the data form of models"),
    ("crates/prove/src/equiv/declare.rs", "size", "a word of declarations"),
    ("crates/certify/src/lib.rs", "at", "a word of the steps of certificates"),
    ("crates/prove/src/equiv/certificate.rs", "at", "a word of the steps of certificates"),
    ("crates/prove/src/equiv/join.rs", "at", "a word of the steps of certificates"),
    ("crates/prove/src/equiv/data.rs", "size", "a word of the data form of models"),
    ("crates/import/src/write/text.rs", "size", "a word of the data form of models"),
    ("crates/prove/src/soundness/", "below", "a condition of rules"),
    ("crates/tools/src/", "at", "a word of JSON and of messages"),
    ("crates/tools/src/", "after", "a word of messages"),
    ("crates/interpret/src/eval.rs", "size", "a word of messages"),
    ("crates/import/src/torch.rs", "size", "a word of messages"),
    (
        "crates/language/src/rules/attributes.rs",
        "i64",
        "the word of `:type`, which is that of the element type",
    ),
    (
        "crates/values/src/primitive/",
        "i64",
        "the word of `:asks`, which is that of the element type",
    ),
    ("crates/values/src/primitive/table.rs", "out", "an operand of a row"),
    ("crates/model/src/data/file/npy.rs", "i8", "the word of NumPy for integers of 8 bytes"),
    ("crates/import/src/mlir/", "scf.for", "an operation of MLIR text"),
    ("crates/import/src/mlir/", "slc.for", "an operation of MLIR text"),
    ("crates/import/src/mlir/", "slc.callback", "an operation of MLIR text"),
    ("crates/import/src/mlir/", "slc.mem_stream", "an operation of MLIR text"),
    ("crates/import/src/mlir/", "slc.alu_stream", "an operation of MLIR text"),
    ("crates/import/src/mlir/", "slc.from_stream", "an operation of MLIR text"),
    ("crates/import/src/mlir/", "slc", "a dialect of MLIR text"),
    ("crates/import/src/mlir/halves/", "in", "an attribute in MLIR text"),
    ("crates/import/src/mlir/read/", "max", "a word of bounds in MLIR text"),
    ("crates/import/src/mlir/read/", "min", "a word of bounds in MLIR text"),
    ("crates/native/src/", "size", "a file in which Linux describes a cache"),
    ("crates/tune/src/", "min", "a function of conditions on parameters"),
    ("crates/tune/src/", "max", "a function of conditions on parameters"),
    ("targets/src/c/", "i64", "a type in C"),
    ("targets/src/c/", "i32", "a type in C"),
    ("targets/src/c/", "i8", "a type in C"),
    ("targets/src/c/", "f16", "the end of a number in C"),
    ("targets/src/c/", "bf16", "the end of a name in C"),
    ("targets/src/c/", "z", "a letter in the names of instructions"),
    ("targets/src/c/", "count", "a name in C"),
    ("src/bench/", "temporal-l2", "a hint in the names of programs"),
    ("src/sweep/", "after", "a column of results"),
    ("src/bench/", "temporal", "a hint in the names of programs"),
    ("src/bench/", "non-temporal", "a hint in the names of programs"),
];

/// The maximum number of names in all, which stand in [`HOMES`] alone.
const MOST: usize = 147;

/// Enums whose variants are names of operators. Primitives have no enum: a primitive is its form.
const ENUMS: [&str; 2] = ["BinaryOp", "UnaryOp"];

/// Enums of the parts in which forms differ. A variant may single out one row, so that the places that name one are
/// printed, too; most of these tell apart what a stage has one arm for.
const PARTS: [&str; 10] = [
    "Number",
    "Holder",
    "View",
    "Operation",
    "Condition",
    "Early",
    "Sequence",
    "By",
    "Undone",
    "Part",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the operators of the dialects, including the prover's.
fn operators() -> BTreeSet<String> {
    let paths = [root().join("rules"), root().join("rules/equiv")];
    let (book, _) = rules::load(&mut Sources::new(Disk), &paths).expect("well-formed rules");
    book.signature.operators().iter().map(|op| op.name.to_string()).collect()
}

/// Returns the Rust files that are not tests, by their paths from the root.
fn files() -> BTreeMap<String, String> {
    const SKIPPED: [&str; 6] = ["target", "tests", "benches", "fuzz", "examples", ".git"];
    let (mut found, mut open) = (BTreeMap::new(), vec![root().to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the project").flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() && !SKIPPED.contains(&name.as_str()) {
                open.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).expect("a text");
                found.insert(from_root(&path), text);
            }
        }
    }
    found
}

fn from_root(path: &Path) -> String {
    let rest: PathBuf = path.strip_prefix(root()).unwrap_or(path).to_owned();
    rest.to_string_lossy().replace('\\', "/")
}

/// Splits a file without its comments into the contents of its strings and the remaining code. Tests at its end are
/// left out.
fn strings_and_code(text: &str) -> (Vec<String>, String) {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let (mut strings, mut code) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
        } else if let Some((string, after)) = raw_string(rest) {
            strings.push(string.to_owned());
            rest = after;
        } else if next == '"' {
            let end = closing(&rest[1..]);
            strings.push(rest[1..1 + end].to_owned());
            rest = rest.get(end + 2..).unwrap_or_default();
        } else if let Some(after) =
            rest.strip_prefix("'\"'").or_else(|| rest.strip_prefix("'\\\"'"))
        {
            rest = after;
        } else {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    (strings, code)
}

/// Returns the contents of a raw string that starts here, and the text after it.
fn raw_string(text: &str) -> Option<(&str, &str)> {
    let body = text.strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let body = body[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&close)?;
    Some((&body[..end], &body[end + close.len()..]))
}

/// Returns the end of a string that has started already.
fn closing(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().find(|(_, c)| {
        let closes = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// Returns the names in a string: the string itself, or words of it that include the dialect.
fn named<'a>(string: &'a str, operators: &BTreeSet<String>) -> Vec<&'a str> {
    if operators.contains(string) {
        return vec![string];
    }
    let words = string.split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)));
    words.filter(|word| word.contains('.') && operators.contains(*word)).collect()
}

/// Returns the forms that only one row of the table has. To name such a form is to name the row; a form that several
/// rows have names none of them.
fn lone_forms() -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in primitive::rows() {
        let text = format!("{:?}", row.form);
        let name = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count == 1).map(|(name, _)| name).collect()
}

/// Returns the variants of the enums of primitives in code, and the forms of single primitives.
fn variants(code: &str, lone_forms: &BTreeSet<String>) -> Vec<String> {
    let mut found = variants_of(&ENUMS, code);
    let forms = variants_of(&["Form"], code).into_iter();
    found.extend(forms.filter(|name| {
        let (_, variant) = name.split_once("::").unwrap_or_default();
        lone_forms.contains(variant)
    }));
    found
}

/// Returns the variants of some enums in code.
fn variants_of(enums: &[&str], code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in enums {
        for (at, _) in code.match_indices(&format!("{name}::")) {
            let whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let variant = &code[at + name.len() + 2..];
            let end = variant.find(|c: char| !c.is_alphanumeric()).unwrap_or(variant.len());
            let variant = &variant[..end];
            let is_variant =
                variant.starts_with(char::is_uppercase) && variant.chars().any(char::is_lowercase);
            if whole && is_variant {
                found.push(format!("{name}::{variant}"));
            }
        }
    }
    found
}

#[test]
fn operators_are_named_in_the_tables() {
    let (operators, lone_forms) = (operators(), lone_forms());
    let is_home = |path: &str| HOMES.iter().any(|home| path.starts_with(home));
    let mut counts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut parts = 0;
    for (path, text) in files() {
        let (strings, code) = strings_and_code(&text);
        let own = |word: &str| {
            let other =
                |(place, named, _): &&(&str, &str, &str)| path.starts_with(place) && *named == word;
            OTHER_WORDS.iter().find(other).is_none()
        };
        if !is_home(&path) && code.contains("primitive::form") {
            parts += variants_of(&PARTS, &code).len();
        }
        let strings = strings.iter().flat_map(|string| named(string, &operators));
        let strings = strings.filter(|word| own(word)).map(|word| format!("\"{word}\""));
        let all: Vec<String> = strings.chain(variants(&code, &lone_forms)).collect();
        if !all.is_empty() {
            counts.insert(path, all);
        }
    }
    let mut lines: Vec<(usize, &String)> =
        counts.iter().map(|(path, names)| (names.len(), path)).collect();
    lines.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    for (count, path) in &lines {
        let place = if is_home(path) { " (at home)" } else { "" };
        println!("{count:5} {path}{place}");
    }
    let all: usize = lines.iter().map(|(count, _)| count).sum();
    let away: usize = lines.iter().filter(|(_, path)| !is_home(path)).map(|(count, _)| count).sum();
    let strings = counts.values().flatten().filter(|name| name.starts_with('"')).count();
    println!("{all:5} in all, {strings} of them in strings; {away} away from home");
    println!("{parts:5} parts of forms away from home");
    assert!(all <= MOST, "{all} places name an operator, more than {MOST}");
    assert_eq!(away, 0, "places away from home name an operator");
}

#[test]
fn names_are_found_in_any_spelling() {
    let operators: BTreeSet<String> = ["scf.add", "at"].map(str::to_owned).into();
    let text = r##"// "at" in a comment
        let a = "at"; let b = r#"no "at" here"#; let c = "write (scf.add x) at"; let d = '"';
        match p { UnaryOp::Exp | ember::BinaryOp::Add => {} _ => UnaryOp::ALL.len() }
        match f { Form::Iv(x) | form::Form::Loaded { .. } => {} }
        /* "at" */ let e = "\"at";
#[cfg(test)]
mod tests { const X: &str = "at"; }"##;
    let (strings, code) = strings_and_code(text);
    let names: Vec<&str> = strings.iter().flat_map(|string| named(string, &operators)).collect();
    assert_eq!(names, ["at", "scf.add"]);
    let found = variants(&code, &["Iv".to_owned()].into());
    assert_eq!(found, ["BinaryOp::Add", "UnaryOp::Exp", "Form::Iv"]);
}
