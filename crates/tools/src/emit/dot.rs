//! Writes an e-graph as Graphviz text: a box for each class with its facts and its nodes.

use super::snapshot::{Snapshot, SnapshotClass};
use std::fmt::Write;

/// The number of characters in a line of facts, and the number of lines.
const FACTS: (usize, usize) = (48, 3);

/// Returns the text.
pub fn dot(snapshot: &Snapshot) -> String {
    let mut out = String::from(
        "digraph egraph {\n  compound=true;\n  node [shape=box, style=filled, fillcolor=white, \
         fontname=monospace];\n  edge [arrowsize=0.6];\n",
    );
    for (number, class) in &snapshot.classes {
        // Writing to a string cannot fail.
        let _ = write_class(&mut out, *number, class, *number == snapshot.root);
    }
    for (number, class) in &snapshot.classes {
        for (at, node) in class.nodes.iter().enumerate() {
            for child in &node.children {
                let colour = if node.best { ", color=red" } else { "" };
                let _ = writeln!(
                    out,
                    "  n{number}_{at} -> n{child}_0 [lhead=cluster_{child}{colour}];"
                );
            }
        }
    }
    out + "}\n"
}

fn write_class(
    out: &mut String,
    number: usize,
    class: &SnapshotClass,
    root: bool,
) -> std::fmt::Result {
    let mut label = vec![format!("{number}: {}", class.sort.unwrap_or("no sort"))];
    if root {
        label[0] += ", the program";
    }
    label.extend(lines(&class.facts));
    if let Some(estimate) = class.estimate.filter(|estimate| *estimate >= 0.5) {
        label.push(format!("about {} cycles", crate::explain::cycles(estimate)));
    }
    let border = if root { "penwidth=3" } else { "style=dashed" };
    writeln!(out, "  subgraph cluster_{number} {{")?;
    writeln!(out, "    label={}; {border};", quoted(&label.join("\n")))?;
    for (at, node) in class.nodes.iter().enumerate() {
        let best = if node.best { ", color=red, penwidth=2" } else { "" };
        writeln!(out, "    n{number}_{at} [label={}{best}];", quoted(&node.operator))?;
    }
    writeln!(out, "  }}")
}

/// Splits facts into a few lines.
fn lines(facts: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in facts.split_whitespace() {
        match lines.last_mut().filter(|line| line.len() + word.len() < FACTS.0) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    if lines.len() > FACTS.1 {
        lines.truncate(FACTS.1);
        lines.push("…".to_owned());
    }
    lines
}

/// Returns a text in Graphviz's quotes, with its lines aligned to the left.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    match escaped.contains('\n') {
        true => format!("\"{}\\l\"", escaped.replace('\n', "\\l")),
        false => format!("\"{escaped}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_lines_are_kept_inside() {
        assert_eq!(quoted("a \"b\" \\ c"), r#""a \"b\" \\ c""#);
        assert_eq!(quoted("a\nb"), r#""a\lb\l""#);
    }

    #[test]
    fn long_facts_are_cut() {
        let found = lines(&"word ".repeat(60));
        assert_eq!(found.len(), FACTS.1 + 1);
        assert!(found.iter().all(|line| line.len() <= FACTS.0), "{found:?}");
    }
}
