//! Programs of two units as programs of one: what each operator of an access or execute unit means, on
//! one processor.
//!
//! The result is a hint. That it means the same is proved like all else: the rules that split a
//! statement between the units must lead from it back to the program.

use egg::{Id, RecExpr};
use ember_language::term::{Node, Term};

/// The statement of one processor from which a statement of both units comes; names of variables stay.
pub fn raised(term: &Term) -> Term {
    let mut made: Term = RecExpr::default();
    let mut ids: Vec<Id> = Vec::with_capacity(term.len());
    for node in term {
        let parts: Vec<Id> =
            egg::Language::children(node).iter().map(|c| ids[usize::from(*c)]).collect();
        let id = match (node.name().unwrap_or_default(), parts.as_slice()) {
            // What only says where something runs.
            (
                "slc" | "exe" | "val" | "str" | "sad" | "ead" | "slc.callback" | "slc.from_stream"
                | "slc.const" | "exe.held" | "exe.const",
                &[x],
            ) => x,
            ("slc.iv" | "exe.counter", &[v]) => made.add(Node::op("iv", &[v])),
            ("slc.mem_stream", &[_, a]) | ("exe.fetched", &[_, a]) => {
                made.add(Node::op("scf.load", &[a]))
            }
            ("slc.alu_stream", &[op, a, b]) => {
                let op = made[op].name().unwrap_or_default();
                made.add(Node::op(&format!("scf.{op}"), &[a, b]))
            }
            ("slc.index_cast", &[x]) => {
                let index = made.add(Node::op("i64", &[]));
                made.add(Node::op("scf.cast", &[index, x]))
            }
            ("slc.store_stream", &[a, x]) => made.add(Node::op("scf.store", &[a, x])),
            // Loops of both units have their bounds twice.
            ("exe.walk", &[v, lo, hi, _, _, step, s]) => {
                made.add(Node::op("scf.for", &[v, lo, hi, step, s]))
            }
            ("exe.walk_reduce", &[op, v, lo, hi, _, _, step, z, x]) => {
                made.add(Node::op("scf.reduce", &[op, v, lo, hi, step, z, x]))
            }
            (name, parts) => match name.strip_prefix("slc.").or(name.strip_prefix("exe.")) {
                Some(own @ ("in" | "out" | "at" | "freeze")) => made.add(Node::op(own, parts)),
                Some(own) => made.add(Node::op(&format!("scf.{own}"), parts)),
                None => made.add(Node::new(node.head(), parts)),
            },
        };
        ids.push(id);
    }
    made
}
