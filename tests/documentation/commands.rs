//! The commands of a page print what it shows.
//!
//! In a `console` block each line after `$ ` is a command for a shell, and the lines below it must occur in its output,
//! in this order; `…` represents omitted lines. A command that shows no output must succeed. A block with the info
//! string `LANGUAGE,file=NAME` is a file that the reader writes, and one with `LANGUAGE,from=PATH` shows a file of the
//! repository. The commands of a page run in a folder of its own, which has these files and the repository's folders.

use crate::page::{BOOK, Page, Place, root};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that are not run here: they run these tests, or are run by `.ci/run`.
const NOT_RUN: [&str; 2] = ["cargo test ", "cargo install "];

/// The prefix under which README.md runs the command from a checkout.
const FROM_SOURCE: &str = "cargo run --release -- ";

/// The folders of the repository that commands refer to.
const SHARED: [&str; 6] = ["examples", "programs", "rules", "targets", "tests", "workloads"];

/// Returns what a page shows but its commands do not print; or blesses the page.
pub fn check(page: &Page, bless: bool) -> Vec<String> {
    let folder = folder(page);
    let mut wrong = write_files(page, &folder);
    let mut written = String::new();
    let mut ran = Ran::default();
    for (place, line) in page.lines() {
        let mut write = line.to_owned();
        if place == Place::Text && line.starts_with("    ember-rewrite ") {
            wrong.push(format!("not in a `console` block, where it would be run:\n{line}"));
        }
        if place == Place::Block("console") {
            if let Some(command) = line.strip_prefix("$ ") {
                wrong.extend(ran.unexplained());
                ran = run(command, &folder);
            } else if line != "…" && !line.is_empty() && !ran.skipped {
                match ran.take(line, bless) {
                    Some(printed) => write = printed,
                    None => {
                        wrong.push(format!("not printed, or not in this order:\n{line}\nby {ran}"))
                    }
                }
            }
        }
        let _ = writeln!(written, "{write}");
    }
    wrong.extend(ran.unexplained());
    if bless && wrong.is_empty() {
        fs::write(root().join(&page.name), written).expect("is written");
    }
    wrong
}

/// A command and what remains of its output.
#[derive(Default)]
struct Ran {
    command: String,
    output: Vec<String>,
    failed: bool,
    skipped: bool,
    /// The page has shown a line of its output.
    shown: bool,
}

impl Ran {
    /// Removes the output up to a line, and returns the line as it was printed; with `alike`, numbers may differ.
    fn take(&mut self, line: &str, alike: bool) -> Option<String> {
        let same = self.output.iter().position(|found| found == line);
        let similar = || self.output.iter().position(|found| shape(found) == shape(line));
        let at = same.or_else(|| similar().filter(|_| alike))?;
        self.shown = true;
        self.output.drain(..=at).next_back()
    }

    /// Returns a failure of which the page shows nothing.
    fn unexplained(&self) -> Option<String> {
        (self.failed && !self.shown).then(|| format!("failed: {self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "$ {}\n{}", self.command, self.output.join("\n"))
    }
}

fn run(command: &str, folder: &Path) -> Ran {
    let mut ran = Ran { command: command.to_owned(), ..Ran::default() };
    if NOT_RUN.iter().any(|known| format!("{command} ").starts_with(known)) {
        ran.skipped = true;
        return ran;
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_ember-rewrite"));
    let name = binary.file_name().and_then(|name| name.to_str()).expect("a name");
    let command = command.replace(FROM_SOURCE, &format!("{name} "));
    let mut path = binary.parent().expect("a folder").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &command]).current_dir(folder).env("PATH", path).output();
    let output = output.expect("a shell starts");
    let text = [output.stdout, output.stderr].concat();
    ran.output = String::from_utf8(text).expect("UTF-8").lines().map(str::to_owned).collect();
    ran.failed = !output.status.success();
    ran
}

/// Returns a line without its numbers and the width of its columns.
fn shape(line: &str) -> String {
    let kept = |c: &char| !c.is_ascii_digit() && !c.is_whitespace() && !"─═.-".contains(*c);
    line.chars().filter(kept).collect()
}

/// Creates the folder in which a page's commands run.
fn folder(page: &Page) -> PathBuf {
    let name = page.name.replace(['/', '.'], "_");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documentation").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("is removed");
    }
    fs::create_dir_all(&folder).expect("is made");
    for shared in SHARED {
        symlink(root().join(shared), folder.join(shared)).expect("is linked");
    }
    folder
}

/// Writes the files that a page shows; returns those that the repository has otherwise.
fn write_files(page: &Page, folder: &Path) -> Vec<String> {
    let whole = match page.complete() {
        Ok(text) => Page { text, ..page.clone() },
        Err(missing) => return missing,
    };
    let mut files: Vec<(&str, String)> = Vec::new();
    let mut inside = false;
    for (place, line) in whole.lines() {
        let Place::Block(info) = place else {
            inside = false;
            continue;
        };
        let Some((_, name)) = info.split_once(',') else { continue };
        if !inside {
            files.push((name, String::new()));
            inside = true;
        }
        let (_, text) = files.last_mut().expect("a file");
        *text += line;
        text.push('\n');
    }
    let mut wrong = Vec::new();
    for (name, text) in files {
        if let Some(name) = name.strip_prefix("file=") {
            fs::write(folder.join(name), text).expect("is written");
        } else if let Some(path) = name.strip_prefix("from=") {
            let theirs = fs::read_to_string(root().join(path)).unwrap_or_default();
            if !theirs.contains(text.trim()) {
                wrong.push(format!("{} shows another {path} than the repository has", page.name));
            }
        } else {
            wrong.push(format!(
                "{}: a block of unknown kind: {name} ({BOOK} has `file=`, `from=`)",
                page.name
            ));
        }
    }
    wrong
}
