//! Tests the pages for a browser: Chromium draws them, their figures are the report's, and nothing is logged as an error.
//! Without Chromium these tests count as ignored.

use crate::common::{Ran, ember, folder, word};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The names that Chromium has as a command.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Returns the page as Chromium has drawn it; `None` if there is no Chromium.
fn drawn(page: &Path) -> Option<String> {
    let profile = page.with_extension("profile");
    let run = |name: &&str| {
        Command::new(name)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .ok()
    };
    let ran = BROWSERS.iter().find_map(run)?;
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!said.contains("CONSOLE"), "{said}");
    Some(String::from_utf8(ran.stdout).expect("UTF-8"))
}

/// Returns the exact figures of a drawn page.
fn figures(text: &str) -> BTreeSet<String> {
    let marked = text.split("data-figure=\"").skip(1);
    marked.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// Runs a command that writes a page, and returns what it printed and the page as it was drawn.
fn page(name: &str, words: &[&str]) -> (Ran, Option<String>) {
    let path = folder(&format!("html-{name}")).join("page.html");
    let file = word(&path);
    let ran = ember(&[words, &["--html", &file]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:#?}");
    let text = std::fs::read_to_string(&path).expect("the page");
    assert!(!text.contains("https://") && !text.contains("src="), "it refers to other files");
    (ran, drawn(&path))
}

/// Checks that a page shows the cycles of programs.
fn shows(drawn: &str, cycles: impl Iterator<Item = Value>) {
    let found = figures(drawn);
    for cycles in cycles.filter(Value::is_u64) {
        assert!(found.contains(&cycles.to_string()), "{cycles} is not among {found:?}");
    }
}

#[test]
fn the_page_of_the_report_shows_its_figures() {
    let (ran, drawn) = page("report", &["tests/models/bag.sexp", "--json"]);
    let Some(drawn) = drawn else { return ignored() };
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
}

#[test]
fn the_page_of_the_bench_shows_its_figures() {
    let (ran, drawn) =
        page("bench", &["bench", "--filter", "^KG_biokg$", "--scale", "0.1", "--json"]);
    let Some(drawn) = drawn else { return ignored() };
    let report = ran.json();
    let rows = report["workloads"].as_array().expect("workloads");
    let cycles = rows.iter().flat_map(|row| row["cycles"].as_object().expect("cycles").values());
    shows(&drawn, cycles.cloned());
}

#[test]
fn the_page_of_an_explanation_shows_its_steps() {
    let (ran, drawn) = page("explain", &["explain", "tests/models/gather.sexp", "--json"]);
    let Some(drawn) = drawn else { return ignored() };
    let report = ran.json();
    let steps = report["groups"][0]["chain"]["steps"].as_array().expect("steps");
    for step in steps.iter().filter(|step| step["computed"] == false) {
        let rule = step["rule"].as_str().expect("a name");
        assert!(drawn.contains(&format!("<b>{rule}</b>")), "{rule} is missing");
    }
}

/// Says that a page was written and not drawn.
fn ignored() {
    eprintln!("ignored: there is no Chromium to draw the page");
}
