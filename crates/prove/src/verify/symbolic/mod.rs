//! Translates a side of a rule to formulas over the integers.
//!
//! Loops, lanes and index arithmetic are translated; everything else is uninterpreted: a variable of the rule is a
//! function of the loop variables around it, a load is a function of its indices. A side is a list of visits. Each
//! visit states for which values of its counters a leaf of the side is reached, in which order, and with which indices.
//! Integers are unbounded, or wrap as those of programs do. This module is independent of solvers.

mod number;
mod parts;
mod walk;

pub(super) use number::{WRAPPED, defined};
pub(super) use parts::{mentions, within};

use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Arg, Call, Kind, OpInfo, Rule, Signature, Sort};
use ember_language::term::Node;
use ember_values::primitive::Typing;
use parts::{Part, bounds, literal, of_rule, written_out};
use std::collections::{BTreeMap, BTreeSet};

/// The formula that computes a counter from the value of one of the rule's loop variables: `(value - from) / step`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Witness {
    /// The term of the loop variable, which mentions the rule's loop variable.
    pub of: String,
    /// The offset that is subtracted from the value; it may mention earlier counters.
    pub from: String,
    /// The divisor of the difference.
    pub step: i64,
}

/// A part of a side that is reached once for all values of its counters in its domain.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Visit {
    /// The name of the leaf.
    pub leaf: String,
    /// Integer constants that distinguish the times at which the leaf is reached.
    pub counters: Vec<String>,
    /// The conditions under which it is reached: a conjunction.
    pub domain: Vec<String>,
    /// The lexicographic order of the times.
    pub order: Vec<String>,
    /// The values of the rule's loop variables around it, and of its lane, by name.
    pub id: BTreeMap<String, String>,
    /// The loop variables of `id` that the leaf does not depend on.
    pub free_of: BTreeSet<String>,
    /// The indices and integers with which it is reached.
    pub args: Vec<String>,
    /// The formulas of the counters, from the values of the rule's loop variables.
    pub witnesses: Vec<Witness>,
    /// Conditions on the lanes of a fold: each must hold throughout the rest of the domain.
    pub must: Vec<String>,
}

/// One side of a rule, as the list of its visits.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    pub visits: Vec<Visit>,
    /// True if sums were regrouped, so that the order within them has changed.
    pub folded: bool,
}

/// Uninterpreted functions by name: the number of arguments, and true for a predicate.
pub(super) type Functions = BTreeMap<String, (usize, bool)>;

/// Translates the sides and conditions of one rule.
pub(super) struct Translation<'a> {
    signature: &'a Signature,
    rule: &'a Rule,
    /// The numbers chosen for the generators.
    numbers: BTreeMap<Var, i64>,
    /// The prefix of the names of counters.
    prefix: &'static str,
    made: usize,
    pub functions: Functions,
    /// The operators that are translated to uninterpreted functions.
    pub foreign: BTreeSet<String>,
    /// True if arithmetic on numbers that may not be integers was found.
    pub floats: bool,
    /// True if integers have 64 bits and wrap.
    pub wraps: bool,
    /// The variables that must be integers because they occur in the bounds of loops and lanes.
    bounds: BTreeSet<Var>,
}

/// The context of a part: the loops and lanes around it.
#[derive(Clone, Debug, Default)]
struct Around {
    /// The value of each loop variable, by the text of its term.
    values: BTreeMap<String, String>,
    /// The loop variables whose values follow from the values of others.
    derived: BTreeSet<String>,
    witnesses: Vec<Witness>,
    counters: Vec<String>,
    domain: Vec<String>,
    order: Vec<String>,
    must: Vec<String>,
}

/// The reason why a rule cannot be expressed in formulas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inexpressible(pub String);

type Result<T> = std::result::Result<T, Inexpressible>;

/// The largest number of nodes of a side, counted as a tree.
const MOST: usize = 1000;

/// The greatest distance from 0 of what is `bounded`.
const BOUND: i64 = 1 << 50;

/// The largest product that does not overflow, as the condition on products says.
const PRODUCT: i64 = 1 << 62;

/// The name of the leaf that a value is, if it is no reduction.
pub(super) const VALUE: &str = "value";

/// The name of the number that distinguishes the lanes of a visit.
const LANE: &str = "lane";

impl Visit {
    /// Returns true if two visits are equal, ignoring the loop variables that either does not depend on.
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
    pub fn new(
        signature: &'a Signature,
        rule: &'a Rule,
        numbers: BTreeMap<Var, i64>,
        prefix: &'static str,
    ) -> Self {
        Translation {
            signature,
            rule,
            numbers,
            prefix,
            made: 0,
            functions: Functions::new(),
            foreign: BTreeSet::new(),
            floats: false,
            wraps: false,
            bounds: bounds(&rule.lhs, signature.table()),
        }
    }

    /// Translates a side.
    pub fn side(&mut self, pattern: &PatternAst<Node>) -> Result<Side> {
        if written_out(pattern) > MOST {
            return Err(Inexpressible("the term is too large".to_owned()));
        }
        let mut side = Side::default();
        let root = Id::from(pattern.len().saturating_sub(1));
        self.visit(pattern, root, Around::default(), &mut side)?;
        Ok(side)
    }

    /// Returns the operator table's entry for a node.
    fn info(&self, node: &Node) -> Option<&'a OpInfo> {
        self.signature.table().of(node)
    }

    /// Returns the element type that the row of a node's primitive states.
    fn result(&self, node: &Node) -> Option<Typing<Id>> {
        self.info(node)?.result(node.children())
    }

    /// Returns the operands of a node in the order of its primitive's row; in their own order if it is not a primitive.
    fn parts(&self, node: &Node) -> Vec<Id> {
        let children = node.children();
        match self.info(node).filter(|info| info.row.is_some()) {
            Some(info) => info.positions().map(|at| children[at]).collect(),
            None => children.to_vec(),
        }
    }

    /// Returns the name of the operator that a node erases to, independent of its unit.
    fn name(&self, node: &Node) -> &'static str {
        let erased = self.info(node).and_then(|info| info.erased);
        erased.map_or(node.name().unwrap_or_default(), |name| name.as_str())
    }

    /// Returns the kind of a sort's terms.
    fn kind(&self, sort: Sort) -> Option<Kind> {
        self.signature.sort(sort.name())?.kind
    }

    /// Returns the kind of the terms that a variable of the rule stands for.
    fn kind_of(&self, v: Var) -> Option<Kind> {
        let (_, sort) = self.rule.variables.iter().find(|(known, _)| *known == v)?;
        self.kind((*sort)?)
    }

    /// Returns the conditions of the rule as formulas.
    pub fn assumptions(&mut self) -> Vec<String> {
        let rule = self.rule;
        let mut all = Vec::new();
        for (x, pattern) in &rule.wheres {
            all.extend(self.equation(*x, pattern));
        }
        for guard in &rule.guards {
            all.extend(self.guard(guard));
        }
        for (v, range) in &rule.fors {
            all.extend(self.range(*v, range));
        }
        all
    }

    /// Returns the equation of a variable with a pattern that its class also contains, if both are integers of one lane.
    fn equation(&mut self, x: Var, pattern: &PatternAst<Node>) -> Option<String> {
        let root = Id::from(pattern.len().checked_sub(1)?);
        let integer = self.kind_of(x) == Some(Kind::Value) && self.is_integer(pattern, root);
        let around = Around::default();
        let number = self.number(pattern, root, &around).ok().filter(|_| integer)?;
        let equation = format!("(= {} {})", self.variable(x, &around), number.text);
        let lane = self.lane();
        (!mentions(&equation, &lane)).then_some(equation)
    }

    fn guard(&mut self, guard: &Call) -> Option<String> {
        let args: Vec<String> = guard.args.iter().map(|arg| self.argument(arg)).collect();
        match (guard.what.name, &args[..]) {
            ("at-most" | "at-most-in-loop", [a, b]) => Some(format!("(<= {a} {b})")),
            ("below" | "below-in-loop", [a, b]) => Some(format!("(< {a} {b})")),
            ("bounded-product", [a, b]) if self.wraps => {
                Some(within(&format!("(* {a} {b})"), -PRODUCT, PRODUCT))
            }
            ("bounded", [a]) if self.wraps => Some(within(a, -BOUND, BOUND)),
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

    fn range(&mut self, v: Var, range: &Call) -> Option<String> {
        let args: Vec<String> = range.args.iter().map(|arg| self.argument(arg)).collect();
        let n = self.numbers.get(&v)?;
        match (range.what.name, &args[..]) {
            ("even-simd-lanes" | "even-wide-lanes", [a, b, _]) => {
                Some(format!("(and (= 0 (mod {a} {n})) (= 0 (mod {b} {n})))"))
            }
            ("length", [a]) => Some(format!("(= {a} {n})")),
            ("half-way", [lo, hi, step]) => Some(format!(
                "(and (= 0 (mod {n} {step})) (<= {step} {n}) (<= (+ {n} {n}) (+ (- {hi} {lo}) (- {step} 1))) \
                 (< (- {hi} {lo}) (+ {n} {n} {step} 1)))"
            )),
            ("one-trip" | "few-trips", [lo, hi, step]) => Some(format!(
                "(and (< (+ {lo} (* {} {step})) {hi}) (<= {hi} (+ {lo} (* {n} {step}))))",
                n - 1
            )),
            _ => None,
        }
    }

    /// Returns the bounds of the loop of the left side that binds a variable.
    fn bounds_of(&self, v: Var) -> Option<(Part<'a>, Part<'a>, Part<'a>)> {
        let pattern = &self.rule.lhs;
        pattern.as_ref().iter().find_map(|node| {
            let ENodeOrVar::ENode(node) = node else { return None };
            let over = self.info(node)?.looped()?;
            let part = |at: usize| (pattern, node.children()[at]);
            let binds =
                matches!(pattern[part(over.variable).1], ENodeOrVar::Var(bound) if bound == v);
            binds.then(|| (part(over.lo), part(over.hi), part(over.step)))
        })
    }

    fn argument(&mut self, arg: &Arg) -> String {
        match arg {
            Arg::Int(n) => literal(*n),
            Arg::Var(v) => self.variable(*v, &Around::default()),
        }
    }

    /// Returns the name of the constant that counts lanes.
    fn lane(&self) -> String {
        format!("{}lane", self.prefix)
    }

    /// Translates a step or a number of lanes, which are literals in every program.
    fn literal(&mut self, p: &PatternAst<Node>, id: Id) -> Result<String> {
        Ok(self.number(p, id, &Around::default())?.text)
    }

    /// Creates a counter.
    fn counter(&mut self) -> String {
        self.made += 1;
        format!("{}{}", self.prefix, self.made)
    }

    /// Returns the formula that x is one of lo, lo + step, … below hi. If the step is not a number, this is an
    /// uninterpreted predicate.
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

    /// Translates a variable of the rule: a number, or a function of the loop variables that it may depend on.
    fn variable(&mut self, v: Var, around: &Around) -> String {
        if let Some(n) = self.numbers.get(&v).or_else(|| self.measured(v)) {
            return literal(*n);
        }
        let args: Vec<String> = self.depends(v, around).into_values().collect();
        let wraps = self.wraps && !args.is_empty() && self.kind_of(v) == Some(Kind::Value);
        let value = self.function(&v.to_string(), args);
        if wraps { self.wrapped(value, true) } else { value }
    }

    /// Returns the number of a variable that a `length` generator fixes to its own value.
    fn measured(&self, v: Var) -> Option<&i64> {
        let own = |call: &Call| {
            call.what.name == "length" && matches!(call.args[..], [Arg::Var(x)] if x == v)
        };
        self.rule.fors.iter().find(|(_, call)| own(call)).and_then(|(k, _)| self.numbers.get(k))
    }

    /// Returns the values of the loop variables that a variable of the rule may depend on.
    fn depends(&self, v: Var, around: &Around) -> BTreeMap<String, String> {
        let depends = |kind: Kind| kind.is_evaluated() || kind == Kind::Variable;
        if self.kind_of(v).is_some_and(|kind| !depends(kind)) {
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
}
