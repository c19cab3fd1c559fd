//! Numbers and addresses as formulas, and which of them are known to be integers.

use super::parts::{applied, literal, loop_parts, plain, quoted, text};
use super::{Around, Inexpressible, Result, Translation};
use egg::{ENodeOrVar, Id, Language, PatternAst};
use ember_language::conditions::Predicate;
use ember_language::rules::{Arg, Call};
use ember_language::term::{Head, Node};
use std::collections::BTreeSet;

/// An integer, or lanes: a function of the counter of the lanes around it.
pub(super) struct Number {
    pub text: String,
    /// When a lane is active.
    pub active: BTreeSet<String>,
}

impl Translation<'_> {
    /// A number, an address or whatever else is told by a function of its parts.
    pub(super) fn number(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        around: &Around,
    ) -> Result<Number> {
        let scalar = |text: String| Ok(Number { text, active: BTreeSet::new() });
        let node = match &p[id] {
            ENodeOrVar::Var(v) => {
                let text = self.variable(*v, around);
                return scalar(text);
            }
            ENodeOrVar::ENode(node) => node,
        };
        let args = node.children();
        match (node.head(), plain(node)) {
            (Head::Int(n), _) => scalar(literal(n)),
            (_, "boundary" | "const") if args.len() == 1 => self.number(p, args[0], around),
            (_, "iv" | "counter") => {
                let text = self.loop_variable(p, args[0], around);
                scalar(text)
            }
            (_, "rename") => {
                let mut inner = around.clone();
                let value = self.loop_variable(p, args[1], around);
                inner.values.insert(text(p, args[0]), value);
                self.number(p, args[2], &inner)
            }
            (_, "fix") => {
                let mut inner = around.clone();
                let value = self.number(p, args[1], around)?.text;
                inner.values.insert(text(p, args[0]), value);
                self.number(p, args[2], &inner)
            }
            (_, "vec") => {
                let lane = self.lane();
                let start = self.loop_variable(p, args[0], around);
                let n = self.literal(p, args[2])?;
                let hi = self.number(p, args[3], around)?.text;
                let mut inner = around.clone();
                let value = format!("(+ {start} {lane})");
                inner.values.insert(text(p, args[1]), value.clone());
                let mut number = self.number(p, args[4], &inner)?;
                number.active.insert(format!("(< {lane} {n})"));
                number.active.insert(format!("(< {value} {hi})"));
                Ok(number)
            }
            (_, "lanes") => {
                let lane = self.lane();
                let n = self.literal(p, args[0])?;
                let hi = self.number(p, args[1], around)?.text;
                let start = self.number(p, args[2], around)?.text;
                let value = format!("(+ {start} {lane})");
                let active = [format!("(< {lane} {n})"), format!("(< {value} {hi})")];
                Ok(Number { text: value, active: active.into() })
            }
            (_, "broadcast") => {
                let lane = self.lane();
                let n = self.literal(p, args[0])?;
                let mut number = self.number(p, args[1], around)?;
                number.active.insert(format!("(< {lane} {n})"));
                Ok(number)
            }
            (_, name) if loop_parts(node).is_some() || name == "fold" => {
                Err(Inexpressible(format!("`{name}` stands within an expression")))
            }
            (_, name) => {
                // The access unit's arithmetic names its operation first, and so does what is computed
                // when a rule is applied, which is of integers.
                let computed = name == "!";
                let (name, args) = match (name, args) {
                    ("alu_stream" | "!", [op, a, b]) => (text(p, *op), vec![*a, *b]),
                    _ => (name.to_owned(), args.to_vec()),
                };
                let mut active = BTreeSet::new();
                let mut parts = Vec::new();
                for arg in args {
                    let known = computed || self.is_integer(p, arg);
                    if ARITHMETIC.contains(&name.as_str()) && !known {
                        self.floats = true;
                    }
                    let number = self.number(p, arg, around)?;
                    active.extend(number.active);
                    parts.push(number.text);
                }
                Ok(Number { text: self.operation(&name, parts), active })
            }
        }
    }

    /// An operation on numbers; what is not arithmetic is a function that nothing is known of.
    pub(super) fn operation(&mut self, name: &str, args: Vec<String>) -> String {
        match (name, &args[..]) {
            ("add", [a, b]) => format!("(+ {a} {b})"),
            ("sub", [a, b]) => format!("(- {a} {b})"),
            ("mul", [a, b]) => format!("(* {a} {b})"),
            ("div" | "mod" | "min" | "max", [a, b]) => format!("(int_{name} {a} {b})"),
            ("lt", [a, b]) => format!("(ite (< {a} {b}) 1 0)"),
            ("select", [c, a, b]) => format!("(ite (= {c} 0) {b} {a})"),
            ("index_cast", [a]) => a.clone(),
            _ => {
                self.foreign.insert(format!("{name}/{}", args.len()));
                self.function(name, args)
            }
        }
    }

    /// An uninterpreted function of integers. Those of one name differ by the number of arguments.
    pub(super) fn function(&mut self, name: &str, args: Vec<String>) -> String {
        let name =
            if args.is_empty() { quoted(name) } else { quoted(&format!("{name}/{}", args.len())) };
        self.functions.insert(name.clone(), (args.len(), false));
        applied(&name, &args)
    }

    /// The value of a loop variable; one that no loop around binds is any number.
    pub(super) fn loop_variable(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        around: &Around,
    ) -> String {
        let key = text(p, id);
        if let Some(value) = around.values.get(&key) {
            return value.clone();
        }
        self.function(&format!("iv {key}"), Vec::new())
    }

    /// Whether a part is known to be an integer.
    pub(super) fn is_integer(&self, p: &PatternAst<Node>, id: Id) -> bool {
        let node = match &p[id] {
            ENodeOrVar::Var(v) => {
                let says = |call: &Call<Predicate>| {
                    INTEGERS.contains(&call.what.name) && call.args.contains(&Arg::Var(*v))
                };
                return self.numbers.contains_key(v)
                    || self.bounds.contains(v)
                    || self.rule.guards.iter().any(says);
            }
            ENodeOrVar::ENode(node) => node,
        };
        match (node.head(), plain(node)) {
            (Head::Int(_), _) => true,
            (_, "iv" | "counter" | "lanes" | "dim" | "size" | "index_cast" | "lt" | "!") => true,
            (_, "emb.extent") => true,
            (_, "cast") => node.children().first().is_some_and(|t| text(p, *t) == "i64"),
            (_, "vec") => node.children().last().is_some_and(|x| self.is_integer(p, *x)),
            (_, "boundary" | "const" | "rename" | "fix" | "broadcast") => {
                node.children().last().is_some_and(|x| self.is_integer(p, *x))
            }
            (_, name) if ARITHMETIC.contains(&name) || name == "alu_stream" => {
                let operands = node.children().iter().rev().take(2);
                operands.into_iter().all(|x| self.is_integer(p, *x))
            }
            _ => false,
        }
    }

    /// Whether a node is a value rather than a statement or an address.
    pub(super) fn is_number(&self, node: &Node) -> bool {
        !matches!(
            plain(node),
            "store" | "accumulate" | "matmul" | "matmul_t" | "barrier" | "callback"
        ) && self.is_value()
    }

    /// What a side is, where it is no statement.
    pub(super) fn noun(&self) -> &'static str {
        let sort = self.rule.sort.map_or("", |sort| sort.name());
        if sort.ends_with("Address") { "address" } else { "value" }
    }

    /// Whether the sides are values or addresses rather than statements.
    pub(super) fn is_value(&self) -> bool {
        self.rule.sort.is_some_and(|sort| !matches!(sort.name(), "Stmt" | "Slc" | "Exec"))
    }

    /// Whether the body of a `vec` is a statement, so that its lanes run one after the other.
    pub(super) fn is_statement(&self, p: &PatternAst<Node>, id: Id) -> bool {
        match &p[id] {
            ENodeOrVar::Var(v) => {
                let sort = self.rule.variables.iter().find(|(known, _)| known == v);
                sort.and_then(|(_, sort)| *sort).is_some_and(|sort| sort.name() == "Stmt")
            }
            ENodeOrVar::ENode(node) => {
                matches!(plain(node), "for" | "seq" | "store" | "accumulate" | "skip")
            }
        }
    }
}

/// Conditions that hold of integers only.
const INTEGERS: [&str; 4] = ["at-most", "below", "divides", "index"];

/// Operations that mean something else on numbers that are no integers.
const ARITHMETIC: [&str; 8] = ["add", "sub", "mul", "div", "mod", "min", "max", "lt"];
