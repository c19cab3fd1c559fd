//! Parts of patterns and of formulas, as text.

use super::LANE;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::term::Node;
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Part<'a> = (&'a PatternAst<Node>, Id);

/// An operator without its level; `boundary` for one that only changes the level.
pub(super) fn plain(node: &Node) -> &'static str {
    let Some(name) = node.name() else { return "" };
    let plain =
        name.strip_prefix("scf.").or(name.strip_prefix("slc.")).or(name.strip_prefix("exe."));
    match plain.unwrap_or(name) {
        "slc" | "exe" | "str" | "sad" | "val" | "ead" | "callback" | "from_stream" | "held" => {
            "boundary"
        }
        "const" if node.children().len() == 1 => "const",
        "mem_stream" => "mem_stream",
        other => other,
    }
}

/// The `vec` that a fold folds.
pub(super) fn folded(p: &PatternAst<Node>, id: Id) -> Option<&Node> {
    let ENodeOrVar::ENode(fold) = &p[id] else { return None };
    let [_, lanes] = fold.children() else { return None };
    let ENodeOrVar::ENode(lanes) = &p[*lanes] else { return None };
    (plain(fold) == "fold" && plain(lanes) == "vec").then_some(lanes)
}

/// The operation of a fold.
pub(super) fn fold_operation(p: &PatternAst<Node>, id: Id) -> Option<String> {
    let ENodeOrVar::ENode(fold) = &p[id] else { return None };
    fold.children().first().map(|op| text(p, *op))
}

/// Variable, lower bound, upper bound, step and body of a loop or reduction.
pub(super) fn loop_parts(node: &Node) -> Option<(Id, Id, Id, Id, Id)> {
    match (plain(node), node.children()) {
        ("for", [v, lo, hi, step, body]) => Some((*v, *lo, *hi, *step, *body)),
        ("walk", [v, _, _, lo, hi, step, body]) => Some((*v, *lo, *hi, *step, *body)),
        ("reduce", [_, v, lo, hi, step, _, body]) => Some((*v, *lo, *hi, *step, *body)),
        ("walk_reduce", [_, v, _, _, lo, hi, step, _, body]) => Some((*v, *lo, *hi, *step, *body)),
        _ => None,
    }
}

/// The variables in the bounds of a pattern's loops and lanes.
pub(super) fn bounds(pattern: &PatternAst<Node>) -> BTreeSet<Var> {
    let nodes = pattern.as_ref().iter();
    let ends = nodes.flat_map(|node| match node {
        ENodeOrVar::ENode(node) => match (loop_parts(node), plain(node), node.children()) {
            (Some((_, lo, hi, step, _)), ..) => vec![lo, hi, step],
            (None, "vec", [_, _, n, hi, _]) => vec![*n, *hi],
            _ => Vec::new(),
        },
        ENodeOrVar::Var(_) => Vec::new(),
    });
    let variables = ends.filter_map(|id| match &pattern[id] {
        ENodeOrVar::Var(v) => Some(*v),
        ENodeOrVar::ENode(_) => None,
    });
    variables.collect()
}

/// The nodes of a pattern as a tree, in which nothing is shared.
pub(super) fn written_out(pattern: &PatternAst<Node>) -> usize {
    let mut sizes: Vec<usize> = Vec::with_capacity(pattern.len());
    for node in pattern.as_ref() {
        let parts = node.children().iter().map(|child| sizes[usize::from(*child)]);
        sizes.push(parts.fold(1, usize::saturating_add));
    }
    sizes.last().copied().unwrap_or(0)
}

/// The text of a part of a pattern.
pub(super) fn text(p: &PatternAst<Node>, id: Id) -> String {
    match &p[id] {
        ENodeOrVar::Var(v) => v.to_string(),
        ENodeOrVar::ENode(node) if node.is_leaf() => node.to_string(),
        ENodeOrVar::ENode(node) => {
            let parts = node.children().iter().map(|child| text(p, *child));
            format!("({node} {})", parts.collect_vec().join(" "))
        }
    }
}

pub(super) fn literal(n: i64) -> String {
    if n < 0 { format!("(- {})", n.unsigned_abs()) } else { n.to_string() }
}

/// A symbol that may hold any text.
pub(super) fn quoted(name: &str) -> String {
    format!("|{name}|")
}

pub(super) fn applied(name: &str, args: &[String]) -> String {
    if args.is_empty() { name.to_owned() } else { format!("({name} {})", args.join(" ")) }
}

/// The loop variables that the rule names, and the lane; those that it makes are nobody else's.
pub(super) fn of_rule(values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = |name: &str| name.starts_with('?') || name == LANE;
    values.iter().filter(|(name, _)| named(name)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Whether a formula mentions a name.
pub fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || "()".contains(c)).any(|word| word == name)
}
