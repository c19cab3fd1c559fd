//! Tests the pages for a browser: Chromium draws them, their figures are the report's, and nothing is logged as an error.
//!
//! Without Chromium only the trial that writes a page runs; the others count as ignored in the summary, and a line above
//! the list says so.

#[path = "command/process.rs"]
mod process;

use libtest_mimic::{Arguments, Failed, Trial};
use process::{Ran, ember, folder, word};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names that Chromium has as a command.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

fn main() {
    let browser = BROWSERS.into_iter().find(|name| starts(name));
    if browser.is_none() {
        println!("SKIPPED: Chromium is not installed: pages are not drawn");
    }
    let drawing = |name: &str, check: fn(&str)| {
        let run = move || {
            check(browser.ok_or("there is no Chromium")?);
            Ok::<(), Failed>(())
        };
        Trial::test(name, run).with_ignored_flag(browser.is_none())
    };
    let trials = vec![
        Trial::test("a page refers to no other file", || {
            page("alone", &["tests/models/gather.sexp", "--json"]);
            Ok(())
        }),
        drawing("the page of the report shows its figures", report),
        drawing("the page of this machine shows times, the program and its rules", native),
        drawing("the page of the bench shows its figures", bench),
        drawing("the page of a sweep shows its points and curves", sweep),
        drawing("the page of changes of one number shows their effects", tornado),
        drawing("the page of a tuning shows its evaluations", tuning),
        drawing("the page of an explanation shows its steps", explanation),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Returns true if a command of this name can be started.
fn starts(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|ran| ran.status.success())
}

/// Returns the page as the browser has drawn it.
fn drawn(browser: &str, page: &Path) -> String {
    let profile = page.with_extension("profile");
    let ran = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!said.contains("CONSOLE"), "{said}");
    String::from_utf8(ran.stdout).expect("UTF-8")
}

/// Returns the exact figures of a drawn page, or of a part of one.
fn figures(text: &str) -> Vec<&str> {
    let marked = text.split("data-figure=\"").skip(1);
    marked.filter_map(|rest| Some(rest.split_once('"')?.0)).collect()
}

/// Runs a command that writes a page, and returns what it printed and the page.
fn page(name: &str, words: &[&str]) -> (Ran, PathBuf) {
    let path = folder(&format!("html-{name}")).join("page.html");
    let file = word(&path);
    let ran = ember(&[words, &["--html", &file]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:#?}");
    let text = std::fs::read_to_string(&path).expect("the page");
    assert!(!text.contains("https://") && !text.contains("src="), "it refers to other files");
    (ran, path)
}

/// Checks that a page shows the cycles of programs.
fn shows(drawn: &str, cycles: impl Iterator<Item = Value>) {
    let found: BTreeSet<&str> = figures(drawn).into_iter().collect();
    for cycles in cycles.filter(Value::is_u64) {
        assert!(found.contains(cycles.to_string().as_str()), "{cycles} is not among {found:?}");
    }
}

fn native(browser: &str) {
    let (ran, path) = page("native", &["tests/models/bag.sexp", "--target", "cpu", "--json"]);
    let drawn = drawn(browser, &path);
    let programs = ran.json()["programs"].as_array().expect("programs").len();
    assert_eq!(figures(&drawn).len(), programs, "each program has its time");
    for part in ["Programs in turn", "for (int64_t t = 0; t &lt; ", "The rules that lead to"] {
        assert!(drawn.contains(part), "{part} is missing");
    }
}

fn report(browser: &str) {
    let (ran, path) = page("report", &["tests/models/bag.sexp", "--json"]);
    let drawn = drawn(browser, &path);
    let report = ran.json();
    let programs = report["programs"].as_array().expect("programs");
    let ablation = report["best"]["ablation"].as_array().expect("rule sets");
    let matters = ablation.iter().filter(|row| row["slowdown"].as_f64().is_some_and(|s| s > 1.005));
    let all = programs.iter().chain(matters).map(|row| row["cycles"].clone());
    shows(&drawn, all.chain([report["best"]["bound_cycles"].clone()]));
    for heading in
        ["Programs against the bound", "Where the cycles of search go", "Traffic and energy"]
    {
        assert!(drawn.contains(heading), "{heading} is missing");
    }
    assert!(drawn.contains("<rect"), "no activity is drawn");
    let stalls = report["best"]["stalls"].as_array().expect("units");
    let execute = stalls.iter().find(|unit| unit["name"] == "execute").expect("the execute unit");
    let idle = execute["idle"].as_u64().expect("cycles");
    cycles_by_line(&drawn, report["best"]["cycles"].as_u64().expect("cycles"), idle);
}

/// Checks that the lines of the execute half share the cycles of the run, but for those in which it is idle: at the end,
/// memory is written.
fn cycles_by_line(drawn: &str, cycles: u64, idle: u64) {
    let table = drawn.split_once("class=\"lines\"").expect("the program by lines").1;
    let table = table.split_once("</table>").expect("its end").0;
    let lines = table.split("<tr>").filter(|line| !line.contains("(new_tu "));
    let shared = lines.flat_map(figures).map(|n| n.parse::<u64>().expect("a number"));
    let sum: u64 = shared.sum();
    let share = sum * 10 >= (cycles - idle) * 9;
    assert!(sum <= cycles && share, "{sum} of {cycles} cycles, {idle} idle");
}

fn bench(browser: &str) {
    let words = ["bench", "--filter", "^KG_biokg$", "--scale", "0.1", "--json"];
    let (ran, path) = page("bench", &words);
    let report = ran.json();
    let rows = report["workloads"].as_array().expect("workloads");
    let cycles = rows.iter().flat_map(|row| row["cycles"].as_object().expect("cycles").values());
    shows(&drawn(browser, &path), cycles.cloned());
}

fn sweep(browser: &str) {
    let file = word(&folder("html-swept").join("sweep.sqlite"));
    let words = ["sweep", "tests/cases/sweep/small.toml", "-o", &file, "--json"];
    let (ran, path) = page("sweep", &words);
    let drawn = drawn(browser, &path);
    let report = ran.json();
    let points = report["points"].as_array().expect("points");
    shows(&drawn, points.iter().map(|point| point["cycles"].clone()));
    for heading in ["Pareto front", "schedule", "seed", "access.lanes"] {
        assert!(drawn.contains(&format!("<h2>{heading}</h2>")), "{heading} is missing");
    }
    let curves = drawn.matches("<path d=\"M").count();
    assert_eq!(curves, 4 * 2, "a front and a curve by each axis for each of two models");
}

fn tornado(browser: &str) {
    let file = word(&folder("html-tornado").join("tornado.sqlite"));
    let words = ["sweep", "tests/cases/sweep/around.toml", "-o", &file, "--json"];
    let (ran, path) = page("tornado", &words);
    let drawn = drawn(browser, &path);
    let report = ran.json();
    let bars = report["tornado"]["bars"].as_array().expect("bars");
    for heading in ["The effect of each change", "search", "expert", "paper"] {
        assert!(drawn.contains(&format!("<h2>{heading}</h2>")), "{heading} is missing");
    }
    assert_eq!(drawn.matches("<rect").count(), bars.len(), "a bar for each change");
}

fn tuning(browser: &str) {
    let file = word(&folder("html-tuned").join("tuned.jsonl"));
    let words = ["tune", "--space", "tests/cases/tune/ok.space", "-o", &file, "--json"];
    let (ran, path) = page("tune", &[&words[..], &["--command", "echo $TUNE_tile"]].concat());
    let drawn = drawn(browser, &path);
    let report = ran.json();
    let evaluations = report["evaluations"].as_array().expect("evaluations");
    let values = evaluations.iter().map(|own| own["value"].as_f64().expect("a number"));
    shows(&drawn, values.map(|value| serde_json::json!(value as u64)));
    assert_eq!(drawn.matches("<path d=\"M").count(), 1, "one curve");
}

fn explanation(browser: &str) {
    let (ran, path) = page("explain", &["explain", "tests/models/gather.sexp", "--json"]);
    let drawn = drawn(browser, &path);
    let report = ran.json();
    let steps = report["groups"][0]["chain"]["steps"].as_array().expect("steps");
    for step in steps.iter().filter(|step| step["computed"] == false) {
        let rule = step["rule"].as_str().expect("a name");
        assert!(drawn.contains(&format!("<b>{rule}</b>")), "{rule} is missing");
    }
}
