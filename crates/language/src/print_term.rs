//! Prints terms as text: SCF and SLC programs, which are S-expressions of their operators.

use crate::term::{Head, Term};
use egg::{Id, Language};
use ember_values::layout::WIDTH;
use ember_values::layout::{Keep, Layout};

/// The limit on the words of a text. A term shares equal parts and its text repeats them; a longer text is not written.
const MAX_WORDS: u64 = 4_000_000;

/// Prints a term as an indented S-expression of at most 100 columns, as far as single words allow. The function is
/// iterative, so that any depth prints. If a term's shared parts would make more than four million words, it prints a
/// comment with this reason.
pub fn print_term(term: &Term) -> String {
    let nodes = term.as_ref();
    let mut words: Vec<u64> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let below = node.children().iter().map(|c| words[usize::from(*c)]);
        words.push(below.fold(1, u64::saturating_add));
    }
    match words.last() {
        None => return String::new(),
        Some(n) if *n > MAX_WORDS => {
            return format!("; {n} words, which is more than the {MAX_WORDS} that are printed\n");
        }
        Some(_) => {}
    }
    enum Step {
        Enter(Id),
        Leave,
    }
    let mut out = Layout::default();
    let mut todo = vec![Step::Enter(Id::from(nodes.len() - 1))];
    while let Some(step) = todo.pop() {
        match step {
            Step::Leave => out.close(),
            Step::Enter(id) => {
                let node = &nodes[usize::from(id)];
                if node.is_leaf() {
                    out.atom(node.to_string());
                    continue;
                }
                out.head(keep(node.head()), &node.to_string());
                todo.push(Step::Leave);
                todo.extend(node.children().iter().rev().map(|c| Step::Enter(*c)));
            }
        }
    }
    out.render(WIDTH)
}

/// Returns the line breaking of a node: consecutive statements are put on lines of their own; other operands share
/// lines.
fn keep(head: Head) -> Keep {
    match head {
        Head::Op(name) if name.as_str().ends_with(".seq") => Keep::Items(1),
        _ => Keep::Fitting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::Node;

    #[test]
    fn reads_back() {
        let text = "(scf.for (var (depth 0) 0 (size %bags) 1) 0 (size %bags) 1
          (scf.seq (scf.store (at (out %out) (iv (var (depth 0) 0 (size %bags) 1))) (const f32 -0.5))
                   scf.skip))";
        let term: Term = text.parse().expect("a term");
        let printed = print_term(&term);
        assert_eq!(printed.parse::<Term>().expect("a term"), term);
        assert!(printed.lines().all(|l| l.len() <= WIDTH), "{printed}");
        assert!(printed.contains("\n  (scf.seq\n    (scf.store"), "{printed}");
    }

    #[test]
    fn deep_terms_print_and_shared_ones_do_not_explode() {
        let mut deep = Term::default();
        let mut at = deep.add(Node::int(1));
        let mut wide = deep.clone();
        for _ in 0..100_000 {
            at = deep.add(Node::op("f", &[at]));
        }
        assert!(print_term(&deep).len() > 100_000);
        let mut at = Id::from(0usize);
        for _ in 0..200 {
            at = wide.add(Node::op("f", &[at, at]));
        }
        assert!(print_term(&wide).starts_with("; "));
    }
}
