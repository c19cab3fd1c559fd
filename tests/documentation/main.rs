//! Tests of README.md and of every page of the book, two trials a page: its commands print what it shows, and its links
//! lead somewhere.
//!
//! `BLESS=1 cargo test --test documentation` rewrites shown lines that differ from the printed ones only in numbers.

mod commands;
mod links;
mod page;

use libtest_mimic::{Arguments, Failed, Trial};
use page::Page;

/// The greatest number of lines of README.md, which is an introduction; the book has the rest.
const INTRODUCTION: usize = 200;

fn main() {
    let bless = std::env::var_os("BLESS").is_some_and(|v| v != "0");
    let pages = page::all();
    let mut trials = vec![Trial::test("README.md is short", readme_is_short)];
    for page in &pages {
        let name = page.name.clone();
        trials.push(trial(&format!("{name}: commands"), page, move |page| {
            commands::check(page, bless)
        }));
        trials.push(trial(&format!("{name}: links"), page, links::check));
    }
    trials.push(Trial::test("every page is in the summary", move || {
        outcome(links::outside_of_the_summary(&pages))
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn trial(name: &str, page: &Page, check: impl Fn(&Page) -> Vec<String> + Send + 'static) -> Trial {
    let page = page.clone();
    Trial::test(name, move || outcome(check(&page)))
}

fn outcome(wrong: Vec<String>) -> Result<(), Failed> {
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn readme_is_short() -> Result<(), Failed> {
    let lines = Page::read("README.md").text.lines().count();
    if lines <= INTRODUCTION {
        Ok(())
    } else {
        Err(format!("{lines} lines, of {INTRODUCTION}").into())
    }
}
