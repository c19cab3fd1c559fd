//! What a side of a rule does, as formulas over the integers.
//!
//! Loops, lanes and index arithmetic are translated; everything else is uninterpreted: a variable of
//! the rule is a function of the loop variables around it, a load a function of its indices. A side is
//! a list of visits: each says for which values of its counters some leaf of the side is reached, in
//! which order, and with which indices. Integers are unbounded here; knows nothing of solvers.

use crate::predicates::{Generator, Predicate};
use crate::rules::{Arg, Call, Rule};
use crate::term::{Head, Node};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};

/// How a counter follows from the value of one of the rule's loop variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Witness {
    /// The term of the loop variable, in which that of the rule is mentioned.
    pub of: String,
    /// What is taken off the value; earlier counters may occur.
    pub from: String,
    /// What the rest is divided by.
    pub step: i64,
}

/// Part of a side that is reached once for all values of its counters that lie in its domain.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Visit {
    /// What is reached.
    pub leaf: String,
    /// Constants: integers that tell one time from another.
    pub counters: Vec<String>,
    /// When it is reached: all of these hold.
    pub domain: Vec<String>,
    /// What the times are ordered by, lexicographically.
    pub order: Vec<String>,
    /// The values of the rule's loop variables around it, and of its lane, by name.
    pub id: BTreeMap<String, String>,
    /// Those of them that it does not depend on.
    pub free_of: BTreeSet<String>,
    /// The indices and integers that it is reached with.
    pub args: Vec<String>,
    /// How the counters follow from the values of the rule's loop variables.
    pub witnesses: Vec<Witness>,
    /// Counters of lanes of a fold: with the rest of the domain in place, each of these must hold.
    pub must: Vec<String>,
}

/// A side: what it does, and the uninterpreted functions it is told in, with their arities. The
/// last argument says whether it is a predicate.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    pub visits: Vec<Visit>,
    /// Whether sums were regrouped, so that the order within them is another.
    pub folded: bool,
}

/// Uninterpreted functions by name: how many arguments, and whether they are predicates.
pub(super) type Functions = BTreeMap<String, (usize, bool)>;

/// Translates the sides and conditions of one rule.
pub(super) struct Translation<'a> {
    rule: &'a Rule,
    /// What stands for the numbers of generators.
    numbers: BTreeMap<Var, i64>,
    /// What counters' names start with.
    prefix: &'static str,
    made: usize,
    pub functions: Functions,
    /// Operators that are told as functions of which nothing is known.
    pub foreign: BTreeSet<String>,
    /// Whether arithmetic was met on numbers that need not be integers.
    pub floats: bool,
    /// Variables that stand where only an integer can: in the bounds of loops and lanes.
    bounds: BTreeSet<Var>,
}

/// Where a part stands: loops and lanes around it.
#[derive(Clone, Debug, Default)]
struct Around {
    /// The value of each loop variable, by the text of its term.
    values: BTreeMap<String, String>,
    /// Loop variables whose values follow from others'.
    derived: BTreeSet<String>,
    witnesses: Vec<Witness>,
    counters: Vec<String>,
    domain: Vec<String>,
    order: Vec<String>,
    must: Vec<String>,
}

/// An integer, or lanes: a function of the counter of the lanes around it.
struct Number {
    text: String,
    /// When a lane is active.
    active: BTreeSet<String>,
}

/// Why a rule cannot be told in formulas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inexpressible(pub String);

type Result<T> = std::result::Result<T, Inexpressible>;

/// The most nodes of a side, written out as a tree.
const MOST: usize = 1000;

/// What tells one lane of a visit from another.
const LANE: &str = "lane";

impl Visit {
    /// Whether two visits are the same, whichever loop variables were told from others.
    pub fn same(&self, other: &Visit) -> bool {
        let told = |visit: &Visit, name: &String| visit.free_of.contains(name);
        let id = |visit: &Visit| -> BTreeMap<String, String> {
            let mut id = visit.id.clone();
            id.retain(|name, _| !told(self, name) && !told(other, name));
            id
        };
        self.leaf == other.leaf
            && self.domain == other.domain
            && self.order == other.order
            && self.args == other.args
            && self.must == other.must
            && id(self) == id(other)
    }
}

impl<'a> Translation<'a> {
    pub fn new(rule: &'a Rule, numbers: BTreeMap<Var, i64>, prefix: &'static str) -> Self {
        Translation {
            rule,
            numbers,
            prefix,
            made: 0,
            functions: Functions::new(),
            foreign: BTreeSet::new(),
            floats: false,
            bounds: bounds(&rule.lhs),
        }
    }

    /// What a side does.
    pub fn side(&mut self, pattern: &PatternAst<Node>) -> Result<Side> {
        if written_out(pattern) > MOST {
            return Err(Inexpressible("the term is too large".to_owned()));
        }
        let mut side = Side::default();
        let root = Id::from(pattern.len().saturating_sub(1));
        self.visit(pattern, root, Around::default(), &mut side)?;
        Ok(side)
    }

    /// What the conditions of the rule say.
    pub fn assumptions(&mut self) -> Vec<String> {
        let rule = self.rule;
        let mut all = Vec::new();
        for guard in &rule.guards {
            all.extend(self.guard(guard));
        }
        for (v, range) in &rule.fors {
            all.extend(self.range(*v, range));
        }
        all
    }

    fn guard(&mut self, guard: &Call<Predicate>) -> Option<String> {
        let args: Vec<String> = guard.args.iter().map(|arg| self.argument(arg)).collect();
        match (guard.what.name, &args[..]) {
            ("at-most", [a, b]) => Some(format!("(<= {a} {b})")),
            ("divides", [a, b]) => Some(format!("(and (not (= {a} 0)) (= 0 (mod {b} {a})))")),
            ("runs-once", [_]) => {
                let Some(Arg::Var(v)) = guard.args.first() else { return None };
                let (lo, hi, step) = self.bounds_of(*v)?;
                let around = Around::default();
                let within = |t: &mut Self, x: &str| {
                    let bound = |t: &mut Self, (p, id): (&PatternAst<Node>, Id)| {
                        t.number(p, id, &around).map(|n| n.text)
                    };
                    let (lo, hi, step) = (bound(t, lo)?, bound(t, hi)?, bound(t, step)?);
                    Ok::<_, Inexpressible>(t.member(&lo, &hi, &step, x))
                };
                let (one, any) = (within(self, "x").ok()?, within(self, "y").ok()?);
                Some(format!(
                    "(exists ((x Int)) (and {one} (forall ((y Int)) (=> {any} (= x y)))))"
                ))
            }
            _ => None,
        }
    }

    fn range(&mut self, v: Var, range: &Call<Generator>) -> Option<String> {
        let args: Vec<String> = range.args.iter().map(|arg| self.argument(arg)).collect();
        let n = self.numbers.get(&v)?;
        match (range.what.name, &args[..]) {
            ("even-simd-lanes" | "even-wide-lanes", [a, b, _]) => {
                Some(format!("(and (= 0 (mod {a} {n})) (= 0 (mod {b} {n})))"))
            }
            _ => None,
        }
    }

    /// The bounds of the loop of the left side that binds a variable.
    fn bounds_of(&self, v: Var) -> Option<(Part<'a>, Part<'a>, Part<'a>)> {
        let pattern = &self.rule.lhs;
        pattern.as_ref().iter().find_map(|node| {
            let ENodeOrVar::ENode(node) = node else { return None };
            let (at, lo, hi, step, _) = loop_parts(node)?;
            let binds = matches!(pattern[at], ENodeOrVar::Var(bound) if bound == v);
            binds.then_some(((pattern, lo), (pattern, hi), (pattern, step)))
        })
    }

    fn argument(&mut self, arg: &Arg) -> String {
        match arg {
            Arg::Int(n) => literal(*n),
            Arg::Var(v) => self.variable(*v, &Around::default()),
        }
    }

    /// The constant that counts lanes.
    fn lane(&self) -> String {
        format!("{}lane", self.prefix)
    }

    /// A step or a number of lanes, which are literals in every program.
    fn literal(&mut self, p: &PatternAst<Node>, id: Id) -> Result<String> {
        Ok(self.number(p, id, &Around::default())?.text)
    }

    /// A new counter.
    fn counter(&mut self) -> String {
        self.made += 1;
        format!("{}{}", self.prefix, self.made)
    }

    /// That x is one of lo, lo + step, … below hi, where the step is not a number.
    fn member(&mut self, lo: &str, hi: &str, step: &str, x: &str) -> String {
        if step == "1" {
            return format!("(and (<= {lo} {x}) (< {x} {hi}))");
        }
        if step.parse::<i64>().is_ok() {
            return format!("(and (<= {lo} {x}) (< {x} {hi}) (= 0 (mod (- {x} {lo}) {step})))");
        }
        self.functions.insert("iteration".to_owned(), (4, true));
        format!("(iteration {lo} {hi} {step} {x})")
    }

    /// A variable of the rule: a number, or a function of the loop variables that it may depend on.
    fn variable(&mut self, v: Var, around: &Around) -> String {
        if let Some(n) = self.numbers.get(&v) {
            return literal(*n);
        }
        let args: Vec<String> = self.depends(v, around).into_values().collect();
        self.function(&v.to_string(), args)
    }

    /// The values of the loop variables that a variable of the rule may depend on.
    fn depends(&self, v: Var, around: &Around) -> BTreeMap<String, String> {
        let sort = self.rule.variables.iter().find(|(known, _)| *known == v);
        let fixed = |name: &str| FIXED.contains(&name);
        if sort.and_then(|(_, sort)| *sort).is_some_and(|sort| fixed(sort.name())) {
            return BTreeMap::new();
        }
        let independent: Vec<String> = self
            .rule
            .guards
            .iter()
            .filter(|guard| guard.what.name == "not-free")
            .filter_map(|guard| match guard.args[..] {
                [Arg::Var(x), Arg::Var(y)] if y == v => Some(x.to_string()),
                _ => None,
            })
            .collect();
        let mut bound = of_rule(&around.values);
        bound.retain(|name, _| name != LANE && !independent.contains(name));
        bound
    }

    /// Adds what a statement, a reduction, an address or a value does.
    fn visit(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let node = match &p[id] {
            ENodeOrVar::Var(v) => return self.leaf(p, id, *v, around, side),
            ENodeOrVar::ENode(node) => node,
        };
        let args = node.children();
        match plain(node) {
            "boundary" => self.visit(p, args[0], around, side),
            "skip" => Ok(()),
            "seq" => args.iter().enumerate().try_for_each(|(k, part)| {
                let mut inner = around.clone();
                inner.order.push(k.to_string());
                self.visit(p, *part, inner, side)
            }),
            "rename" => {
                let mut inner = around;
                let value = self.loop_variable(p, args[1], &inner);
                inner.derived.insert(text(p, args[0]));
                inner.values.insert(text(p, args[0]), value);
                self.visit(p, args[2], inner, side)
            }
            "for" | "walk" | "reduce" | "walk_reduce" => self.enter(p, node, around, side),
            "vec" if self.is_statement(p, args[4]) => {
                let (inner, active) = self.lanes(p, args, around)?;
                let mut inner = inner;
                inner.domain.push(active);
                self.visit(p, args[4], inner, side)
            }
            "fold" if !around.counters.is_empty() => match folded(p, id) {
                Some(lanes) => {
                    let inner = self.fold(p, lanes, around, side)?;
                    self.visit(p, lanes.children()[4], inner, side)
                }
                None => self.other(p, id, around, side),
            },
            // A fold that is accumulated is as many accumulations.
            "accumulate" => match folded(p, args[2]) {
                Some(lanes) if fold_operation(p, args[2]) == Some(text(p, args[0])) => {
                    let inner = self.fold(p, lanes, around, side)?;
                    let parts = [args[0], args[1], lanes.children()[4]];
                    self.reach("accumulate", p, &parts, inner, side)
                }
                _ => self.other(p, id, around, side),
            },
            // Neither does a fold of two differ from their sum.
            name if self.reduction().as_deref() == Some(name) => {
                args.iter().enumerate().try_for_each(|(k, part)| {
                    let mut inner = around.clone();
                    inner.order.push(k.to_string());
                    self.visit(p, *part, inner, side)
                })
            }
            _ => self.other(p, id, around, side),
        }
    }

    /// A variable of the rule that is reached.
    fn leaf(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        v: Var,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let needed = self.depends(v, &around);
        let unneeded =
            of_rule(&around.values).into_keys().filter(|name| !needed.contains_key(name));
        let mut around = around;
        around.derived.extend(unneeded);
        let value = self.is_value() && self.reduction().is_none();
        let leaf = if value { self.noun().to_owned() } else { v.to_string() };
        self.reach(&leaf, p, &[id], around, side)
    }

    /// A loop or a reduction: its body, once for each value of its variable.
    fn enter(
        &mut self,
        p: &PatternAst<Node>,
        node: &Node,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let Some((var, lo, hi, step, body)) = loop_parts(node) else {
            return Err(Inexpressible(format!("`{node}` is no loop")));
        };
        let lo = self.number(p, lo, &around)?.text;
        let hi = self.number(p, hi, &around)?.text;
        let step = self.literal(p, step)?;
        if plain(node).ends_with("reduce") {
            let start = node.children().len() - 2;
            let mut before = around.clone();
            before.order.push("0".to_owned());
            self.visit(p, node.children()[start], before, side)?;
        }
        let mut inner = around;
        inner.order.push("1".to_owned());
        let counter = self.counter();
        // Steps are counted, so that membership needs no division.
        let of = text(p, var);
        let value = match step.parse::<i64>() {
            Ok(n) if n > 1 => {
                inner.witnesses.push(Witness { of, from: lo.clone(), step: n });
                inner.domain.push(format!("(<= 0 {counter})"));
                let value = format!("(+ {lo} (* {n} {counter}))");
                inner.domain.push(format!("(< {value} {hi})"));
                value
            }
            _ => {
                inner.witnesses.push(Witness { of, from: "0".to_owned(), step: 1 });
                let member = self.member(&lo, &hi, &step, &counter);
                inner.domain.push(member);
                counter.clone()
            }
        };
        inner.order.push(counter.clone());
        inner.counters.push(counter);
        inner.values.insert(text(p, var), value);
        self.visit(p, body, inner, side)
    }

    /// The lanes of `(vec v e n hi x)`, and when a lane is active.
    fn lanes(
        &mut self,
        p: &PatternAst<Node>,
        args: &[Id],
        around: Around,
    ) -> Result<(Around, String)> {
        let start = self.loop_variable(p, args[0], &around);
        let n = self.literal(p, args[2])?;
        let hi = self.number(p, args[3], &around)?.text;
        let mut inner = around;
        let lane = self.counter();
        let value = format!("(+ {start} {lane})");
        inner.domain.push(format!("(and (<= 0 {lane}) (< {lane} {n}))"));
        inner.order.push(lane.clone());
        inner.witnesses.push(Witness { of: text(p, args[1]), from: start, step: 1 });
        inner.derived.insert(text(p, args[1]));
        inner.values.insert(LANE.to_owned(), lane.clone());
        inner.counters.push(lane);
        let active = format!("(< {value} {hi})");
        inner.values.insert(text(p, args[1]), value);
        Ok((inner, active))
    }

    /// The lanes of a fold, all of which must be active.
    fn fold(
        &mut self,
        p: &PatternAst<Node>,
        lanes: &Node,
        around: Around,
        side: &mut Side,
    ) -> Result<Around> {
        let (mut inner, active) = self.lanes(p, lanes.children(), around)?;
        inner.must.push(active);
        side.folded = true;
        Ok(inner)
    }

    /// The operation of the reduction that the left side is.
    fn reduction(&self) -> Option<String> {
        let pattern = &self.rule.lhs;
        let ENodeOrVar::ENode(root) = pattern.as_ref().last()? else { return None };
        let reduces = plain(root).ends_with("reduce");
        reduces.then(|| root.children().first().map(|op| text(pattern, *op))).flatten()
    }

    /// An operator that has its meaning elsewhere: what it is reached with must be the same.
    fn other(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let ENodeOrVar::ENode(node) = &p[id] else { return Ok(()) };
        if self.is_number(node) {
            self.reach(self.noun(), p, &[id], around, side)
        } else {
            self.reach(plain(node), p, node.children(), around, side)
        }
    }

    /// Adds a visit of a leaf with some parts.
    fn reach(
        &mut self,
        leaf: &str,
        p: &PatternAst<Node>,
        parts: &[Id],
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let mut visit = Visit {
            leaf: leaf.to_owned(),
            counters: around.counters.clone(),
            domain: around.domain.clone(),
            order: around.order.clone(),
            id: of_rule(&around.values),
            free_of: around.derived.clone(),
            witnesses: around.witnesses.clone(),
            args: Vec::new(),
            must: around.must.clone(),
        };
        let mut active = BTreeSet::new();
        for part in parts {
            let number = self.number(p, *part, &around)?;
            active.extend(number.active);
            visit.args.push(number.text);
        }
        let lane = self.lane();
        if !active.is_empty() || visit.args.iter().any(|text| mentions(text, &lane)) {
            visit.domain.push(format!("(<= 0 {lane})"));
            visit.domain.extend(active);
            visit.order.push(lane.clone());
            visit.id.insert(LANE.to_owned(), lane.clone());
            visit.witnesses.push(Witness { of: LANE.to_owned(), from: "0".to_owned(), step: 1 });
            visit.counters.push(lane);
        }
        side.visits.push(visit);
        Ok(())
    }

    /// A number, an address or whatever else is told by a function of its parts.
    fn number(&mut self, p: &PatternAst<Node>, id: Id, around: &Around) -> Result<Number> {
        let scalar = |text: String| Ok(Number { text, active: BTreeSet::new() });
        let node = match &p[id] {
            ENodeOrVar::Var(v) => {
                let text = self.variable(*v, around);
                return scalar(text);
            }
            ENodeOrVar::ENode(node) => node,
        };
        let args = node.children();
        match (node.head, plain(node)) {
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
                // The access unit's arithmetic names its operation first.
                let (name, args) = match (name, args) {
                    ("alu_stream", [op, a, b]) => (text(p, *op), vec![*a, *b]),
                    _ => (name.to_owned(), args.to_vec()),
                };
                let mut active = BTreeSet::new();
                let mut parts = Vec::new();
                for arg in args {
                    if ARITHMETIC.contains(&name.as_str()) && !self.is_integer(p, arg) {
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
    fn operation(&mut self, name: &str, args: Vec<String>) -> String {
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
    fn function(&mut self, name: &str, args: Vec<String>) -> String {
        let name =
            if args.is_empty() { quoted(name) } else { quoted(&format!("{name}/{}", args.len())) };
        self.functions.insert(name.clone(), (args.len(), false));
        applied(&name, &args)
    }

    /// The value of a loop variable; one that no loop around binds is any number.
    fn loop_variable(&mut self, p: &PatternAst<Node>, id: Id, around: &Around) -> String {
        let key = text(p, id);
        if let Some(value) = around.values.get(&key) {
            return value.clone();
        }
        self.function(&format!("iv {key}"), Vec::new())
    }

    /// Whether a part is known to be an integer.
    fn is_integer(&self, p: &PatternAst<Node>, id: Id) -> bool {
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
        match (node.head, plain(node)) {
            (Head::Int(_), _) => true,
            (_, "iv" | "counter" | "lanes" | "dim" | "size" | "index_cast" | "lt" | "!") => true,
            (_, "emb.extent") => true,
            (_, "cast") => node.children().first().is_some_and(|t| text(p, *t) == "i64"),
            (_, "vec") => node.children().last().is_some_and(|x| self.is_integer(p, *x)),
            (_, "boundary" | "const" | "rename" | "broadcast") => {
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
    fn is_number(&self, node: &Node) -> bool {
        !matches!(
            plain(node),
            "store" | "accumulate" | "matmul" | "matmul_t" | "barrier" | "callback"
        ) && self.is_value()
    }

    /// What a side is, where it is no statement.
    fn noun(&self) -> &'static str {
        let sort = self.rule.sort.map_or("", |sort| sort.name());
        if sort.ends_with("Address") { "address" } else { "value" }
    }

    /// Whether the sides are values or addresses rather than statements.
    fn is_value(&self) -> bool {
        self.rule.sort.is_some_and(|sort| !matches!(sort.name(), "Stmt" | "Slc" | "Exec"))
    }

    /// Whether the body of a `vec` is a statement, so that its lanes run one after the other.
    fn is_statement(&self, p: &PatternAst<Node>, id: Id) -> bool {
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

/// Sorts of which no term depends on a loop variable.
const FIXED: [&str; 6] = ["BinOp", "DType", "Hint", "Name", "Real", "VarName"];

/// Conditions that hold of integers only.
const INTEGERS: [&str; 3] = ["at-most", "divides", "index"];

/// Operations that mean something else on numbers that are no integers.
const ARITHMETIC: [&str; 8] = ["add", "sub", "mul", "div", "mod", "min", "max", "lt"];

type Part<'a> = (&'a PatternAst<Node>, Id);

/// An operator without its level; `boundary` for one that only changes the level.
fn plain(node: &Node) -> &'static str {
    let Some(name) = node.name() else { return "" };
    let plain =
        name.strip_prefix("scf.").or(name.strip_prefix("slc.")).or(name.strip_prefix("exe."));
    match plain.unwrap_or(name) {
        "slc" | "exe" | "str" | "sad" | "val" | "ead" | "callback" | "from_stream" => "boundary",
        "const" if node.children().len() == 1 => "const",
        "mem_stream" => "mem_stream",
        other => other,
    }
}

/// The `vec` that a fold folds.
fn folded(p: &PatternAst<Node>, id: Id) -> Option<&Node> {
    let ENodeOrVar::ENode(fold) = &p[id] else { return None };
    let [_, lanes] = fold.children() else { return None };
    let ENodeOrVar::ENode(lanes) = &p[*lanes] else { return None };
    (plain(fold) == "fold" && plain(lanes) == "vec").then_some(lanes)
}

/// The operation of a fold.
fn fold_operation(p: &PatternAst<Node>, id: Id) -> Option<String> {
    let ENodeOrVar::ENode(fold) = &p[id] else { return None };
    fold.children().first().map(|op| text(p, *op))
}

/// Variable, lower bound, upper bound, step and body of a loop or reduction.
fn loop_parts(node: &Node) -> Option<(Id, Id, Id, Id, Id)> {
    match (plain(node), node.children()) {
        ("for", [v, lo, hi, step, body]) => Some((*v, *lo, *hi, *step, *body)),
        ("walk", [v, _, _, lo, hi, step, body]) => Some((*v, *lo, *hi, *step, *body)),
        ("reduce", [_, v, lo, hi, step, _, body]) => Some((*v, *lo, *hi, *step, *body)),
        ("walk_reduce", [_, v, _, _, lo, hi, step, _, body]) => Some((*v, *lo, *hi, *step, *body)),
        _ => None,
    }
}

/// The variables in the bounds of a pattern's loops and lanes.
fn bounds(pattern: &PatternAst<Node>) -> BTreeSet<Var> {
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
fn written_out(pattern: &PatternAst<Node>) -> usize {
    let mut sizes: Vec<usize> = Vec::with_capacity(pattern.len());
    for node in pattern.as_ref() {
        let parts = node.children().iter().map(|child| sizes[usize::from(*child)]);
        sizes.push(parts.fold(1, usize::saturating_add));
    }
    sizes.last().copied().unwrap_or(0)
}

/// The text of a part of a pattern.
fn text(p: &PatternAst<Node>, id: Id) -> String {
    match &p[id] {
        ENodeOrVar::Var(v) => v.to_string(),
        ENodeOrVar::ENode(node) if node.is_leaf() => node.to_string(),
        ENodeOrVar::ENode(node) => {
            let parts = node.children().iter().map(|child| text(p, *child));
            format!("({node} {})", parts.collect_vec().join(" "))
        }
    }
}

fn literal(n: i64) -> String {
    if n < 0 { format!("(- {})", n.unsigned_abs()) } else { n.to_string() }
}

/// A symbol that may hold any text.
fn quoted(name: &str) -> String {
    format!("|{name}|")
}

fn applied(name: &str, args: &[String]) -> String {
    if args.is_empty() { name.to_owned() } else { format!("({name} {})", args.join(" ")) }
}

/// The loop variables that the rule names, and the lane; those that it makes are nobody else's.
fn of_rule(values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = |name: &str| name.starts_with('?') || name == LANE;
    values.iter().filter(|(name, _)| named(name)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Whether a formula mentions a name.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || "()".contains(c)).any(|word| word == name)
}
