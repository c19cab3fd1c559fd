//! The links of a page lead to pages, headings and files that exist, and the paths that it names exist.

use crate::page::{BOOK, Page, root};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Returns what is wrong with the links of a page.
pub fn check(page: &Page) -> Vec<String> {
    let text = match page.complete() {
        Ok(text) => text,
        Err(missing) => return missing,
    };
    let (mut wrong, mut linked) = (Vec::new(), false);
    for event in Parser::new_ext(&text, pulldown_cmark::Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                linked = true;
                wrong
                    .extend(broken(page, &text, &dest_url).map(|why| format!("{dest_url}: {why}")));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => linked = false,
            Event::Code(code)
                if !linked && names_a_path(&code) && !root().join(&*code).exists() =>
            {
                wrong.push(format!("`{code}` does not exist"));
            }
            _ => {}
        }
    }
    wrong
}

/// Returns the pages of the book that its summary does not list.
pub fn outside_of_the_summary(pages: &[Page]) -> Vec<String> {
    let summary = Page::read(&format!("{BOOK}/SUMMARY.md"));
    let listed: BTreeSet<String> = Parser::new(&summary.text)
        .filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. }) => Some(format!("{BOOK}/{dest_url}")),
            _ => None,
        })
        .collect();
    let pages = pages.iter().map(|page| &page.name).filter(|name| name.starts_with(BOOK));
    let outside = pages.filter(|name| **name != summary.name && !listed.contains(*name));
    outside.map(|name| format!("{name} is not in the summary")).collect()
}

/// Returns the reason why a link of a page leads nowhere.
fn broken(page: &Page, text: &str, link: &str) -> Option<String> {
    if link.starts_with("https://") {
        return None;
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = normal(&page.folder().join(path));
    let markdown = Path::new(path).extension().is_some_and(|e| e == "md");
    if path.is_empty() {
        return missing_heading(text, heading);
    }
    if !root().join(&target).exists() {
        return Some("no such file".to_owned());
    }
    // mdBook links to the HTML of every page, which only the pages of the book have.
    if page.name.starts_with(BOOK) && markdown && !target.starts_with(BOOK) {
        return Some("a page outside the book".to_owned());
    }
    if heading.is_empty() {
        return None;
    }
    let target = Page::read(target.to_str().expect("UTF-8"));
    missing_heading(&target.complete().unwrap_or_default(), heading)
}

fn missing_heading(text: &str, wanted: &str) -> Option<String> {
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(part) | Event::Code(part), Some(heading)) => heading.push_str(&part),
            (Event::End(TagEnd::Heading(_)), Some(found)) if anchor(found) == wanted => {
                return None;
            }
            (Event::End(TagEnd::Heading(_)), _) => heading = None,
            _ => {}
        }
    }
    Some("no such heading".to_owned())
}

/// Returns the anchor of a heading, as mdBook makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Returns true if code in a text names a file or a folder of the repository.
fn names_a_path(code: &str) -> bool {
    let (folder, _) = code.split_once('/').unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    !folder.is_empty() && code.chars().all(plain) && folders().contains(folder)
}

/// Returns the names of the repository's folders, except those that a build makes.
fn folders() -> BTreeSet<String> {
    let entries = fs::read_dir(root()).expect("the package's folder").map(|e| e.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir() && entry.file_name() != "target");
    folders.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Resolves `..` in a path, without asking the file system.
fn normal(path: &Path) -> PathBuf {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = parts.pop(),
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts.iter().collect()
}
