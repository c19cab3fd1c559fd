//! What a side of a rule does, as formulas over the integers.
//!
//! Loops, lanes and index arithmetic are translated; everything else is uninterpreted: a variable of
//! the rule is a function of the loop variables around it, a load a function of its indices. A side is
//! a list of visits: each says for which values of its counters some leaf of the side is reached, in
//! which order, and with which indices. Integers are unbounded here; knows nothing of solvers.

mod number;
mod parts;
mod walk;

pub(super) use number::defined;
pub(super) use parts::mentions;

use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Arg, Call, Kind, OpInfo, Rule, Signature, Sort};
use ember_language::term::Node;
use ember_values::primitive::Primitive;
use parts::{Part, bounds, literal, of_rule, written_out};
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
    signature: &'a Signature,
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
            bounds: bounds(&rule.lhs, signature.table()),
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

    /// What the operator table says of a node.
    fn info(&self, node: &Node) -> Option<&'a OpInfo> {
        self.signature.table().of(node)
    }

    /// The primitive of a node.
    fn primitive(&self, node: &Node) -> Option<Primitive> {
        self.info(node)?.primitive()
    }

    /// The operands of a node in the order of its primitive's row; as they stand, if it is no primitive.
    fn parts(&self, node: &Node) -> Vec<Id> {
        let children = node.children();
        match self.info(node).filter(|info| info.row.is_some()) {
            Some(info) => info.positions().map(|at| children[at]).collect(),
            None => children.to_vec(),
        }
    }

    /// The first operands of a node that is a primitive, in the order of the primitive's row.
    fn operands<const N: usize>(&self, node: &Node) -> Result<[Id; N]> {
        let found = self.info(node).and_then(|info| info.parts(node.children()));
        found.ok_or_else(|| Inexpressible(format!("`{node}` lacks operands")))
    }

    /// The name of what a node means, on whatever unit it runs.
    fn name(&self, node: &Node) -> &'static str {
        let erased = self.info(node).and_then(|info| info.erased);
        erased.map_or(node.name().unwrap_or_default(), |name| name.as_str())
    }

    /// The kind of a sort's terms.
    fn kind(&self, sort: Sort) -> Option<Kind> {
        self.signature.sort(sort.name())?.kind
    }

    /// The kind of what a variable of the rule stands for.
    fn kind_of(&self, v: Var) -> Option<Kind> {
        let (_, sort) = self.rule.variables.iter().find(|(known, _)| *known == v)?;
        self.kind((*sort)?)
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

    fn guard(&mut self, guard: &Call) -> Option<String> {
        let args: Vec<String> = guard.args.iter().map(|arg| self.argument(arg)).collect();
        match (guard.what.name, &args[..]) {
            ("at-most", [a, b]) => Some(format!("(<= {a} {b})")),
            ("below", [a, b]) => Some(format!("(< {a} {b})")),
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
            ("one-trip" | "few-trips", [lo, hi, step]) => Some(format!(
                "(and (< (+ {lo} (* {} {step})) {hi}) (<= {hi} (+ {lo} (* {n} {step}))))",
                n - 1
            )),
            _ => None,
        }
    }

    /// The bounds of the loop of the left side that binds a variable.
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
        if let Some(n) = self.numbers.get(&v).or_else(|| self.measured(v)) {
            return literal(*n);
        }
        let args: Vec<String> = self.depends(v, around).into_values().collect();
        self.function(&v.to_string(), args)
    }

    /// The number of a variable of which a generator says that it is its own.
    fn measured(&self, v: Var) -> Option<&i64> {
        let own = |call: &Call| {
            call.what.name == "length" && matches!(call.args[..], [Arg::Var(x)] if x == v)
        };
        self.rule.fors.iter().find(|(_, call)| own(call)).and_then(|(k, _)| self.numbers.get(k))
    }

    /// The values of the loop variables that a variable of the rule may depend on.
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
