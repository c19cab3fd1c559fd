//! Tests that the README's examples print what it shows.
//!
//! In a `console` block each line after `$ ` is a command, and the lines below it must occur in its output, in this
//! order; `…` represents omitted lines. With `BLESS=1` a line whose only difference is in its numbers is rewritten.

use crate::common::{ember, folder, root, word};
use std::fs;

/// Commands of the README that are not run here: they run these tests, or take too long.
const NOT_RUN: [&str; 3] = ["cargo test --workspace", "cargo bench", ".ci/run"];

/// The kind of a line of the README.
enum Line {
    /// A line outside a `console` block.
    Other,
    /// A command.
    Command(Vec<String>),
    /// Output.
    Output,
}

fn kinds(text: &str) -> Vec<Line> {
    let mut inside = false;
    let kind = |line: &str| {
        if line.starts_with("```") {
            inside = line == "```console";
            return Line::Other;
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| inside) else {
            return if inside { Line::Output } else { Line::Other };
        };
        if NOT_RUN.iter().any(|known| command.starts_with(known)) {
            return Line::Other;
        }
        let arguments = command.strip_prefix("cargo run --release -- ");
        let arguments = arguments.unwrap_or_else(|| panic!("not run by any test: {command}"));
        Line::Command(arguments.split_whitespace().map(str::to_owned).collect())
    };
    text.lines().map(kind).collect()
}

/// Returns a line without its numbers and the width of its columns.
fn shape(line: &str) -> String {
    let kept = |c: &char| !c.is_ascii_digit() && !c.is_whitespace() && !"─═.-".contains(*c);
    line.chars().filter(kept).collect()
}

#[test]
fn console_examples_print_what_the_readme_shows() {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).expect("the README");
    let bless = std::env::var_os("BLESS").is_some_and(|v| v != "0");
    let mut written = Vec::new();
    let mut wrong = Vec::new();
    let mut output: Vec<String> = Vec::new();
    for (line, kind) in text.lines().zip(kinds(&text)) {
        let mut write = line.to_owned();
        match kind {
            Line::Command(words) => {
                let ran = ember(&words);
                output = ran.out.lines().chain(ran.err.lines()).map(str::to_owned).collect();
                println!("$ {words:?}\n{}", output.join("\n"));
            }
            Line::Output if line != "…" && !line.is_empty() => {
                let same = output.iter().position(|found| found == line);
                let alike = || output.iter().position(|found| shape(found) == shape(line));
                match same.or_else(|| alike().filter(|_| bless)) {
                    Some(at) => write = output.drain(..=at).next_back().unwrap_or_default(),
                    None => wrong.push(line),
                }
            }
            Line::Output | Line::Other => {}
        }
        written.push(write);
    }
    assert!(wrong.is_empty(), "not printed, or not in this order:\n{}", wrong.join("\n"));
    if bless {
        fs::write(path, written.join("\n") + "\n").expect("is written");
    }
}

#[test]
fn the_files_that_the_readme_shows_are_those_that_it_runs() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    for name in [
        "my_hints.rules",
        "rules/no_prefetch.rules",
        "rules/positive_bag.rules",
        "rules/algebra.rules",
        "rules/algebra.terms",
        "rules/algebra.toml",
    ] {
        let text = fs::read_to_string(root().join("examples").join(name)).expect("a text");
        assert!(readme.contains(text.trim()), "the README shows another {name} than examples/ has");
    }
    let cases = fs::read_to_string(root().join("examples/rules/algebra.case")).expect("a text");
    let (_, cases) = cases.split_once('\n').expect("a comment first");
    assert!(readme.contains(cases.trim()), "the README shows other cases than examples/ has");
}

/// Returns the files of a section, each with the last file name before the block that shows it, and its commands.
fn section(title: &str) -> (Vec<(String, String)>, Vec<String>) {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let (_, section) = readme.split_once(&format!("\n{title}\n")).expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut blocks = section.split("```");
    let (mut files, mut commands, mut name) = (Vec::new(), Vec::new(), String::new());
    while let (Some(text), Some(block)) = (blocks.next(), blocks.next()) {
        let mut words = text.split('`').filter(|word| word.starts_with("examples/rules/"));
        name = words.next_back().map_or(name, str::to_owned);
        let (kind, block) = block.split_once('\n').expect("a block of lines");
        match kind {
            "console" => commands.extend(block.lines().filter_map(|line| {
                line.strip_prefix("$ cargo run --release -- ").map(str::to_owned)
            })),
            _ => files.push((name.clone(), block.to_owned())),
        }
    }
    (files, commands)
}

#[test]
fn a_dialect_of_ones_own_needs_nothing_but_what_the_readme_shows() {
    let folder = folder("tutorial");
    let (files, commands) = section("### A dialect of one's own");
    assert_eq!((files.len(), commands.len()), (4, 3));
    let here = |text: &str| text.replace("examples/rules/", &format!("{}/", word(&folder)));
    for (name, text) in files {
        fs::write(here(&name), text).expect("is written");
    }
    for command in commands {
        let words: Vec<String> = here(&command).split(' ').map(str::to_owned).collect();
        let ran = ember(&words);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{command}: {}", ran.out);
    }
}
